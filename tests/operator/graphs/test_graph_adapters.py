"""A scaling adapter's replicas become those of its component."""

from __future__ import annotations

import copy
from typing import Any

import yaml
from graph_world import CHAT, NOW, World, graph

from stator.operator.graphs import ObservedAdapter, reconcile_adapter
from stator.operator.plan import Plan

Json = dict[str, Any]

ADAPTER = "DynamoGraphDeploymentScalingAdapter"


def scaled_graph() -> Json:
    """A graph whose worker has an adapter."""
    components = yaml.safe_load(CHAT)
    components[1]["scalingAdapter"] = {}
    return graph(yaml.safe_dump(components))


def adapter(wanted: int = 6, **status: Any) -> Json:
    """The worker's adapter."""
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": ADAPTER,
        "metadata": {"name": "chat-worker", "namespace": "serving", "uid": "u-adapter"},
        "spec": {"replicas": wanted, "dgdRef": {"name": "chat", "componentName": "Worker"}},
        **({"status": status} if status else {}),
    }


def test_the_graph_is_patched_where_the_component_stands() -> None:
    """A JSON patch that tests the name first; the status tells autoscalers what there is."""
    dgd = {**scaled_graph(), "status": {"components": {"Worker": {"replicas": 4}}}}
    plan = reconcile_adapter(ObservedAdapter(adapter=adapter(6), graph=dgd), NOW)
    [patch] = plan.patch
    assert (patch.kind, patch.namespace, patch.name) == ("DynamoGraphDeployment", "serving", "chat")
    assert patch.operations == (
        {"op": "test", "path": "/spec/components/1/name", "value": "Worker"},
        {"op": "add", "path": "/spec/components/1/replicas", "value": 6},
    )
    assert plan.status == {
        "replicas": 4,
        "selector": "nvidia.com/dynamo-component=Worker,nvidia.com/dynamo-graph-deployment-name=chat",
        "lastScaleTime": "2026-12-02T10:00:00Z",
    }
    assert [event.reason for event in plan.events] == ["Scaled"]


def test_an_adapter_that_agrees_with_its_graph_does_nothing() -> None:
    """The time of the last scaling stays."""
    observed = ObservedAdapter(adapter=adapter(4, lastScaleTime="2026-12-01T00:00:00Z"), graph=scaled_graph())
    plan = reconcile_adapter(observed, NOW)
    assert (plan.patch, plan.events) == ((), ())
    assert plan.status is not None
    assert plan.status["lastScaleTime"] == "2026-12-01T00:00:00Z"


def test_an_adapter_without_a_graph_or_component_says_so() -> None:
    """No pods are reported, and an event names what is missing."""
    lost = reconcile_adapter(ObservedAdapter(adapter=adapter(6, replicas=4)), NOW)
    assert lost.status == {"replicas": 0}
    assert [event.reason for event in lost.events] == ["GraphNotFound"]
    dgd = scaled_graph()
    del dgd["spec"]["components"][1]
    lost = reconcile_adapter(ObservedAdapter(adapter=adapter(), graph=dgd), NOW)
    assert [event.reason for event in lost.events] == ["ComponentNotFound"]
    assert lost.patch == ()


def test_nothing_is_scaled_that_is_being_deleted() -> None:
    """Neither by an adapter on its way out, nor in a graph on its way out."""
    gone = {"deletionTimestamp": "2026-12-02T11:00:00Z"}
    one, other = adapter(), scaled_graph()
    one["metadata"] |= gone
    assert reconcile_adapter(ObservedAdapter(adapter=one, graph=scaled_graph()), NOW) == Plan()
    other["metadata"] |= gone
    assert reconcile_adapter(ObservedAdapter(adapter=adapter(), graph=other), NOW) == Plan()


def test_the_graph_seeds_an_adapter_once_and_leaves_it_to_its_scaler() -> None:
    """What an autoscaler has set is not set back, and reaches the workers."""
    world = World(scaled_graph())
    world.settle()
    live = world.live[ADAPTER, "chat-worker"]
    assert live["spec"] == {"replicas": 4, "dgdRef": {"name": "chat", "componentName": "Worker"}}
    live["spec"]["replicas"] = 6
    for _ in range(3):
        plan = world.step()
        assert ADAPTER not in [item["kind"] for item in plan.apply]
    assert world.live[ADAPTER, "chat-worker"]["spec"]["replicas"] == 6
    [patch] = reconcile_adapter(ObservedAdapter(adapter=live, graph=world.graph), NOW).patch
    world.edit(replicas=patch.operations[-1]["value"])
    world.settle()
    assert list(world.workers.values()) == [6]
    assert "rollingUpdate" not in world.status


def test_an_adapter_goes_when_the_component_opts_out() -> None:
    """At once: it would go on to scale the component."""
    world = World(scaled_graph())
    world.settle()
    del world.graph["spec"]["components"][1]["scalingAdapter"]
    world.edit()
    before = copy.deepcopy(world.live[ADAPTER, "chat-worker"])
    plan = world.step()
    [deletion] = plan.delete
    assert (deletion.kind, deletion.name, deletion.uid) == (ADAPTER, "chat-worker", before["metadata"]["uid"])
