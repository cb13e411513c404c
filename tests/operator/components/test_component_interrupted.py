"""An operator that is killed anywhere, and the next one that goes on."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from world import CHAT, EMBEDDING, World, component

CREDENTIAL = """
envFrom: [{secretRef: {name: token}}]
"""
COMMANDS = st.sampled_from([(CHAT, ""), (EMBEDDING, ""), (EMBEDDING, CREDENTIAL)])


def settle(world: World) -> dict[str, Any]:
    """Pass after pass with pods that come up, until nothing changes; what there is then."""
    for _ in range(10):
        before = state(world)
        world.step()
        world.pods()
        if state(world) == before:
            return before
    raise AssertionError("the passes do not come to an end")


def state(world: World) -> dict[str, Any]:
    """What people see of the children and the component, without uids and generations."""
    kept = copy.deepcopy(
        {f"{kind}/{name}": item for (kind, name), item in world.applied.items() if (kind, name) in world.live}
    )
    status = copy.deepcopy(world.component.get("status") or {})
    return {"objects": kept, "status": status}


def interrupted(world: World, writes: int) -> None:
    """Carry out the first writes of a pass only."""
    plan = world.plan()
    for item in plan.apply[:writes]:
        world.put(item)
    for deletion in plan.delete[: max(0, writes - len(plan.apply))]:
        del world.live[deletion.kind, deletion.name]


@settings(deadline=None)
@given(first=COMMANDS, second=COMMANDS, stops=st.lists(st.integers(0, 8), max_size=3))
def test_a_change_that_was_interrupted_ends_where_it_would_have(
    first: tuple[str, str], second: tuple[str, str], stops: list[int]
) -> None:
    """Whatever number of writes a killed operator got done, the next one ends in the state of one that was not."""
    image = "reg/sglang-runtime:1.5.0"
    target = component(second[0], image=image, main=second[1])["spec"]["podTemplate"]
    worlds = []
    for kills in ([], stops):
        world = World(component(first[0], image=image, main=first[1]))
        settle(world)
        world.edit(podTemplate=target)
        for kill in kills:
            interrupted(world, kill)
        worlds.append(settle(world))
    assert worlds[0] == worlds[1]
