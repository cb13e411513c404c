"""What holds for every pod of every kind of graph, on every provider; the API server checks only a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stator.model.load import load
from stator.render import Manifest, RenderedComponent, RenderOptions, render_graph
from stator.render.manifest import RenderedPod

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.name for path in GOLDEN.iterdir())
OPTIONS = {
    "component": RenderOptions(pull_secrets={"nvcr.io": ("pull",)}),
    "grove": RenderOptions(provider="grove", scheduler="kai"),
    "old": RenderOptions(repairs=False, discovery_backend="etcd"),
}
# Ports of the user's replace the injected ones, whose names the injected probes keep: the check reports it.
USERS_PORTS = ("template",)
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")

pytestmark = [pytest.mark.parametrize("case", CASES), pytest.mark.parametrize("options", OPTIONS)]


def rendered(case: str, options: str) -> Manifest:
    """A golden graph, rendered."""
    [graph] = load([str(GOLDEN / case / "graph.yaml")]).graphs
    return render_graph(graph, OPTIONS[options])


def pods(manifest: Manifest) -> Iterator[tuple[RenderedComponent, RenderedPod, dict[str, Any]]]:
    """Every pod with its component and spec."""
    for component in manifest.components:
        for pod in component.pods:
            yield component, pod, pod.template["spec"]


def containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """All containers of a pod."""
    return [*spec["containers"], *(spec.get("initContainers") or ())]


def test_every_variable_of_the_engine_has_a_history(case: str, options: str) -> None:
    """Nobody has to guess who set an entry: that is what provenance is for."""
    for component, pod, spec in pods(rendered(case, options)):
        first = spec["containers"][0]
        labels = {label for name in ("main", first["name"]) for label in (name, f"{pod.role}/{name}")}
        known = {item.name for item in component.provenance if item.subject == "env" and item.container in labels}
        assert {entry["name"] for entry in first.get("env") or ()} <= known


def test_names_and_places_in_a_pod_are_unique(case: str, options: str) -> None:
    """A variable, a mount point, a port's name, a volume and a container's name each mean one thing."""
    for _, _, spec in pods(rendered(case, options)):
        taken: list[tuple[str, ...]] = [("container", item["name"]) for item in containers(spec)]
        taken += [("volume", item["name"]) for item in spec.get("volumes") or ()]
        taken += [("claim", item["name"]) for item in spec.get("resourceClaims") or ()]
        taken += [("pull secret", item["name"]) for item in spec.get("imagePullSecrets") or ()]
        for item in containers(spec):
            taken += [("env", item["name"], entry["name"]) for entry in item.get("env") or ()]
            taken += [("mount", item["name"], mount["mountPath"]) for mount in item.get("volumeMounts") or ()]
            taken += [("port", item["name"], port["name"]) for port in item.get("ports") or () if "name" in port]
        assert len(taken) == len(set(taken))


def test_what_a_container_refers_to_is_in_its_pod(case: str, options: str) -> None:
    """Mounts have their volume, claims their claim, and a probe that names a port has that port."""
    for _, _, spec in pods(rendered(case, options)):
        volumes = {item["name"] for item in spec.get("volumes") or ()}
        claims = {item["name"] for item in spec.get("resourceClaims") or ()}
        for item in containers(spec):
            assert {mount["name"] for mount in item.get("volumeMounts") or ()} <= volumes
            assert {claim["name"] for claim in (item.get("resources") or {}).get("claims") or ()} <= claims
            ports = {port.get("name") for port in item.get("ports") or ()}
            targets = [((item.get(probe) or {}).get("httpGet") or {}).get("port", 0) for probe in PROBES]
            assert case in USERS_PORTS or {target for target in targets if isinstance(target, str)} <= ports


def test_pods_are_found_by_their_workload_and_objects_have_one_name(case: str, options: str) -> None:
    """A Deployment selects its own pods, and no two objects of a kind have the same name."""
    manifest = rendered(case, options)
    for item in manifest.objects:
        if item["kind"] == "Deployment":
            wanted, template = item["spec"]["selector"]["matchLabels"], item["spec"]["template"]
            assert wanted.items() <= template["metadata"]["labels"].items()
    named = [(item["kind"], item["metadata"]["name"]) for item in manifest.objects]
    assert len(named) == len(set(named))
