"""On Grove one PodCliqueSet runs a graph: what exists keeps order and counts, and says when it is Ready."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from graph_world import CHAT, World, graph

from stator.operator.options import OperatorOptions
from stator.render import RenderOptions

Json = dict[str, Any]

SET = ("PodCliqueSet", "chat")
GROVE = OperatorOptions(installed=frozenset({"PodCliqueSet"}))
WIDE = """
- name: Wide
  type: worker
  replicas: 2
  multinode: {nodeCount: 2}
  podTemplate:
    spec:
      containers:
      - {name: main, image: "reg/sglang-runtime:1.6.1", command: [python3, -m, dynamo.sglang], args: [--model, m]}
"""


def made(components: str = CHAT, options: OperatorOptions = GROVE) -> World:
    """A graph on Grove whose objects are made, and whose pods are not there yet."""
    world = World(graph(components), options)
    world.step()
    world.step()
    return world


def grove(world: World, **status: Any) -> None:
    """Grove has made its objects of the set, and all pods of the newest template are there and Ready."""
    live = world.live[SET]
    template = live["spec"]["template"]
    generation = live["metadata"]["generation"]
    live["status"] = {
        "observedGeneration": generation,
        "availableReplicas": 1,
        "currentGenerationHash": str(generation),
    }
    groups = [
        ("PodCliqueScalingGroup", item["name"], item["replicas"]) for item in template.get("podCliqueScalingGroups", ())
    ]
    in_groups = {name for item in template.get("podCliqueScalingGroups", ()) for name in item["cliqueNames"]}
    cliques = [
        ("PodClique", item["name"], item["spec"]["replicas"])
        for item in template["cliques"]
        if item["name"] not in in_groups
    ]
    known = {item["metadata"]["name"]: item for item in world.cliques}
    world.cliques = [
        part(known.get(f"chat-0-{name}"), kind, name, count, generation) for kind, name, count in (*groups, *cliques)
    ]
    for item in world.cliques:
        item["status"] |= status


def part(known: Json | None, kind: str, name: str, count: int, revision: int) -> Json:
    """A clique or group with all replicas Ready."""
    metadata = known["metadata"] if known else {"name": f"chat-0-{name}", "uid": f"u-{name}", "generation": 1}
    count = known["spec"]["replicas"] if known else count
    counted = dict.fromkeys(
        ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "scheduledReplicas"), count
    )
    status = {
        "observedGeneration": metadata["generation"],
        "currentPodCliqueSetGenerationHash": str(revision),
        **counted,
    }
    return {"kind": kind, "metadata": metadata, "spec": {"replicas": count}, "status": status}


def ready() -> World:
    """A graph on Grove that is Ready."""
    world = made()
    grove(world)
    world.step()
    assert world.ready["status"] == "True"
    return world


def test_grove_is_taken_where_it_is_installed_and_stays() -> None:
    """The choice is on record: without Grove the graph waits for it, and nothing else runs its pods."""
    world = ready()
    assert world.graph["metadata"]["annotations"]["nvidia.com/workload-provider"] == "grove"
    kinds = [kind for kind, _ in world.live]
    assert sorted(kinds) == ["PodCliqueSet", "Role", "RoleBinding", "Service", "Service", "ServiceAccount"]
    world.options = OperatorOptions()
    plan = world.step()
    assert "PodCliqueSet" not in [item["kind"] for item in plan.apply]
    assert world.ready["reason"] == "NotInstalled"
    assert "install Grove" in world.ready["message"]
    assert plan.requeue_after
    assert plan.delete == ()


def test_a_graph_may_decline_grove() -> None:
    """It is made of components then."""
    world = World(graph(annotations={"nvidia.com/enable-grove": "False"}), GROVE)
    world.settle()
    assert world.graph["metadata"]["annotations"]["nvidia.com/workload-provider"] == "component"


def test_the_status_names_the_objects_that_grove_has_made() -> None:
    """Kind, name and counts of each component, and the generation at once."""
    world = ready()
    worker = world.status["components"]["Worker"]
    assert (
        worker.items()
        >= {
            "componentKind": "PodClique",
            "componentNames": ["chat-0-worker"],
            "replicas": 4,
            "updatedReplicas": 4,
            "readyReplicas": 4,
            "scheduledReplicas": 4,
            "servedModelName": "m",
        }.items()
    )
    generation = world.graph["metadata"]["annotations"]["nvidia.com/current-worker-hash-v2"]
    assert worker["runtimeNamespace"] == f"serving-chat-{generation}"


def test_a_component_of_several_nodes_is_a_scaling_group() -> None:
    """Groups count available replicas, of two nodes each."""
    world = made(WIDE)
    grove(world)
    world.step()
    wide = world.status["components"]["Wide"]
    assert (wide["componentKind"], wide["componentNames"]) == ("PodCliqueScalingGroup", ["chat-0-wide"])
    assert (wide["availableReplicas"], "readyReplicas" in wide) == (2, False)
    assert world.ready["status"] == "True"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"scheduleGatedReplicas": 2, "readyReplicas": 0}, "insufficient_capacity"),
        ({"scheduledReplicas": 1, "readyReplicas": 1, "updatedReplicas": 1}, "insufficient_capacity"),
        (
            {"readyReplicas": 0, "conditions": [{"type": "PodCliqueScheduled", "status": "False", "message": "full"}]},
            "insufficient_capacity",
        ),
        ({"updatedReplicas": 0}, "updating"),
        ({"currentPodCliqueSetGenerationHash": "older"}, "updating"),
        ({"updateProgress": {"updateStartedAt": "2026-12-02T10:00:00Z"}}, "updating"),
        ({"readyReplicas": 0}, "pods_not_ready"),
        ({"observedGeneration": 0}, "some_resources_are_not_ready"),
    ],
    ids=["gated", "placed-in-part", "unschedulable", "replaced", "behind", "in-progress", "unready", "unseen"],
)
def test_a_component_that_is_not_ready_has_a_reason(status: Json, reason: str) -> None:
    """The reasons are API."""
    world = ready()
    next(item for item in world.cliques if item["metadata"]["name"] == "chat-0-worker")["status"] |= status
    world.step()
    assert (world.ready["status"], world.ready["reason"]) == ("False", reason)
    assert world.ready["message"].startswith("Worker: ")


def test_different_reasons_are_called_mixed() -> None:
    """One component lacks room, another's pods are not Ready."""
    world = ready()
    world.cliques[0]["status"] |= {"scheduleGatedReplicas": 1, "readyReplicas": 0}
    world.cliques[1]["status"] |= {"readyReplicas": 0}
    world.step()
    assert world.ready["reason"] == "mixed_not_ready_reasons"


def test_ready_waits_for_the_template_that_was_just_changed() -> None:
    """Pods of the template before prove nothing."""
    world = ready()
    world.image("reg/frontend:1.6.2", "Frontend")
    world.step()
    assert (world.ready["status"], world.ready["reason"]) == ("False", "updating")
    world.step()
    assert world.ready["status"] == "False", "Grove has not seen it yet"
    grove(world)
    world.step()
    assert world.ready["status"] == "True"


def test_replicas_change_where_the_pods_are() -> None:
    """The set keeps the count that it was made with; the clique that exists is scaled."""
    world = ready()
    world.edit(replicas=7)
    plan = world.step()
    [patch] = plan.patch
    assert (patch.kind, patch.name) == ("PodClique", "chat-0-worker")
    assert patch.operations == (
        {"op": "test", "path": "/metadata/uid", "value": "u-worker"},
        {"op": "add", "path": "/spec/replicas", "value": 7},
    )
    counts = {item["name"]: item["spec"]["replicas"] for item in world.live[SET]["spec"]["template"]["cliques"]}
    assert counts == {"frontend": 1, "worker": 4}
    assert world.step().patch == ()
    assert world.ready["status"] == "False"


def test_cliques_that_exist_keep_their_order() -> None:
    """Grove refuses to have them moved; what is new comes last."""
    world = ready()
    components = world.graph["spec"]["components"]
    first = copy.deepcopy(components[0])
    components.reverse()
    components.insert(0, {**first, "name": "Another"})
    world.graph["metadata"]["generation"] += 1
    world.step()
    names = [item["name"] for item in world.live[SET]["spec"]["template"]["cliques"]]
    assert names == ["frontend", "worker", "another"]


def test_a_new_generation_is_recorded_and_said_to_be_groves() -> None:
    """One warning; no managed rollout."""
    world = ready()
    before = world.graph["metadata"]["annotations"]["nvidia.com/current-worker-hash-v2"]
    world.image("reg/sglang-runtime:1.6.2")
    world.step()
    world.step()
    assert [event.reason for event in world.events].count("RollingUpdateNotSupported") == 1
    assert world.graph["metadata"]["annotations"]["nvidia.com/current-worker-hash-v2"] != before
    assert "rollingUpdate" not in world.status


@pytest.mark.parametrize("serves", [True, False])
def test_an_upgraded_operator_replaces_only_pods_that_do_not_serve(*, serves: bool) -> None:
    """Other configuration of the operator reaches a set that is not available, and no other."""
    world = made()
    grove(world)
    world.live[SET]["status"]["availableReplicas"] = int(serves)
    world.step()
    before = copy.deepcopy(world.live[SET]["spec"])
    variable = {"name": "NATS_SERVER", "value": "nats://new:4222"}
    render = RenderOptions(infrastructure_env=(variable,))
    world.options = OperatorOptions(installed=frozenset({"PodCliqueSet"}), render=render)
    world.step()
    assert (world.live[SET]["spec"] == before) == serves
    world.image("reg/frontend:1.6.2", "Frontend")
    world.step()
    for clique in world.live[SET]["spec"]["template"]["cliques"]:
        assert variable in clique["spec"]["podSpec"]["containers"][0]["env"]


def test_cliques_restart_one_after_another() -> None:
    """The next component has its turn when Grove says that the one before is Ready again."""
    world = ready()
    world.graph["spec"]["restart"] = {"id": "now"}
    world.graph["metadata"]["generation"] += 1

    def carried() -> list[str]:
        cliques = world.live[SET]["spec"]["template"]["cliques"]
        return [item.get("annotations", {}).get("nvidia.com/restartAt", "") for item in cliques]

    world.step()
    assert carried() == ["now", ""]
    world.step()
    assert carried() == ["now", ""]
    grove(world)
    world.step()
    assert carried() == ["now", "now"]
    assert world.status["restart"]["inProgress"] == ["Worker"]
    grove(world)
    world.step()
    assert world.status["restart"] == {"observedID": "now", "phase": "Completed"}


def test_a_set_of_somebody_else_is_refused() -> None:
    """It is not written; the condition names its controller."""
    world = World(graph(annotations={"nvidia.com/workload-provider": "grove"}), GROVE)
    other = {"uid": "u-other", "kind": "DynamoGraphDeployment", "name": "other", "controller": True}
    world.put({"kind": "PodCliqueSet", "metadata": {"name": "chat", "namespace": "serving"}, "spec": {}})
    world.live[SET]["metadata"]["ownerReferences"] = [other]
    plan = world.step()
    assert "PodCliqueSet" not in [item["kind"] for item in plan.apply]
    assert world.condition("OwnershipConflict")["status"] == "True"
