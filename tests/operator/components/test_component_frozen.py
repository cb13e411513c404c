"""Pods that serve stay as they are when only the operator changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from world import CHAT, EMBEDDING, World, component

from stator.operator.options import OperatorOptions
from stator.render import RenderOptions
from stator.versions import Version

OLD = OperatorOptions(render=RenderOptions(operator=Version(1, 4, 0), repairs=False))
NEW = OperatorOptions()
OTHER_NATS = OperatorOptions(
    render=RenderOptions(infrastructure_env=({"name": "NATS_SERVER", "value": "nats://new:4222"},))
)
CREDENTIAL = """
envFrom: [{secretRef: {name: token}}]
"""


def template(world: World) -> Any:
    """The pod template that is live."""
    return copy.deepcopy(world.workload["spec"]["template"])


def embedding(main: str = "") -> World:
    """An embedding worker that needs the repair, under an operator that does not have it."""
    return World(component(EMBEDDING, image="reg/sglang-runtime:1.5.0", main=main), OLD)


def repairs(world: World) -> Any:
    """The repairs in force as the status has them."""
    return world.component["status"]["component"].get("repairs", [])


@pytest.mark.parametrize("newer", [NEW, OTHER_NATS], ids=["operator", "configuration"])
@pytest.mark.parametrize("main", ["", CREDENTIAL], ids=["literal", "config-map"])
def test_an_upgraded_operator_leaves_pods_that_serve_byte_identical(newer: OperatorOptions, main: str) -> None:
    """Newer defaults, other configuration and a new repair do not replace Ready pods; the status says so."""
    world = embedding(main).serve()
    before = template(world)
    world.options = newer
    for _ in range(3):
        world.step()
    assert template(world) == before
    assert not repairs(world)
    assert not [name for kind, name in world.live if kind == "ConfigMap"]
    ready = world.condition("DynamoComponentReady")
    assert ready["status"] == "True"
    assert "keep the template" in ready["message"]
    rules = {item["rule"]: item["severity"] for item in world.component["status"]["component"]["findings"]}
    assert rules["DYN101"] == ("warning" if main else "error"), "as without the repair, which is not in the pods"


@pytest.mark.parametrize("main", ["", CREDENTIAL], ids=["literal", "config-map"])
def test_a_worker_that_does_not_become_ready_gets_the_new_repair(main: str) -> None:
    """Pods that never came up have nothing to lose: the upgraded operator repairs them."""
    world = embedding(main)
    world.step()
    world.pods(updated=2, available=0)
    world.step()
    world.options = NEW
    plan = world.step()
    assert repairs(world) == ["DYN101"]
    assert "Repaired" in [event.reason for event in plan.events]
    assert [name for kind, name in world.live if kind == "ConfigMap"] == (["chat-worker-dyn101"] if main else [])


def test_the_next_change_that_somebody_asks_for_brings_what_was_held_back() -> None:
    """An edit of the pod template is a new generation, and gets the repair that the running one did without."""
    world = embedding().serve()
    world.options = NEW
    world.step()
    changed = copy.deepcopy(world.component["spec"]["podTemplate"])
    changed["spec"]["containers"][0]["env"] = [{"name": "LOG", "value": "debug"}]
    world.edit(podTemplate=changed)
    world.step()
    names = [entry["name"] for entry in template(world)["spec"]["containers"][0]["env"]]
    assert {"LOG", "DYN_HEALTH_CHECK_PAYLOAD"} <= set(names)
    world.step()
    assert world.condition("Available")["status"] == "False", "the old pods prove nothing about the new template"


@pytest.mark.parametrize("edit", [{"replicas": 4}, {"scalingAdapter": {}}, {"minAvailable": 1}])
def test_scaling_after_an_upgrade_does_not_replace_pods(edit: dict[str, object]) -> None:
    """What does not reach a pod template is no reason to render it anew."""
    world = embedding().serve()
    before = template(world)
    world.options = NEW
    world.edit(**edit)
    world.step()
    assert template(world) == before


def test_a_pod_that_is_away_does_not_make_a_template_a_broken_one() -> None:
    """While a node drains one of two pods is missing: the operator's upgrade does not replace the other."""
    world = embedding().serve()
    before = template(world)
    world.pods(updated=2, available=1)
    world.options = NEW
    world.step()
    assert template(world) == before


def test_available_pods_of_an_older_template_do_not_freeze_the_newer_one() -> None:
    """In the middle of a rolling update the pods that serve may be the old ones: the new ones get the repair."""
    world = embedding()
    world.step()
    world.pods(updated=1, available=2, total=3)
    world.options = NEW
    world.step()
    assert repairs(world) == ["DYN101"]


def test_a_component_without_pods_gets_what_is_rendered_now() -> None:
    """Scaled to zero there is no pod to replace, so the next ones start repaired."""
    world = embedding().serve()
    world.edit(replicas=0)
    world.step()
    world.pods(updated=0, available=0)
    world.options = NEW
    world.step()
    assert repairs(world) == ["DYN101"]


def test_a_repair_in_force_is_read_off_the_pods() -> None:
    """An operator that would not repair any more says that the pods that run still are, and keeps what they read."""
    for main in ("", CREDENTIAL):
        world = embedding(main)
        world.options = NEW
        world.serve()
        assert repairs(world) == ["DYN101"]
        world.options = OLD
        before, objects = template(world), set(world.live)
        world.step()
        assert template(world) == before
        assert set(world.live) == objects
    assert repairs(world) == ["DYN101"], "the ConfigMap tells it even to an operator that does not know the rule"


@pytest.mark.parametrize("annotation", [None, "0-other-layout"])
def test_a_workload_without_a_readable_record_is_frozen_if_its_component_was_seen(annotation: str | None) -> None:
    """A workload of another operator stays as it is while nobody touches its component."""
    world = embedding().serve()
    annotations = world.workload["metadata"]["annotations"]
    if annotation is None:
        del annotations["stator.dev/template"]
    else:
        annotations["stator.dev/template"] = annotation
    before = template(world)
    world.options = NEW
    world.step()
    assert template(world) == before
    world.step()
    assert template(world) == before
    world.edit(sharedMemorySize="1Gi")
    world.step()
    assert template(world) != before


def test_what_somebody_else_took_over_is_asked_for_again() -> None:
    """A field of the template that another manager owns now stays wanted, so that the server tells the conflict."""
    world = World(component()).serve()
    owned = world.applied["Deployment", "chat-worker"]
    del owned["spec"]["template"]["spec"]["containers"][0]["image"]
    [workload] = [item for item in world.plan().apply if item["kind"] == "Deployment"]
    assert workload["spec"]["template"]["spec"]["containers"][0]["image"] == "reg/sglang-runtime:1.6.1"


@given(
    versions=st.lists(st.sampled_from([Version(1, 4, 0), Version(1, 5, 0), Version(1, 6, 1)]), min_size=1, max_size=4),
    command=st.sampled_from([CHAT, EMBEDDING]),
    runtime=st.sampled_from(["1.4.1", "1.5.0", "1.6.1", "latest"]),
    switches=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_no_sequence_of_operators_touches_pods_that_serve(
    versions: list[Version], command: str, runtime: str, switches: list[bool]
) -> None:
    """Whatever operators come and go, a Ready workload keeps its template until somebody edits the component."""
    world = World(component(command, image=f"reg/sglang-runtime:{runtime}"), OLD).serve()
    before = template(world)
    for version, switch in zip(versions, switches, strict=False):
        world.options = OperatorOptions(render=RenderOptions(operator=version, repairs=switch))
        world.step()
        assert template(world) == before
        assert world.condition("Available")["status"] == "True"
