"""Objects that belong to somebody else."""

from __future__ import annotations

from typing import Any

import pytest
from world import OURS, World, component

from stator.operator.components import Trouble, failed
from stator.operator.options import OperatorOptions
from stator.render import RenderOptions

OTHER = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u-other", "controller": True}]
PERSON = {"manager": "kubectl-create", "operation": "Update", "fieldsV1": {}}


def service(owners: list[dict[str, Any]], manager: dict[str, Any]) -> World:
    """A world in which the component's Service exists before it."""
    world = World(component(graph=True))
    metadata = {"name": "chat-worker", "namespace": "serving", "ownerReferences": owners}
    world.put({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {}}, manager)
    return world


@pytest.mark.parametrize(
    ("owners", "manager", "words"),
    [
        (OTHER, PERSON, "Service chat-worker is controlled by StatefulSet/db"),
        (OTHER, OURS, "Service chat-worker is controlled by StatefulSet/db"),
        ([], PERSON, "Service chat-worker exists and was not made by this operator, but by kubectl-create"),
    ],
)
def test_a_foreign_object_is_refused_and_never_overwritten(
    owners: list[dict[str, Any]], manager: dict[str, Any], words: str
) -> None:
    """Somebody else's Service stays untouched; the component says whose it is, once."""
    world = service(owners, manager)
    plan = world.step()
    assert "Service" not in [item["kind"] for item in plan.apply]
    assert not plan.delete
    assert world.condition("OwnershipConflict")["status"] == "True"
    assert words in world.condition("OwnershipConflict")["message"]
    assert world.condition("Available")["reason"] == "OwnershipConflict"
    assert [event.reason for event in plan.events] == ["OwnershipConflict"]
    assert not world.step().events


def test_the_conflict_is_over_when_the_object_is_gone() -> None:
    """Once the foreign Service is removed ours is made, and the condition says that it is resolved."""
    world = service(OTHER, PERSON)
    world.step()
    del world.live["Service", "chat-worker"]
    world.serve()
    assert world.condition("OwnershipConflict")["status"] == "False"
    assert world.condition("OwnershipConflict")["reason"] == "OwnershipConflictResolved"


def test_an_orphan_of_this_operator_is_taken_back() -> None:
    """After an orphaning deletion the component made anew adopts what it left behind."""
    world = World(component(graph=True)).serve()
    for live in world.live.values():
        live["metadata"]["ownerReferences"] = []
    world.component["metadata"]["uid"] = "u-again"
    world.step()
    owners = {live["metadata"]["ownerReferences"][0]["uid"] for live in world.live.values()}
    assert owners == {"u-again"}


def test_accounts_that_graphs_share_are_made_once_and_belong_to_none() -> None:
    """The planner's account of a fixed name has no controller, and one that exists is not touched."""
    dcd = component("[python3, -m, dynamo.planner]")
    dcd["spec"]["type"] = "planner"
    world = World(dcd, OperatorOptions(render=RenderOptions(planner_cluster_role="planner")))
    plan = world.step()
    account = next(item for item in plan.apply if item["metadata"]["name"] == "planner-serviceaccount")
    assert "ownerReferences" not in account["metadata"]
    assert account["metadata"]["name"] not in [item["metadata"]["name"] for item in world.plan().apply]


def test_a_write_that_the_server_refused_is_told_and_changes_nothing_else() -> None:
    """A field conflict keeps the counts, says who owns the field, and is told once."""
    world = World(component()).serve()
    before = world.component["status"]["component"]
    trouble = Trouble("FieldConflict", "kubectl-edit owns .spec.template.spec.containers[main].image")
    plan = failed(world.observe(), trouble, world.now)
    assert (plan.apply, plan.delete) == ((), ())
    assert plan.status is not None
    assert plan.status["component"] == before
    assert {item["reason"] for item in plan.status["conditions"]} == {"FieldConflict"}
    assert [event.reason for event in plan.events] == ["FieldConflict"]
    world.component["status"] = plan.status
    assert not failed(world.observe(), trouble, world.now).events


def test_only_the_service_of_a_model_is_shared() -> None:
    """A component that names its model owns all that it is made into, but for the Service that others use too."""
    plan = World(component(spec="modelRef: {name: org/m}")).plan()
    unowned = [item["metadata"]["name"] for item in plan.apply if "ownerReferences" not in item["metadata"]]
    assert len(unowned) == 1
    assert unowned[0].startswith("dynamo-model-")
