"""What a graph says of itself: Ready only if everything is as wanted, with reasons that are API."""

from __future__ import annotations

import copy
from typing import Any, get_args

import pytest
from graph_world import DCD, NOW, World, graph

from stator.operator.components.status import TroubleReason
from stator.operator.plan import Plan

DECLARED = {"nvidia.com/workload-provider": "component"}


def ready() -> World:
    """A graph that is Ready."""
    world = World()
    world.settle()
    assert world.ready["status"] == "True"
    return world


def test_a_new_graph_becomes_ready_when_all_of_its_components_are() -> None:
    """First pending with what is waited for, by component; then successful, with one event."""
    world = World()
    world.step()
    assert world.status["state"] == "pending"
    assert world.ready["reason"] == "some_resources_are_not_ready"
    assert "Worker: is being made" in world.ready["message"]
    world.work(serve=0)
    world.step()
    assert world.ready["status"] == "False"
    world.settle()
    assert world.ready["reason"] == "all_resources_are_ready"
    assert world.status["state"] == "successful"
    assert world.status["observedGeneration"] == 1
    assert [event.reason for event in world.events] == ["Ready"]


def test_the_provider_is_on_record_before_anything_is_made() -> None:
    """The first write records who runs the pods, which operator made them and their generation."""
    world = World()
    world.step(writes=1)
    assert world.live == {}
    own = World().plan().records
    assert own is not None
    assert own["kind"] == "DynamoGraphDeployment"
    assert "spec" not in own
    assert own["metadata"]["uid"] == "u-graph"
    annotations = own["metadata"]["annotations"]
    assert annotations["nvidia.com/workload-provider"] == "component"
    assert annotations["nvidia.com/dynamo-operator-origin-version"] == "1.6.1"
    assert world.graph["metadata"]["annotations"] == annotations
    world.settle()
    assert world.graph["metadata"]["annotations"] == annotations


def test_the_origin_version_is_never_changed() -> None:
    """Another operator release made the graph; that stays on it, and reaches its components."""
    world = World(graph(annotations={"nvidia.com/dynamo-operator-origin-version": "1.2.0"}))
    world.settle()
    key = "nvidia.com/dynamo-operator-origin-version"
    assert world.graph["metadata"]["annotations"][key] == "1.2.0"
    assert world.live[DCD, "chat-frontend"]["metadata"]["annotations"][key] == "1.2.0"


def test_a_graph_at_rest_is_left_alone() -> None:
    """A pass over a Ready graph changes neither an object nor its status, and says nothing."""
    world = ready()
    before = copy.deepcopy((world.graph, world.live))
    plan = world.step()
    assert (world.graph, world.live) == before
    assert plan.events == ()
    assert plan.delete == ()
    assert plan.records is None


def test_everything_that_is_made_goes_with_the_graph() -> None:
    """Each object has the graph as its controller, so that the garbage collector removes it."""
    world = ready()
    for item in world.live.values():
        [owner] = item["metadata"]["ownerReferences"]
        assert owner == {
            "apiVersion": "nvidia.com/v1beta1",
            "kind": "DynamoGraphDeployment",
            "name": "chat",
            "uid": "u-graph",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    assert {kind for kind, _ in world.live} == {DCD, "ServiceAccount", "Role", "RoleBinding"}


def test_ready_does_not_survive_an_edit_that_nobody_has_acted_on() -> None:
    """After a change the pods that are Ready are the old ones, whatever their component still says."""
    world = ready()
    world.image("reg/frontend:1.6.2", "Frontend")
    world.step()
    assert world.ready["status"] == "False"
    assert "Frontend: is being updated" in world.ready["message"]
    world.step()
    assert world.ready["status"] == "False"
    assert "Frontend: has not been looked at yet" in world.ready["message"]
    world.work()
    world.step()
    assert world.ready["status"] == "True"


def test_the_time_of_a_condition_moves_only_with_its_status() -> None:
    """A message that changes is no transition."""
    world = World()
    world.step()
    world.step()
    first = world.ready["lastTransitionTime"]
    world.work(serve=0)
    world.step()
    assert world.ready["lastTransitionTime"] == first
    world.settle()
    assert world.ready["lastTransitionTime"] > first


def test_a_component_that_stops_being_ready_is_named_with_its_own_words() -> None:
    """The graph repeats what the component says, and an event tells of it once."""
    world = ready()
    condition = world.live[DCD, "chat-frontend"]["status"]["conditions"][0]
    condition |= {"status": "False", "message": "0 of 1 pods are available"}
    world.step()
    world.step()
    assert world.ready["message"] == "Frontend: 0 of 1 pods are available"
    assert [event.reason for event in world.events] == ["Ready", "NotReady"]


def test_an_edit_is_no_reason_to_warn() -> None:
    """That a graph is not Ready while it becomes what somebody asked for is no event."""
    world = ready()
    world.image("reg/frontend:1.6.2", "Frontend")
    world.settle()
    assert [event.type for event in world.events] == ["Normal", "Normal"]


def test_clients_find_what_they_size_and_call_by() -> None:
    """Counts, names, GPUs and version of each component are in the status."""
    world = World()
    main = world.graph["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]
    main |= {"image": "reg/sglang-runtime:1.5.1", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    world.settle()
    worker = world.status["components"]["Worker"]
    assert (
        worker.items()
        >= {
            "componentKind": "Deployment",
            "replicas": 4,
            "updatedReplicas": 4,
            "readyReplicas": 4,
            "availableReplicas": 4,
            "servedModelName": "m",
            "gpusPerEngine": 2,
            "gpusPerReplica": 2,
            "version": "1.5.1",
            "versionSource": "tag",
        }.items()
    )
    assert worker["componentNames"] == list(world.workers)
    assert worker["runtimeNamespace"] == f"serving-chat-{next(iter(world.workers)).rsplit('-', 1)[1]}"
    assert world.status["components"]["Frontend"]["gpusPerReplica"] == 0


def test_findings_and_repairs_are_those_of_the_pods_that_run() -> None:
    """What the component says is in force counts, not what this operator would render."""
    world = ready()
    [name] = world.workers
    world.live[DCD, name]["status"]["component"] |= {"repairs": ["DYN101"], "findings": []}
    world.step()
    assert world.status["components"]["Worker"]["repairs"] == ["DYN101"]


@pytest.mark.parametrize("finalizer", ["foregroundDeletion", "orphan", ""])
def test_a_graph_that_is_being_deleted_gets_nothing_back(finalizer: str) -> None:
    """Whatever the propagation policy: no object, no deletion, no status, no event."""
    world = ready()
    world.graph["metadata"] |= {"deletionTimestamp": "2026-12-02T11:00:00Z", "finalizers": [finalizer]}
    world.live.clear()
    assert world.plan() == Plan()


def test_an_invalid_graph_says_what_is_wrong_and_keeps_what_it_has() -> None:
    """A spec that got past admission is a condition with the field's name; what serves goes on."""
    world = ready()
    before = copy.deepcopy(world.status)
    world.edit(replicas=-1)
    plan = world.step()
    assert plan.apply == ()
    assert plan.delete == ()
    assert world.ready["reason"] == "InvalidSpec"
    assert "spec.components[1].replicas" in world.ready["message"]
    assert world.status["state"] == "failed"
    assert world.status["components"] == before["components"]
    assert world.status["observedGeneration"] == 1, "clients must not take old numbers for the new spec's"
    assert world.ready["observedGeneration"] == 2
    world.step()
    assert [event.type for event in world.events].count("Warning") == 1
    world.edit(replicas=2)
    world.settle()
    assert world.ready["status"] == "True"


def test_a_component_of_somebody_else_is_refused_until_it_is_gone() -> None:
    """An object under a name of ours that another controls is never written; a condition and one event say so."""
    world = World(graph(annotations=DECLARED))
    other = {"uid": "u-other", "kind": "DynamoGraphDeployment", "name": "other", "controller": True}
    world.put({"kind": DCD, "metadata": {"name": "chat-frontend", "namespace": "serving"}, "spec": {"name": "F"}})
    world.live[DCD, "chat-frontend"]["metadata"]["ownerReferences"] = [other]
    world.settle()
    assert world.live[DCD, "chat-frontend"]["spec"] == {"name": "F"}
    conflict = world.condition("OwnershipConflict")
    assert (conflict["status"], conflict["reason"]) == ("True", "OwnershipConflict")
    assert f"{DCD} chat-frontend is controlled by DynamoGraphDeployment/other" in conflict["message"]
    assert world.ready["reason"] == "OwnershipConflict"
    assert [event.reason for event in world.events] == ["OwnershipConflict"]
    del world.live[DCD, "chat-frontend"]
    world.settle()
    assert world.condition("OwnershipConflict")["reason"] == "OwnershipConflictResolved"
    assert world.ready["status"] == "True"


def test_a_component_that_a_person_made_is_not_taken() -> None:
    """One without a controller that this operator never applied is a person's."""
    world = World(graph(annotations=DECLARED))
    item: dict[str, Any] = {"kind": DCD, "metadata": {"name": "chat-frontend", "namespace": "serving"}, "spec": {}}
    world.put(item)
    world.live[DCD, "chat-frontend"]["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Apply"}]
    world.step()
    told = world.condition("OwnershipConflict")["message"]
    assert told == f"{DCD} chat-frontend exists and was not made by this operator, but by kubectl"


def in_trouble(world: World, name: str, reason: str, message: str) -> None:
    """A component says that somebody has to do something."""
    item = world.live[DCD, name]
    told = {"type": "Available", "status": "False", "reason": reason, "message": message}
    item["status"] = {**item["status"], "observedGeneration": item["metadata"]["generation"], "conditions": [told]}


@pytest.mark.parametrize("reason", get_args(TroubleReason))
def test_the_trouble_of_a_component_is_the_graphs(reason: str) -> None:
    """Its reason and message, with the component's name, in one event; over when the component says so."""
    world = ready()
    in_trouble(world, "chat-frontend", reason, "Service chat-frontend is controlled by StatefulSet/db")
    world.step()
    assert world.ready["reason"] == reason
    assert world.ready["message"] == "Frontend: Service chat-frontend is controlled by StatefulSet/db"
    assert world.status["state"] == "failed"
    assert (world.condition("OwnershipConflict").get("status") == "True") is (reason == "OwnershipConflict")
    world.step()
    assert [event.reason for event in world.events] == ["Ready", reason]
    world.settle()
    assert world.ready["status"] == "True"
    assert [event.reason for event in world.events] == ["Ready", reason, "Ready"]


def test_the_troubles_of_several_components_are_all_told() -> None:
    """The reason is the first one's; whoever reads the message finds each component."""
    world = ready()
    in_trouble(world, "chat-frontend", "NotInstalled", "Ingress chat-frontend is not served")
    worker = next(name for name in world.workers)
    in_trouble(world, worker, "FieldConflict", "kubectl-edit owns the image")
    world.step()
    assert world.ready["reason"] == "NotInstalled"
    assert world.ready["message"] == (
        "Frontend: Ingress chat-frontend is not served; Worker: kubectl-edit owns the image"
    )


def test_a_trouble_of_a_specification_that_was_changed_since_is_not_told() -> None:
    """What a component says of what is not wanted any more may be over: it is waited for."""
    world = ready()
    in_trouble(world, "chat-frontend", "Refused", "the image is too long")
    world.image("reg/frontend:1.6.2", "Frontend")
    world.step()
    assert world.ready["reason"] == "some_resources_are_not_ready"
    world.step()
    assert world.ready["message"] == "Frontend: has not been looked at yet"


def test_a_generation_that_is_left_behind_takes_its_trouble_with_it() -> None:
    """A new generation is how a person settles what stands in the way of the old one."""
    world = ready()
    in_trouble(world, next(iter(world.workers)), "Refused", "the image is too long")
    world.image("reg/sglang-runtime:1.6.2")
    world.step()
    assert world.ready["reason"] == "rolling_update_in_progress"


def test_a_component_that_is_being_deleted_is_made_anew_when_it_is_gone() -> None:
    """Somebody deleted a component: it is not written while it ends, and comes back afterwards."""
    world = ready()
    world.live[DCD, "chat-frontend"]["metadata"]["deletionTimestamp"] = "2026-12-02T11:00:00Z"
    plan = world.step()
    assert "chat-frontend" not in [item["metadata"]["name"] for item in plan.apply]
    assert world.ready["status"] == "False"
    del world.live[DCD, "chat-frontend"]
    world.settle()
    assert world.ready["status"] == "True"


def test_the_framework_of_a_component_that_exists_stays() -> None:
    """It cannot be changed on an object; a frontend has no generation that could bring another."""
    world = ready()
    world.live[DCD, "chat-frontend"]["spec"]["backendFramework"] = "vllm"
    world.settle()
    assert world.live[DCD, "chat-frontend"]["spec"]["backendFramework"] == "vllm"
    assert world.ready["status"] == "True"


def test_what_was_made_on_both_pathways_needs_a_person() -> None:
    """Components and a PodCliqueSet without a record: nothing is touched, the condition says what to do."""
    world = ready()
    owner = world.live[DCD, "chat-frontend"]["metadata"]["ownerReferences"]
    metadata = {"name": "chat", "namespace": "serving", "ownerReferences": owner}
    world.put({"kind": "PodCliqueSet", "metadata": metadata, "spec": {}})
    del world.graph["metadata"]["annotations"]
    plan = world.step()
    assert plan.apply == ()
    assert world.ready["reason"] == "AmbiguousProvider"
    assert "nvidia.com/workload-provider" in world.ready["message"]


def test_a_provider_that_nobody_knows_is_an_error() -> None:
    """The record is not guessed around: another provider would run the same pods twice."""
    world = World(graph(annotations={"nvidia.com/workload-provider": "other"}))
    world.step()
    assert world.ready["reason"] == "InvalidSpec"
    assert world.ready["lastTransitionTime"] > f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    assert world.live == {}
