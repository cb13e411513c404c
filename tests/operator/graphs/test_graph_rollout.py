"""A new generation of workers takes over without fewer pods serving, or more existing, than the budget says."""

from __future__ import annotations

import copy

import pytest
from graph_world import DCD, World, graph
from hypothesis import given, settings
from hypothesis import strategies as st

from stator.operator.graphs.rollout.budget import Budget, budget
from stator.operator.graphs.rollout.targets import Group, targets

SURGE = "nvidia.com/deployment-rolling-update-max-surge"
UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"
HASH = "nvidia.com/current-worker-hash-v2"
NEW, NEWER = "reg/sglang-runtime:1.6.2", "reg/sglang-runtime:1.6.3"


def serving(replicas: int = 4, annotations: dict[str, str] | None = None, *, alone: bool = False) -> World:
    """A graph that is Ready, with as many workers, and with a frontend unless they are alone."""
    world = World()
    components = world.graph["spec"]["components"]
    del components[: int(alone)]
    worker = components[-1]
    worker["replicas"] = replicas
    if annotations:
        worker["podTemplate"]["metadata"] = {"annotations": annotations}
    world.settle()
    assert world.ready["status"] == "True"
    return world


def total(world: World) -> tuple[int, int]:
    """Worker pods that exist, and that serve."""
    pods = [serves for name, found in world.pods.items() if name.startswith("chat-worker") for serves in found]
    return len(pods), sum(pods)


@pytest.mark.parametrize(
    ("annotations", "desired", "expected"),
    [
        ({}, 4, Budget(surge=1, unavailable=1)),
        ({}, 1, Budget(surge=1, unavailable=0)),
        ({}, 0, Budget(surge=1, unavailable=0)),
        ({}, 10, Budget(surge=3, unavailable=2)),
        ({SURGE: "0", UNAVAILABLE: "0"}, 4, Budget(surge=1, unavailable=0)),
        ({SURGE: "2", UNAVAILABLE: "50%"}, 5, Budget(surge=2, unavailable=2)),
        ({"nvidia.com/deployment-strategy": "Recreate"}, 4, Budget(surge=1, unavailable=1, recreate=True)),
        ({"nvidia.com/deployment-strategy": "Other"}, 4, Budget(surge=1, unavailable=1)),
    ],
)
def test_the_budget_is_what_a_deployment_would_make_of_the_annotations(
    annotations: dict[str, str], desired: int, expected: Budget
) -> None:
    """Percentages are of the desired replicas: surge rounded up, unavailable down, never both zero."""
    assert budget(annotations, desired) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ((0, 0), [(4, 4)], (1, [3])),
        ((1, 0), [(3, 3)], (2, [3])),
        ((1, 1), [(3, 3)], (2, [2])),
        ((4, 4), [(1, 1)], (4, [0])),
        ((2, 0), [(4, 1)], (2, [3])),
        ((0, 0), [(2, 2), (2, 2)], (1, [1, 2])),
        ((1, 1), [(2, 0), (2, 2)], (1, [0, 2])),
    ],
    ids=["first", "unready-new", "next", "last", "broken-old", "two-generations", "broken-goes-first"],
)
def test_a_step_follows_the_published_formulas(
    new: tuple[int, int], old: list[tuple[int, int]], expected: tuple[int, list[int]]
) -> None:
    """Four desired, one more allowed, one fewer: (wanted, available) of each generation to what is wanted next."""
    groups = [
        Group(name=f"old-{index}", wanted=wanted, exist=wanted, available=available)
        for index, (wanted, available) in enumerate(old)
    ]
    first = Group(name="new", wanted=new[0], exist=new[0], available=new[1])
    found = targets(4, Budget(surge=1, unavailable=1), first, groups)
    assert (found.new, list(found.old.values())) == expected


def test_workers_are_handed_over_and_the_old_ones_leave_last() -> None:
    """The graph says so all along: pending, what rolls, who is counted; then the new generation serves alone."""
    world = serving()
    [old] = world.workers
    before = world.graph["metadata"]["annotations"][HASH]
    namespace = world.status["components"]["Worker"]["runtimeNamespace"]
    assert namespace == f"serving-chat-{before}"
    world.image(NEW)
    world.step()
    assert world.ready["status"] == "False"
    assert world.ready["reason"] == "rolling_update_in_progress"
    assert world.status["state"] == "pending"
    assert world.status["rollingUpdate"]["phase"] == "Pending"
    world.work(serve=0)
    world.step()
    new = list(world.workers)[1]
    assert world.status["rollingUpdate"]["phase"] == "InProgress"
    component = world.status["components"]["Worker"]
    assert set(component["componentNames"]) == {old, new}
    assert component["runtimeNamespace"] == namespace, "clients find the old generation until the new one serves alone"
    assert component["updatedReplicas"] == 1
    assert component["replicas"] == 4
    world.settle()
    assert list(world.workers) == [new]
    assert world.workers[new] == 4
    assert world.status["rollingUpdate"]["phase"] == "Completed"
    assert world.status["rollingUpdate"]["updatedComponents"] == ["Worker"]
    assert world.graph["metadata"]["annotations"][HASH] != before
    assert world.status["state"] == "successful"
    assert [event.reason for event in world.events].count("RollingUpdateStarted") == 1
    assert [event.reason for event in world.events].count("RollingUpdateCompleted") == 1


def test_a_generation_that_does_not_come_up_leaves_the_old_one_in_place() -> None:
    """Workers that never become Ready take the surge and what may be unavailable, and not one pod more."""
    world = serving()
    [old] = world.workers
    world.image(NEW)
    for _ in range(20):
        world.step()
        world.work(serve=0)
    assert world.workers[old] == 3
    assert total(world) == (5, 3)
    assert world.ready["reason"] == "rolling_update_in_progress"


@pytest.mark.parametrize("third", [NEWER, "reg/sglang-runtime:1.6.1"], ids=["another", "back"])
def test_a_change_half_way_is_a_new_rollout(third: str) -> None:
    """From A to B to C, or back to A: it starts anew, with a start of its own, and ends in what is wanted last."""
    world = serving()
    world.image(NEW)
    for _ in range(3):
        world.step()
        world.work()
    first = copy.deepcopy(world.status["rollingUpdate"])
    world.image(third)
    world.step()
    second = world.status["rollingUpdate"]
    assert second["startTime"] > first["startTime"]
    assert second["workerHash"] != first["workerHash"]
    world.settle()
    assert len(world.workers) == 1
    assert next(iter(world.workers)).endswith(second["workerHash"])
    assert list(world.workers.values()) == [4]
    assert world.status["rollingUpdate"]["phase"] == "Completed"


def test_records_that_were_lost_are_made_of_what_exists() -> None:
    """Without the annotation and without any status the operator goes on in the middle of a rollout."""
    world = serving()
    before = world.graph["metadata"]["annotations"][HASH]
    world.image(NEW)
    for _ in range(3):
        world.step()
        world.work()
    del world.graph["metadata"]["annotations"]
    del world.graph["status"]
    world.step()
    world.step()
    assert world.graph["metadata"]["annotations"][HASH] == before, "the older generation still serves"
    assert world.graph["metadata"]["annotations"]["nvidia.com/workload-provider"] == "component"
    world.settle()
    assert len(world.workers) == 1
    assert world.status["rollingUpdate"]["phase"] == "Completed"


def test_recreate_starts_the_new_generation_when_all_old_pods_are_gone() -> None:
    """With `Recreate` no two generations have pods at the same time, not even such as are ending."""
    world = serving(annotations={"nvidia.com/deployment-strategy": "Recreate"})
    [old] = world.workers
    world.image(NEW)
    world.step()
    assert world.workers[old] == 0
    assert sum(world.workers.values()) == 0
    world.step()
    assert sum(world.workers.values()) == 0, "nobody has said that the old pods are gone"
    ending = world.pods[old]
    world.work()
    world.pods[old] = ending or [True]
    world.step()
    assert sum(world.workers.values()) == 0, "a pod that is ending is still there"
    world.pods[old] = []
    world.settle()
    assert list(world.workers.values()) == [4]


@pytest.mark.parametrize("strategy", ["RollingUpdate", "Recreate"])
def test_pods_that_somebody_else_keeps_do_not_hold_up_a_rollout(strategy: str) -> None:
    """A person has scaled the old Deployment by hand: it is not fought over, and goes with its generation."""
    world = serving(annotations={"nvidia.com/deployment-strategy": strategy})
    [old] = world.workers
    world.held[old] = 6
    world.settle()
    assert world.ready["status"] == "True"
    assert world.status["components"]["Worker"]["replicas"] == 6
    world.image(NEW)
    for _ in range(30):
        world.step()
        world.work()
        assert total(world)[1] >= 3 or strategy == "Recreate"
    assert len(world.workers) == 1
    assert old not in world.workers
    assert world.status["rollingUpdate"]["phase"] == "Completed"


def test_an_old_generation_that_cannot_be_reconciled_does_not_hold_up_a_rollout() -> None:
    """What an older operator accepted may be refused today; its pods serve until the new ones do."""
    world = serving()
    [old] = world.workers
    world.image(NEW)
    for _ in range(30):
        world.step()
        world.held[old] = 4
        world.work()
        status = world.live.get((DCD, old), {}).get("status", {"conditions": [{}]})
        status["conditions"][0] |= {"status": "False", "reason": "InvalidSpec"}
    assert old not in world.workers
    assert list(world.workers.values()) == [4]


def test_groups_of_nodes_count_as_available_when_they_are_ready() -> None:
    """A LeaderWorkerSet does not count available replicas; a component of several nodes rolls all the same."""
    world = serving()
    for item in world.live.values():
        item.get("status", {}).get("component", {}).pop("availableReplicas", None)
    [old] = world.workers
    world.image(NEW)
    world.step()
    assert world.workers[old] == 3


def test_a_frontend_has_no_generations() -> None:
    """A changed frontend keeps its name: its Deployment replaces the pods."""
    world = serving()
    names = set(world.live)
    world.image("reg/frontend:1.6.2", "Frontend")
    world.settle()
    assert set(world.live) == names
    assert "rollingUpdate" not in world.status


def test_a_component_that_is_gone_from_the_graph_is_drained_and_deleted() -> None:
    """Its pods end before the object that made them does."""
    world = serving()
    [old] = world.workers
    del world.graph["spec"]["components"][1]
    world.graph["metadata"]["generation"] += 1
    world.step()
    assert world.workers == {old: 0}
    world.step()
    assert world.workers == {old: 0}, "nobody has said that its pods are gone"
    world.work()
    world.settle()
    assert world.workers == {}
    assert world.ready["status"] == "True"


def test_workers_that_an_older_operator_left_without_a_generation_are_replaced() -> None:
    """A worker component without the label is of an older generation than any."""
    world = serving()
    [name] = world.workers
    live = world.live.pop((DCD, name))
    live["metadata"]["name"] = "chat-worker"
    del live["metadata"]["labels"]["nvidia.com/dynamo-worker-hash"]
    world.live[DCD, "chat-worker"] = live
    world.pods["chat-worker"] = world.pods.pop(name)
    world.settle()
    assert list(world.workers) == [name]


def test_scaling_is_no_rollout() -> None:
    """Replicas are no part of a generation."""
    world = serving()
    [name] = world.workers
    world.edit(replicas=6)
    world.settle()
    assert world.workers == {name: 6}
    assert "rollingUpdate" not in world.status


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_budget_holds_whatever_happens_when(data: st.DataObject) -> None:
    """Whoever works in whatever order, killed at any write: enough pods serve, not too many exist, and it ends."""
    desired = data.draw(st.integers(1, 6), "desired")
    amounts = st.sampled_from(["0", "1", "2", "25%", "50%", "100%"])
    annotations = {SURGE: data.draw(amounts, "surge"), UNAVAILABLE: data.draw(amounts, "unavailable")}
    if all(text == "0" for text in annotations.values()):
        annotations[SURGE] = "1"
    allowed = budget(annotations, desired)
    world = serving(desired, annotations, alone=True)
    images = [NEW, NEWER, "reg/sglang-runtime:1.6.1"]
    for _ in range(data.draw(st.integers(1, 25), "steps")):
        match data.draw(st.sampled_from(["step", "step", "killed", "pods", "serve", "change"]), "what"):
            case "step":
                world.step()
            case "killed":
                world.step(writes=data.draw(st.integers(0, 6), "writes"))
            case "pods":
                world.work(serve=0, look=data.draw(st.booleans(), "look"))
            case "serve":
                world.work(serve=data.draw(st.integers(0, 3), "pods"))
            case "change":
                world.image(data.draw(st.sampled_from(images), "image"))
        exist, serve = total(world)
        assert serve >= desired - allowed.unavailable
        assert exist <= desired + allowed.surge
    world.settle()
    assert list(world.workers.values()) == [desired]
    assert total(world) == (desired, desired)
    assert world.ready["status"] == "True"


@settings(max_examples=30, deadline=None)
@given(kills=st.lists(st.integers(0, 8), max_size=12))
def test_an_operator_that_is_killed_at_any_write_ends_in_the_same_state(kills: list[int]) -> None:
    """Any prefix of what a pass writes, again and again, comes to what an undisturbed operator comes to."""
    undisturbed, killed = World(graph()), World(graph())
    for world in (undisturbed, killed):
        if world is killed:
            for writes in kills[:6]:
                world.step(writes=writes)
                world.work()
        world.settle()
        world.image(NEW)
        if world is killed:
            for writes in kills[6:]:
                world.step(writes=writes)
                world.work()
        world.settle()
    assert killed.state() == undisturbed.state()
