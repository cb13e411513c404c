"""Every rendered object is one that a real API server takes, with no field it does not know.

Objects of all golden graphs and examples are sent for both providers, as a server-side dry run with strict field
validation. A custom resource's definition only describes pods, so every pod template is sent once more as a core
PodTemplate, which the server validates like a pod.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import Server
from installed import own_server

from stator.install.crds import custom_resource_definitions
from stator.model import Graph
from stator.model.load import load
from stator.render import Manifest, RenderOptions, render_graph

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
FILES = {path.parent.name: path for path in sorted((ROOT / "tests" / "render" / "golden").glob("*/graph.yaml"))}
FILES |= {f"examples/{path.stem}": path for path in sorted((ROOT / "examples").glob("*.yaml"))}
OPTIONS = {
    "component": RenderOptions(
        planner_cluster_role="planner", epp_cluster_role="epp", pull_secrets={"nvcr.io": ("pull",)}
    ),
    "grove": RenderOptions(provider="grove", scheduler="kai"),
}
DRY_RUN = ("--dry-run=server", "--validate=strict")


def graphs(case: str) -> tuple[Graph, ...]:
    """The graphs of a file."""
    return load([str(FILES[case])]).graphs


CASES = [case for case in FILES if graphs(case)]


def pod_templates(manifest: Manifest) -> Iterator[Json]:
    """Each pod as a PodTemplate of its own."""
    for component in manifest.components:
        for pod in component.pods:
            metadata = {"name": f"{component.name.lower()}-{pod.role}", "namespace": manifest.namespace}
            yield {"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata, "template": pod.template}


def rendered(case: str, provider: str) -> list[Json]:
    """All that is sent for a file."""
    manifests = [render_graph(graph, OPTIONS[provider]) for graph in graphs(case)]
    return [item for manifest in manifests for item in (*manifest.objects, *pod_templates(manifest))]


def foreign_definitions() -> Iterator[Json]:
    """The definitions of other projects' kinds, as `hack/crds` pins them."""
    found = subprocess.run([ROOT / "hack" / "crds" / "paths"], stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode:
        reason = "hack/crds/paths failed, so there are no definitions of LeaderWorkerSet, Grove and InferencePool"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    for path in found.stdout.split():
        definition = yaml.load(Path(path).read_text(), Loader=yaml.CSafeLoader)
        for version in definition["spec"]["versions"]:
            add_packing(version["schema"]["openAPIV3Schema"])
        yield definition


def add_packing(schema: Json) -> None:
    """Give topology constraints the fields of Grove v0.1.0-alpha.11, which refuses the old one (dynamo#11399)."""
    for name, inner in (schema.get("properties") or {}).items():
        if name == "topologyConstraint" and "packDomain" in (inner.get("properties") or {}):
            text = {"type": "string"}
            pack = {"type": "object", "properties": {"required": text, "preferred": text}}
            inner["properties"] = {"topologyName": text, "pack": pack}
            inner["required"] = ["pack"]
        else:
            add_packing(inner)
    if items := schema.get("items"):
        add_packing(items)


def send(server: Server, objects: list[Json], *options: str) -> list[Json]:
    """What the server answers to `kubectl apply --server-side` of objects."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    flags = ("--server-side", "--field-manager=stator", "--force-conflicts", "-o", "json", "-f", "-")
    answer: Json = json.loads(server.run_kubectl("apply", *flags, *options, stdin=text))
    return list(answer.get("items", [answer]))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server that only these tests use: an operator goes by which definitions there are."""
    with own_server(tmp_path_factory.mktemp("objects")) as server:
        yield server


@pytest.fixture(scope="module")
def defined(cluster: Server) -> Server:
    """The server with every definition and every namespace that rendered objects need."""
    spaces = sorted({graph.namespace for case in CASES for graph in graphs(case)})
    send(cluster, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spaces])
    definitions = [*foreign_definitions(), *custom_resource_definitions()]
    names = [f"crd/{item['metadata']['name']}" for item in send(cluster, definitions)]
    cluster.wait_established(*names)
    return cluster


@pytest.mark.parametrize("provider", OPTIONS)
@pytest.mark.parametrize("case", CASES)
def test_a_server_takes_every_rendered_object(defined: Server, case: str, provider: str) -> None:
    """Nothing that `stator render` writes is refused, and no field of it is unknown."""
    objects = rendered(case, provider)
    taken = send(defined, objects, *DRY_RUN)
    assert [(item["kind"], item["metadata"]["name"]) for item in taken] == [
        (item["kind"], item["metadata"]["name"]) for item in objects
    ]


def test_a_field_that_nobody_knows_is_refused(defined: Server) -> None:
    """The check can fail: a misspelt field of a container does not pass in silence."""
    deployment = next(item for item in rendered("planner", "component") if item["kind"] == "Deployment")
    deployment["metadata"]["namespace"] = "default"
    deployment["spec"]["template"]["spec"]["containers"][0]["enviroment"] = []
    with pytest.raises(AssertionError, match="enviroment"):
        send(defined, [deployment], *DRY_RUN)
