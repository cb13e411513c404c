"""A restart replaces the pods of one component after another, and nothing else."""

from __future__ import annotations

import pytest
from graph_world import DCD, World

RESTART = "nvidia.com/restartAt"


def asked(world: World, restart: str = "now", **strategy: object) -> World:
    """A person asks for a restart."""
    world.graph["spec"]["restart"] = {"id": restart, **({"strategy": strategy} if strategy else {})}
    world.graph["metadata"]["generation"] += 1
    return world


def ready() -> World:
    """A graph that is Ready."""
    world = World()
    world.settle()
    return world


def carried(world: World) -> dict[str, str]:
    """The restart id in each component's pod template."""
    found = {}
    for (kind, _), item in world.live.items():
        if kind == DCD:
            annotations = item["spec"]["podTemplate"].get("metadata", {}).get("annotations", {})
            found[item["spec"]["name"]] = annotations.get(RESTART, "")
    return found


@pytest.mark.parametrize(
    ("strategy", "first", "second"),
    [({}, "Frontend", "Worker"), ({"order": ["Worker", "Frontend"]}, "Worker", "Frontend")],
    ids=["by-name", "declared"],
)
def test_components_restart_in_their_order(strategy: dict[str, object], first: str, second: str) -> None:
    """The next has its turn when the pods of the one before are Ready again."""
    world = asked(ready(), **strategy)
    world.step()
    assert carried(world) == {first: "now", second: ""}
    assert world.status["restart"] == {"observedID": "now", "phase": "Restarting", "inProgress": [first]}
    world.step()
    assert carried(world)[second] == "", "nobody has said that the pods are Ready"
    world.work()
    world.step()
    assert carried(world) == {first: "now", second: "now"}
    assert world.status["restart"]["inProgress"] == [second]
    world.settle()
    assert world.status["restart"] == {"observedID": "now", "phase": "Completed"}
    assert world.ready["status"] == "True"


def test_a_parallel_restart_takes_all_at_once() -> None:
    """Every component gets the id in the same pass."""
    world = asked(ready(), type="Parallel")
    world.step()
    assert set(carried(world).values()) == {"now"}
    world.settle()
    assert world.status["restart"]["phase"] == "Completed"


def test_a_restart_makes_no_generation() -> None:
    """The workers keep their names: the same pods again is no other intent."""
    world = ready()
    before = world.workers
    asked(world).settle()
    assert world.workers == before
    assert "rollingUpdate" not in world.status


def test_a_new_restart_takes_over_from_one_that_hangs() -> None:
    """What has the older id keeps it until its turn comes."""
    world = asked(ready())
    world.step()
    asked(world, "again")
    world.step()
    assert carried(world) == {"Frontend": "again", "Worker": ""}
    world.settle()
    assert carried(world) == {"Frontend": "again", "Worker": "again"}


def test_a_restart_that_is_taken_out_of_the_spec_replaces_nothing() -> None:
    """The pods keep the id that they have."""
    world = asked(ready())
    world.settle()
    del world.graph["spec"]["restart"]
    world.graph["metadata"]["generation"] += 1
    before = carried(world)
    world.settle()
    assert carried(world) == before
    assert world.status["restart"]["phase"] == "Completed"


def test_a_rollout_supersedes_a_restart() -> None:
    """The workers are replaced anyway; the rest of the restart does not follow."""
    world = asked(ready(), order=["Worker", "Frontend"])
    world.image("reg/sglang-runtime:1.6.2")
    world.step()
    assert world.status["restart"] == {"observedID": "now", "phase": "Superseded"}
    world.settle()
    assert set(carried(world).values()) == {""}
    assert world.status["restart"]["phase"] == "Superseded"
    assert world.ready["status"] == "True"


def test_workers_of_a_later_generation_carry_the_restart_that_is_over() -> None:
    """Made anew, they are as restarted as the others, and nothing is restarted for it."""
    world = asked(ready())
    world.settle()
    world.image("reg/sglang-runtime:1.6.2")
    world.settle()
    assert set(carried(world).values()) == {"now"}
    assert world.status["restart"] == {"observedID": "now", "phase": "Completed"}
    assert world.ready["status"] == "True"


def test_a_graph_that_comes_with_a_restart_makes_its_pods_once() -> None:
    """Pods that are made now are not made twice for it."""
    world = asked(World())
    world.step()
    world.step()
    assert set(carried(world).values()) == {"now"}
    generations = [item["metadata"]["generation"] for (kind, _), item in world.live.items() if kind == DCD]
    world.settle()
    assert [i["metadata"]["generation"] for (k, _), i in world.live.items() if k == DCD] == generations


def test_a_restart_is_found_again_when_the_status_was_lost() -> None:
    """The pods carry the id: nothing restarts twice."""
    world = asked(ready())
    world.settle()
    before = {key: item["spec"] for key, item in world.live.items() if key[0] == DCD}
    del world.graph["status"]
    world.settle()
    assert {key: item["spec"] for key, item in world.live.items() if key[0] == DCD} == before
    assert world.status["restart"] == {"observedID": "now", "phase": "Completed"}
