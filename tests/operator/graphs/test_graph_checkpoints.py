"""Workers that are to start from a checkpoint, under an operator that takes none."""

from __future__ import annotations

import pytest
import yaml
from graph_world import CHAT, DCD, World, graph

from stator.operator.conditions import find


def waiting(policy: str = "WaitForCheckpoint") -> str:
    """The components of a chat graph whose worker has a startup policy."""
    components = yaml.safe_load(CHAT)
    components[1]["experimental"] = {"checkpoint": {"enabled": True, "startupPolicy": policy}}
    return yaml.safe_dump(components)


def replicas(world: World) -> dict[str, int]:
    """What the components are to have."""
    return {item["spec"]["name"]: item["spec"]["replicas"] for (kind, _), item in world.live.items() if kind == DCD}


def test_a_worker_that_waits_for_its_checkpoint_gets_no_pods_and_the_graph_says_why() -> None:
    """Ready would be a lie: nobody serves."""
    world = World(graph(waiting()))
    world.settle()
    assert replicas(world) == {"Frontend": 1, "Worker": 0}
    ready = find(world.graph["status"]["conditions"], "Ready")
    assert ready["status"] == "False"
    assert ready["message"].startswith("Worker: waits for its checkpoint, and this operator takes none")


def test_who_stops_waiting_gets_the_pods() -> None:
    """Another policy is another generation, which starts at once."""
    world = World(graph(waiting()))
    world.settle()
    world.edit(experimental={"checkpoint": {"enabled": True, "startupPolicy": "Immediate"}})
    world.settle()
    assert replicas(world) == {"Frontend": 1, "Worker": 4}
    assert find(world.graph["status"]["conditions"], "Ready")["status"] == "True"


@pytest.mark.parametrize("found", [1, 4])
def test_workers_that_another_operator_started_from_a_checkpoint_go_on(found: int) -> None:
    """Taking over a cluster scales nothing to zero."""
    world = World(graph(waiting("Immediate")))
    world.settle()
    [worker] = [item for (kind, _), item in world.live.items() if kind == DCD and item["spec"]["name"] == "Worker"]
    worker["spec"]["replicas"] = found
    world.edit(experimental={"checkpoint": {"enabled": True, "startupPolicy": "WaitForCheckpoint"}})
    world.settle()
    assert replicas(world) == {"Frontend": 1, "Worker": 4}
