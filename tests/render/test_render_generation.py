"""The worker hash: what rolls the workers of a graph, and what does not."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rendered import graph_of, render, worker

from stator.render import RenderOptions, render_graph
from stator.render.output import to_yaml
from stator.versions import Version

MAIN = """
args: [--model-path, m]
env:
- {name: A, value: a}
- {name: B, value: b}
resources: {limits: {nvidia.com/gpu: 1}}
"""
FRONTEND = """  - name: Frontend
    type: frontend
    podTemplate: {spec: {containers: [{name: main, image: "reg/f:1.5.1"}]}}
"""
BASE = worker(MAIN, component="replicas: 1") + FRONTEND


def generation(text: str) -> str:
    """The hash of a graph's workers."""
    return render(text).generation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("replicas: 1", "replicas: 7"),
        ("replicas: 1", "replicas: 1\n    minAvailable: 1"),
        ("replicas: 1", "replicas: 1\n    scalingAdapter: {}"),
        ("replicas: 1", "replicas: 1\n    modelRef: {name: m}"),
        ("reg/f:1.5.1", "reg/f:1.6.1"),
        ("nvidia.com/gpu: 1", 'nvidia.com/gpu: "1"'),
        ("{name: g, namespace: ns}", "{name: g, namespace: ns, labels: {a: b}}"),
        (
            "{name: g, namespace: ns}",
            "{name: g, namespace: ns, annotations: {nvidia.com/dynamo-operator-origin-version: 1.6.1}}",
        ),
        ("args: [--model-path, m]", "args: [--model-path, m]\n          livenessProbe: null"),
        ("replicas: 1", "replicas: 1\n    runtimeVersionOverride: 1.5.1"),
    ],
)
def test_what_does_not_change_the_workers_pods_keeps_the_generation(old: str, new: str) -> None:
    """Scaling, other components, notation, stamps of an operator and a spelt-out default roll nothing."""
    assert old in BASE
    assert generation(BASE.replace(old, new)) == generation(BASE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sglang-runtime:1.5.1", "sglang-runtime:1.5.2"),
        ("[--model-path, m]", "[--model-path, o]"),
        (
            "- {name: A, value: a}\n          - {name: B, value: b}",
            "- {name: B, value: b}\n          - {name: A, value: a}",
        ),
        ("spec:\n  components", "spec:\n  env: [{name: C, value: c}]\n  components"),
        ("spec:\n  components", "spec:\n  labels: {a: b}\n  components"),
        ("spec:\n  components", "spec:\n  backendFramework: sglang\n  components"),
        ("name: g", "name: h"),
        ("type: worker", "type: decode"),
        ("type: worker", "type: worker\n    sharedMemorySize: 1Gi"),
        ("type: worker", "type: worker\n    compilationCache: {pvcName: c, mountPath: /c}"),
        ("type: worker", "type: worker\n    globalDynamoNamespace: true"),
        ("{name: g, namespace: ns}", "{name: g, namespace: ns, annotations: {nvidia.com/enable-metrics: 'false'}}"),
        ("sglang-runtime:1.5.1", "sglang-runtime:1.5.1@sha256:0\n          # the same release by another name"),
    ],
)
def test_what_changes_the_workers_pods_changes_the_generation(old: str, new: str) -> None:
    """Image, arguments, environment and its order, metadata, namespace and kind are all part of it."""
    assert old in BASE
    assert generation(BASE.replace(old, new)) != generation(BASE)


def test_a_label_may_move_between_graph_and_component() -> None:
    """What counts is the label the pods get."""
    in_graph = worker(graph="labels: {team: search}")
    in_component = worker().replace("podTemplate:", "podTemplate:\n      metadata: {labels: {team: search}}")
    assert generation(in_graph) == generation(in_component)


def test_an_entry_may_move_between_graph_and_component() -> None:
    """What counts is the environment people asked for, not where they wrote it."""
    in_graph = worker(graph="env: [{name: A, value: a}, {name: B, value: b}]")
    in_component = worker("env: [{name: A, value: a}, {name: B, value: b}]")
    assert generation(in_graph) == generation(in_component)


def test_a_declared_release_counts_from_1_5_on() -> None:
    """Below 1.5.0 no gate depends on the release, so declaring it rolls nothing."""

    def declared(image: str, release: str) -> str:
        return generation(worker(image=image, component=f"runtimeVersionOverride: {release}"))

    assert declared("reg/sg:x", "1.4.0") == declared("reg/sg:x", "1.3.0") == generation(worker(image="reg/sg:x"))
    assert declared("reg/sg:x", "1.5.0") != declared("reg/sg:x", "1.5.1")


def test_operator_releases_and_repairs_do_not_roll_workers() -> None:
    """The same graph has the same generation under any operator, with repairs and without."""
    text = worker("args: [--embedding-worker]")
    options = [RenderOptions(), RenderOptions(repairs=False), RenderOptions(operator=Version(1, 4, 0))]
    assert len({render(text, option).generation for option in options}) == 1


def test_the_generation_is_pinned() -> None:
    """A change of this value rolls every worker of every graph: it needs a new layout tag and a changelog entry."""
    assert generation(BASE) == "bbade5cd"


def test_a_graph_without_workers_has_no_generation() -> None:
    """Its components have plain names and no hash label."""
    manifest = render(worker().replace("type: worker", "type: frontend"))
    assert manifest.generation == ""
    assert manifest.components[0].workload["metadata"]["name"] == "g-worker"


def test_the_generation_is_in_names_labels_and_environment() -> None:
    """Deployment, Service, pods and the variable that separates generations at run time agree."""
    manifest = render(BASE)
    deployment, service = manifest.components[0].workload, manifest.components[0].service
    assert service is not None
    assert {deployment["metadata"]["name"], service["metadata"]["name"]} == {f"g-worker-{manifest.generation}"}
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert labels["nvidia.com/dynamo-worker-hash"] == manifest.generation
    assert "nvidia.com/dynamo-worker-hash" not in service["spec"]["selector"]


@given(st.randoms(use_true_random=False))
def test_the_order_of_keys_in_the_source_does_not_show(chance: random.Random) -> None:
    """However the keys of a file are ordered, the same bytes come out."""
    graph = graph_of(BASE)
    shuffled = _shuffled(graph.components[0].pod_template, chance)
    component = msgspec.structs.replace(graph.components[0], pod_template=shuffled)
    again = msgspec.structs.replace(graph, components=(component, *graph.components[1:]))
    assert to_yaml(render_graph(again).objects) == to_yaml(render_graph(graph).objects)


def _shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: _shuffled(value[key], chance) for key in keys}
    return [_shuffled(item, chance) for item in value] if isinstance(value, list) else value
