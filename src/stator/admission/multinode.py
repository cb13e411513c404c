"""Components that span nodes, and the two roles of their pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stator.admission.subject import Breach, Subject, is_worker, nodes
from stator.model import RUNTIME_CONTAINER, Component

POWER_LIMIT = "dynamo.nvidia.com/gpu-power-limit"
_NAMES = ("leader", "worker")


def multinode_type(subject: Subject) -> Iterator[Breach]:
    """Only workers span nodes."""
    for component in subject.graph.components:
        if component.other.get("multinode") is not None and not is_worker(component):
            yield Breach(
                rule="multinode-type",
                path=(*component.path, "multinode"),
                what=f"component {component.name}: multinode does not go with the type "
                f'"{component.type}"' if component.type else f"component {component.name}: multinode needs a type",
                why="only worker, prefill and decode components span nodes",
                remedy="leave multinode out, or set the type",
            )  # fmt: skip


def roles(subject: Subject) -> Iterator[Breach]:
    """Roles describe the leader and the workers of a component that spans nodes, both or neither."""
    for component in subject.graph.components:
        if (given := component.other.get("roles")) is not None:
            yield from _roles(component, given)


def _roles(component: Component, given: Sequence[Mapping[str, Any]]) -> Iterable[Breach]:
    def breach(what: str, *path: str | int, remedy: str = "") -> Breach:
        full = (*component.path, "roles", *path)
        return Breach(rule="roles", path=full, what=f"component {component.name}: {what}", remedy=remedy)

    if component.other.get("multinode") is None:
        yield breach("roles need multinode", remedy="add multinode, or leave roles out")
        return
    if missing := [name for name in _NAMES if name not in [role["name"] for role in given]]:
        yield breach(f"the role {missing[0]} is missing", remedy="describe both roles, leader and worker")
    pods = {"leader": 1, "worker": nodes(component) - 1}
    for index, role in enumerate(given):
        name = str(role["name"])
        if role.get("replicas") not in (None, pods[name]):
            what = f"the role {name} has {pods[name]} pod{'' if pods[name] == 1 else 's'} in a replica"
            yield breach(f"{what}, not {role['replicas']}", index, "replicas", remedy="leave replicas out")
    with_template = [index for index, role in enumerate(given) if role.get("podTemplate")]
    if len(with_template) == 1 and len(given) > 1:
        yield breach("one role has a podTemplate, the other has none", 1 - with_template[0], remedy="write both")
    if with_template and component.pod_template:
        what = "a role has a podTemplate, and so has the component"
        yield breach(what, with_template[0], "podTemplate", remedy="keep those of the roles")
    for index in with_template:
        yield from _template(component, index, given[index]["podTemplate"])


def _template(component: Component, index: int, template: Mapping[str, Any]) -> Iterator[Breach]:
    where = (*component.path, "roles", index, "podTemplate")
    about = f"component {component.name}: "
    if POWER_LIMIT in ((template.get("metadata") or {}).get("annotations") or {}):
        yield Breach(
            rule="roles",
            path=(*where, "metadata", "annotations", POWER_LIMIT),
            what=f"{about}a role's template cannot limit power",
            remedy="put the annotation on the podTemplate of a component without role templates",
        )
    for position, container in enumerate((template.get("spec") or {}).get("initContainers") or ()):
        if container.get("name") == RUNTIME_CONTAINER:
            yield Breach(
                rule="roles",
                path=(*where, "spec", "initContainers", position),
                what=f'{about}a role\'s template cannot have a "{RUNTIME_CONTAINER}" container',
                remedy="run the Dynamo worker in the main container",
            )
