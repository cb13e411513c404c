"""What a component is made into."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from world import EMBEDDING, World, component

from stator.model import load_objects
from stator.operator.options import OperatorOptions
from stator.render import RenderOptions, render_graph

GOLDEN = Path(__file__).parents[2] / "render" / "golden" / "standalone-component" / "graph.yaml"
NO_DISCOVERY = {"metadata": {"annotations": {"nvidia.com/dynamo-discovery-backend": "etcd"}}}
MULTINODE = """
multinode: {nodeCount: 2}
"""
ARGS = """
command: [python3]
args: [-m, dynamo.sglang]
"""


def kinds(world: World) -> list[str]:
    """Kinds of all children."""
    return sorted(kind for kind, _ in world.live)


def test_a_component_of_its_own_gets_all_that_is_rendered_with_itself_as_controller() -> None:
    """Everything goes with the component: each object names it as its controller."""
    dcd = yaml.safe_load(GOLDEN.read_text())
    dcd["metadata"] |= {"uid": "u-lone", "generation": 1}
    plan = World(dcd).plan()
    rendered = render_graph(load_objects([dcd]).graphs[0]).objects
    assert [item["metadata"]["name"] for item in plan.apply] == [item["metadata"]["name"] for item in rendered]
    for item in plan.apply:
        [owner] = item["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("DynamoComponentDeployment", "lone.worker", "u-lone")
        assert owner["controller"]
        assert owner["blockOwnerDeletion"]


def test_a_component_of_a_graph_leaves_what_the_graph_shares_to_it() -> None:
    """The graph's ServiceAccount is not made by each of its components."""
    world = World(component(graph=True))
    world.step()
    assert kinds(world) == ["Deployment", "Service"]


def test_nothing_is_planned_twice() -> None:
    """A second pass over what the first one made wants the very same objects and status."""
    world = World(component(EMBEDDING, image="reg/sglang-runtime:1.5.0")).serve()
    first, second = world.step(), world.step()
    assert first == second
    assert world.component["status"] == second.status
    assert not second.events


def test_a_service_goes_when_nobody_discovers_through_it() -> None:
    """Turning Kubernetes discovery off removes the worker's Service, and only what is no longer wanted."""
    world = World(component(graph=True)).serve()
    template = world.component["spec"]["podTemplate"]
    world.edit(podTemplate=template | NO_DISCOVERY)
    plan = world.step()
    assert [(item.kind, item.name) for item in plan.delete] == [("Service", "chat-worker")]
    assert kinds(world) == ["Deployment"]


def test_replicas_that_an_autoscaler_owns_are_left_to_it() -> None:
    """After a scale through `/scale` the operator stops applying the count, and says whose it is."""
    world = World(component()).serve()
    live = world.workload
    live["spec"]["replicas"] = 5
    live["metadata"]["generation"] += 1
    scaled = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "scale"}
    live["metadata"]["managedFields"].append({**scaled, "fieldsV1": {"f:spec": {"f:replicas": {}}}})
    world.pods(updated=5, available=5)
    world.step()
    [workload] = [item for item in world.plan().apply if item["kind"] == "Deployment"]
    assert "replicas" not in workload["spec"]
    assert world.workload["spec"]["replicas"] == 5
    ready = world.condition("DynamoComponentReady")
    assert ready["status"] == "True"
    assert "kube-controller-manager (scale): 5 instead of 2" in ready["message"]


def test_a_count_that_only_the_operator_owns_follows_the_component() -> None:
    """Scaling the component scales the workload, and it is not Ready before that is done."""
    world = World(component()).serve()
    world.edit(replicas=3)
    world.step()
    assert world.workload["spec"]["replicas"] == 3
    world.step()
    assert world.condition("Available")["status"] == "False"
    world.pods(updated=3, available=3)
    world.step()
    assert world.condition("Available")["status"] == "True"


def test_a_component_that_spans_nodes_names_what_is_to_be_installed() -> None:
    """Without LeaderWorkerSet a multi-node component says what is missing, and looks again by itself."""
    world = World(component(spec=MULTINODE, main=ARGS))
    plan = world.step()
    assert kinds(world) == ["Role", "RoleBinding", "Service", "ServiceAccount"]
    assert world.condition("Available")["reason"] == "NotInstalled"
    assert "install LeaderWorkerSet" in world.condition("Available")["message"]
    assert [event.reason for event in plan.events] == ["NotInstalled"]
    assert plan.requeue_after


def test_a_component_that_spans_nodes_runs_where_the_kind_is_installed() -> None:
    """With LeaderWorkerSet it is made, and Ready when its groups are."""
    world = World(component(spec=MULTINODE, main=ARGS), OperatorOptions(installed=frozenset({"LeaderWorkerSet"})))
    world.serve()
    assert world.workload["kind"] == "LeaderWorkerSet"
    assert world.condition("Available")["reason"] == "LeaderWorkerSetReady"
    assert world.component["status"]["component"]["componentKind"] == "LeaderWorkerSet"


def test_a_component_that_is_being_deleted_is_left_alone() -> None:
    """Whatever the garbage collector has removed already is not made anew."""
    world = World(component()).serve()
    world.live.clear()
    world.component["metadata"]["deletionTimestamp"] = "2026-12-02T10:00:00Z"
    plan = world.plan()
    assert (plan.apply, plan.delete, plan.status, plan.events) == ((), (), None, ())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"podTemplate": {"spec": {"containers": "main"}}}, "spec.podTemplate.spec.containers"),
        ({"runtimeVersionOverride": "one"}, "spec.runtimeVersionOverride"),
    ],
)
def test_a_spec_that_admission_never_saw_is_a_condition(change: dict[str, object], words: str) -> None:
    """An invalid spec is told by field, nothing is deleted, and the pods that run do not count as Ready."""
    world = World(component()).serve()
    before = set(world.live)
    world.edit(**change)
    plan = world.step()
    assert set(world.live) == before
    assert (plan.apply, plan.delete) == ((), ())
    for kind in ("Available", "DynamoComponentReady"):
        assert world.condition(kind)["status"] == "False"
        assert world.condition(kind)["reason"] == "InvalidSpec"
        assert words in world.condition(kind)["message"]
    assert [(event.type, event.reason) for event in plan.events] == [("Warning", "InvalidSpec")]
    assert not world.step().events


def test_an_operator_without_repairs_reports_what_it_does_not_repair() -> None:
    """With repairs switched off nothing is in force, and the finding weighs what it weighs."""
    options = OperatorOptions(render=RenderOptions(repairs=False))
    world = World(component(EMBEDDING, image="reg/sglang-runtime:1.5.0"), options).serve()
    status = world.component["status"]["component"]
    assert "repairs" not in status
    assert [item["severity"] for item in status["findings"] if item["rule"] == "DYN101"] == ["error"]
