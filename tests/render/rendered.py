"""Graphs from YAML text, and the parts of what they render to that tests look at."""

from __future__ import annotations

import io
import textwrap
from typing import Any

from stator.model import Graph
from stator.model.load import load
from stator.render import Manifest, Provenance, RenderOptions, render_graph


def graph_of(text: str) -> Graph:
    """The one graph of a YAML text; its positions are lines of `-`."""
    [graph] = load(["-"], stdin=io.StringIO(textwrap.dedent(text))).graphs
    return graph


def render(text: str, options: RenderOptions | None = None) -> Manifest:
    """Render the one graph of a YAML text."""
    return render_graph(graph_of(text), options or RenderOptions())


def main_of(manifest: Manifest, component: str = "Worker") -> dict[str, Any]:
    """The rendered main container of a component."""
    return pod_of(manifest, component)["containers"][0]  # type: ignore[no-any-return]


def pod_of(manifest: Manifest, component: str = "Worker", role: str = "") -> dict[str, Any]:
    """The rendered pod spec of a component, in its first role unless another is asked for."""
    pods = next(item.pods for item in manifest.components if item.name == component)
    pod = next(item for item in pods if not role or item.role == role)
    return pod.template["spec"]  # type: ignore[no-any-return]


def env_of(manifest: Manifest, component: str = "Worker") -> dict[str, Any]:
    """A rendered main container's environment as name to value, references by their source."""
    return named_env(main_of(manifest, component))


def named_env(container: dict[str, Any]) -> dict[str, Any]:
    """A container's environment as name to value, references by their source."""
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container.get("env") or ()}


def object_of(manifest: Manifest, kind: str, name: str | None = None) -> dict[str, Any]:
    """The one rendered object of a kind, or the one with that name."""
    [found] = [item for item in manifest.objects if item["kind"] == kind and name in (None, item["metadata"]["name"])]
    return found


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
