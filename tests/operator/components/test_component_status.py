"""What a component says about itself, and when it is Ready."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import LATER, NOW, World, component

GOOD = {"updatedReplicas": 2, "replicas": 2, "availableReplicas": 2, "readyReplicas": 2}


def deployment(**status: Any) -> World:
    """A component whose Deployment reports this."""
    world = World(component())
    world.step()
    world.pods()
    world.workload["status"] |= status
    world.step()
    return world


def test_a_component_is_ready_when_all_of_its_newest_pods_are_available() -> None:
    """Both conditions are True, of this generation, with the closed reasons; the Deployment's counts are there."""
    world = deployment()
    status = world.component["status"]
    assert status["observedGeneration"] == 1
    assert [(item["type"], item["status"], item["reason"]) for item in status["conditions"]] == [
        ("Available", "True", "DeploymentReady"),
        ("DynamoComponentReady", "True", "ComponentReady"),
    ]
    part = status["component"]
    assert (part["componentKind"], part["componentNames"]) == ("Deployment", ["chat-worker"])
    assert [part[name] for name in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")] == [2] * 4


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"observedGeneration": 0}, "has not seen"),
        ({"updatedReplicas": 1}, "1 of 2 pods are updated"),
        ({"replicas": 3}, "3 pods exist, 2 are wanted"),
        ({"availableReplicas": 1}, "1 of 2 pods are available"),
        ({"conditions": [{"type": "Available", "status": "False"}]}, "not Available"),
        ({"conditions": []}, "not Available"),
        (
            {
                "updatedReplicas": 0,
                "conditions": [
                    {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}
                ],
            },
            "FailedCreate: exceeded quota",
        ),
        (
            {
                "availableReplicas": 0,
                "conditions": [
                    {
                        "type": "Progressing",
                        "status": "False",
                        "reason": "ProgressDeadlineExceeded",
                        "message": "timed out progressing",
                    }
                ],
            },
            "ProgressDeadlineExceeded: timed out",
        ),
    ],
)
def test_a_deployment_that_is_not_there_yet_says_what_it_waits_for(status: dict[str, Any], why: str) -> None:
    """Each way of not being Ready is told apart, and what stands in the way is repeated."""
    world = deployment(**status)
    assert world.condition("Available")["status"] == "False"
    assert world.condition("Available")["reason"] == "DeploymentNotReady"
    assert why in world.condition("Available")["message"]
    assert world.condition("DynamoComponentReady")["reason"] == "ComponentNotReady"


@given(
    counts=st.fixed_dictionaries({name: st.integers(0, 3) for name in GOOD}),
    seen=st.integers(0, 2),
    available=st.booleans(),
)
def test_ready_is_never_true_because_of_old_pods(counts: dict[str, int], seen: int, *, available: bool) -> None:
    """Ready takes every pod of the newest generation available, and none of an older one."""
    condition = {"type": "Available", "status": str(available)}
    world = World(component())
    world.step()
    world.workload["metadata"]["generation"] = 2
    world.workload["status"] = {**counts, "observedGeneration": seen, "conditions": [condition]}
    world.step()
    wanted = {name: counts[name] for name in ("updatedReplicas", "replicas", "availableReplicas")}
    expected = seen == 2 and available and wanted["updatedReplicas"] >= 2 and wanted["replicas"] == 2
    expected = expected and wanted["availableReplicas"] >= 2
    assert (world.condition("Available")["status"] == "True") == expected


def test_a_paused_deployment_is_not_ready() -> None:
    """Somebody has paused the rollout: what is asked for may not be what runs."""
    world = World(component()).serve()
    world.workload["spec"]["paused"] = True
    world.step()
    assert "is paused" in world.condition("Available")["message"]


def test_a_component_with_no_replicas_is_ready_without_pods() -> None:
    """Scaled to zero is what was asked for."""
    world = World(component()).serve()
    world.edit(replicas=0)
    world.step()
    world.pods(updated=0, available=0)
    world.step()
    assert world.condition("Available")["status"] == "True"


def test_the_time_of_a_condition_moves_only_with_its_status() -> None:
    """A pass that finds nothing new writes the same status; only a real change has a new time."""
    world = World(component()).serve()
    before = world.component["status"]
    world.now = LATER
    world.step()
    assert world.component["status"] == before
    world.pods(updated=2, available=0)
    world.step()
    assert world.condition("Available")["lastTransitionTime"] == f"{LATER:%Y-%m-%dT%H:%M:%SZ}" != f"{NOW}"


def test_events_come_once_per_change() -> None:
    """Becoming Ready is told once, however often the operator looks."""
    world = World(component())
    world.step()
    world.pods()
    reasons = [[event.reason for event in world.step().events] for _ in range(3)]
    assert reasons == [["ComponentReady"], [], []]


def test_clients_find_names_gpus_and_versions() -> None:
    """The planner sizes engines and finds endpoints by the status: everything it reads is there."""
    command = (
        "[python3, -m, dynamo.sglang, --model, org/m, --served-model-name=m, --endpoint, dyn://ns.decoder.generate]"
    )
    main = "resources: {limits: {nvidia.com/gpu: 4}}"
    world = World(component(command, main=main, image="reg/sglang-runtime:v1.6.0-cuda13"))
    world.component["metadata"]["labels"] = {"nvidia.com/dynamo-worker-hash": "0a1b2c3d"}
    part = world.serve().component["status"]["component"]
    assert part["servedModelName"] == "m"
    assert part["runtimeComponentName"] == "decoder"
    assert part["runtimeNamespace"] == "serving-chat-worker-0a1b2c3d"
    assert (part["gpusPerEngine"], part["gpusPerReplica"]) == (4, 4)
    assert (part["version"], part["versionSource"]) == ("1.6.0", "tag")


def test_what_a_command_line_only_knows_at_start_is_left_out() -> None:
    """A variable is no name: clients get none rather than the text of the variable."""
    command = "[python3, -m, dynamo.sglang, --model, $(MODEL), --endpoint, generate]"
    part = World(component(command)).serve().component["status"]["component"]
    assert not {"servedModelName", "runtimeComponentName"} & part.keys()


def test_an_unresolved_version_is_told() -> None:
    """A tag that is no release gives no version, and says so instead of assuming an old one."""
    part = World(component(image="reg/sglang-runtime:latest")).serve().component["status"]["component"]
    assert "version" not in part
    assert part["versionSource"] == "unresolved"
