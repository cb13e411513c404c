"""Graphs from YAML text, and the parts of what they render to that tests look at."""

from __future__ import annotations

import textwrap
from typing import Any

import yaml

from stator.model import AlphaOnly, Component, Document, Graph, Origin
from stator.render import Manifest, Provenance, RenderOptions, render_graph

FILE = "graph.yaml"
KNOWN = {
    "name",
    "type",
    "replicas",
    "podTemplate",
    "runtimeVersionOverride",
    "globalDynamoNamespace",
    "sharedMemorySize",
}


def graph_of(text: str) -> Graph:
    """The one graph of a v1beta1 YAML text."""
    text = textwrap.dedent(text)
    value = yaml.safe_load(text)
    metadata, spec = value["metadata"], value["spec"]
    parts = spec.get("components") or [{"name": metadata["name"], **spec}]
    paths = [("spec", "components", i) if "components" in spec else ("spec",) for i in range(len(parts))]
    return Graph(
        kind=value["kind"],
        api_version=value["apiVersion"],
        name=metadata["name"],
        namespace=metadata.get("namespace", "default"),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        spec_labels=spec.get("labels") or {},
        spec_annotations=spec.get("annotations") or {},
        env=tuple(spec.get("env") or ()),
        backend_framework=spec.get("backendFramework"),
        origin=Origin(document=Document(file=FILE, value=value, root=yaml.compose(text))),
        components=tuple(
            Component(
                name=part["name"],
                path=path,
                type=part.get("type", ""),
                replicas=part.get("replicas"),
                pod_template=part.get("podTemplate") or {},
                runtime_version_override=part.get("runtimeVersionOverride"),
                global_dynamo_namespace=part.get("globalDynamoNamespace", False),
                shared_memory_size=part.get("sharedMemorySize"),
                other={key: item for key, item in part.items() if key not in KNOWN},
                alpha=AlphaOnly(),
            )
            for path, part in zip(paths, parts, strict=True)
        ),
        other={
            key: item
            for key, item in spec.items()
            if key not in {"components", "labels", "annotations", "env", "backendFramework"}
        },
    )


def render(text: str, options: RenderOptions | None = None) -> Manifest:
    """Render the one graph of a YAML text."""
    return render_graph(graph_of(text), options or RenderOptions())


def main_of(manifest: Manifest, component: str = "Worker") -> dict[str, Any]:
    """The rendered main container of a component."""
    workload = next(item.workload for item in manifest.components if item.name == component)
    return workload["spec"]["template"]["spec"]["containers"][0]  # type: ignore[no-any-return]


def env_of(manifest: Manifest, component: str = "Worker") -> dict[str, Any]:
    """A rendered main container's environment as name to value, references by their source."""
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in main_of(manifest, component)["env"]}


def provenance_of(manifest: Manifest, name: str, component: str = "Worker") -> Provenance:
    """The history of one named thing of a component."""
    rendered = next(item for item in manifest.components if item.name == component)
    return next(item for item in rendered.provenance if item.name == name)


def worker(main: str = "", *, image: str = "reg/sglang-runtime:1.5.1", graph: str = "", component: str = "") -> str:
    """A graph of one SGLang worker.

    `main` is more YAML for its main container, `graph` for the graph's spec, `component` for the component.
    """
    return "\n".join(
        [
            "apiVersion: nvidia.com/v1beta1",
            "kind: DynamoGraphDeployment",
            "metadata: {name: g, namespace: ns}",
            "spec:",
            *_indented(graph, 2),
            "  components:",
            "  - name: Worker",
            "    type: worker",
            *_indented(component, 4),
            "    podTemplate:",
            "      spec:",
            "        containers:",
            "        - name: main",
            f"          image: {image}",
            "          command: [python3, -m, dynamo.sglang]",
            *_indented(main, 10),
            "",
        ]
    )


def _indented(text: str, by: int) -> list[str]:
    return textwrap.indent(textwrap.dedent(text).strip("\n"), " " * by).splitlines() if text else []
