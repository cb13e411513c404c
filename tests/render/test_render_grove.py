"""The PodCliqueSet: names that fit, constraints, and the graph's own settings."""

from __future__ import annotations

from typing import Any

import pytest
from multinode import GROVE
from rendered import object_of, render, worker

from stator.errors import InvalidInputError


def clique_set(text: str) -> dict[str, Any]:
    """The set a graph renders to."""
    return object_of(render(text, GROVE), "PodCliqueSet")


def test_a_long_graph_name_is_shortened_and_stays_unique() -> None:
    """Two graphs with the same beginning have different sets; a name that fits is kept."""
    names = [clique_set(worker().replace("name: g,", f"name: {'a' * 43}{end},"))["metadata"]["name"] for end in "bc"]
    assert {len(name) for name in names} == {39}
    assert len(set(names)) == 2
    assert names[0].startswith("a" * 34 + "-")
    assert clique_set(worker())["metadata"]["name"] == "g"


def test_a_component_name_that_leaves_no_room_is_a_problem() -> None:
    """It is said where the name is written."""
    with pytest.raises(InvalidInputError) as caught:
        clique_set(worker().replace("Worker", "W" * 44).replace("name: g,", "name: graph,"))
    assert [(str(item.position), item.what.partition(":")[2]) for item in caught.value.problems] == [
        ("-:6", " its name leaves 1 characters for the graph's")
    ]


def test_topology_and_minimum_and_priority_are_groves() -> None:
    """On the component path they are named as missing."""
    text = worker(
        graph="priorityClassName: high\ntopologyConstraint: {clusterTopologyName: dc, packDomain: zone}",
        component="minAvailable: 2\nreplicas: 3\ntopologyConstraint: {packDomain: rack}",
    )
    template = clique_set(text)["spec"]["template"]
    assert template["priorityClassName"] == "high"
    assert template["topologyConstraint"] == {"topologyName": "dc", "pack": {"required": "zone"}}
    [clique] = template["cliques"]
    assert clique["topologyConstraint"] == {"topologyName": "dc", "pack": {"required": "rack"}}
    assert clique["spec"]["minAvailable"] == 2
    assert not render(text, GROVE).not_rendered
    assert [note.field for note in render(text).not_rendered] == [
        "spec.priorityClassName",
        "spec.topologyConstraint",
        "spec.components[0].minAvailable",
        "spec.components[0].topologyConstraint",
    ]


def test_a_single_node_may_be_forced_into_a_group() -> None:
    """The group then scales, and the constraint stands on it."""
    text = worker(
        graph="topologyConstraint: {clusterTopologyName: dc}",
        component=(
            "replicas: 3\ntopologyConstraint: {packDomain: rack}\nexperimental: {grove: {forceScalingGroup: true}}"
        ),
    )
    template = clique_set(text)["spec"]["template"]
    [clique], [group] = template["cliques"], template["podCliqueScalingGroups"]
    assert (clique["name"], clique["spec"]["replicas"]) == ("worker", 1)
    assert "topologyConstraint" not in clique
    assert group["replicas"] == 3
    assert group["topologyConstraint"] == {"topologyName": "dc", "pack": {"required": "rack"}}
    assert "topologyConstraint" not in template


def test_a_raw_override_is_laid_over_the_provider_object() -> None:
    """Mapping by mapping, on the object that the level stands for."""
    override = "providerOverride: {apiVersion: grove.io/v1alpha1, value: VALUE}"
    text = worker(
        graph=override.replace("VALUE", "{spec: {template: {topologyConstraint: {packDomain: zone}}}}"),
        component=override.replace("VALUE", "{topologyConstraint: {packDomain: host}}"),
    )
    template = clique_set(text)["spec"]["template"]
    assert template["topologyConstraint"] == {"packDomain": "zone"}
    assert template["cliques"][0]["topologyConstraint"] == {"packDomain": "host"}
    assert template["terminationDelay"] == "15m"


@pytest.mark.parametrize("strategy", ["OnDelete", "Sideways"])
def test_an_update_strategy_is_one_of_groves(strategy: str) -> None:
    """It is read from the graph's own annotations."""
    text = worker().replace(
        "namespace: ns", f"namespace: ns, annotations: {{nvidia.com/grove-update-strategy: {strategy}}}"
    )
    if strategy == "OnDelete":
        assert clique_set(text)["spec"]["updateStrategy"] == {"type": "OnDelete"}
        return
    with pytest.raises(InvalidInputError, match="RollingRecreate or OnDelete"):
        clique_set(text)


def test_names_carry_no_generation_but_workers_do() -> None:
    """A new generation is rolled in place; discovery still tells the generations apart."""
    manifest = render(worker(), GROVE)
    [service] = [item for item in manifest.objects if item["kind"] == "Service"]
    assert service["metadata"]["name"] == "g-worker"
    [clique] = object_of(manifest, "PodCliqueSet")["spec"]["template"]["cliques"]
    assert clique["labels"]["nvidia.com/dynamo-worker-hash"] == manifest.generation
    env = {entry["name"]: entry.get("value") for entry in clique["spec"]["podSpec"]["containers"][0]["env"]}
    assert env["DYN_NAMESPACE_WORKER_SUFFIX"] == manifest.generation


def test_the_set_is_everybodys_workload_and_comes_last() -> None:
    """It is no component's own object."""
    manifest = render(worker(), GROVE)
    assert manifest.objects[-1] is manifest.components[0].workload
    assert manifest.components[0].workload not in manifest.components[0].objects
