"""What may not change in a graph that is there, and who may change what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from stator.admission.features import mode_of
from stator.admission.metadata import RECORDED, not_yours
from stator.admission.multinode import POWER_LIMIT
from stator.admission.subject import Breach, Subject, experimental, nodes
from stator.model import Component, Graph, Path
from stator.render import names

_ANEW = "make the graph anew under another name, and remove this one when it serves"
_ROLLING = ("Pending", "InProgress")


class _Frozen(msgspec.Struct, frozen=True):
    """A field that keeps its value: its path below the component (or the graph), and how it reads."""

    path: Path
    read: Callable[[Any], Any]

    @property
    def name(self) -> str:
        return self.path[-1] if isinstance(self.path[-1], str) else str(self.path)


def _other(*path: str) -> Callable[[Any], Any]:
    """A field among the ones that have no attribute of their own."""

    def read(holder: Graph | Component) -> Any:
        value: Any = holder.other
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        return value

    return read


def _between_pods(feature: str) -> Callable[[Component], Any]:
    """A feature's settings while it works between pods, else None."""

    def read(component: Component) -> Any:
        settings = experimental(component, feature)
        return settings if settings is not None and mode_of(settings) == "InterPod" else None

    return read


def _roles(component: Component) -> list[str]:
    return sorted(role["name"] for role in component.other.get("roles") or ())


def _power(component: Component) -> Any:
    return ((component.pod_template.get("metadata") or {}).get("annotations") or {}).get(POWER_LIMIT)


# Defaults that a defaulter may have written into the stored object count as written.
_OF_COMPONENT = (
    _Frozen(("multinode",), lambda component: component.other.get("multinode") is not None),
    _Frozen(("roles",), _roles),
    _Frozen(("minAvailable",), lambda component: component.other.get("minAvailable") or 1),
    _Frozen(("topologyConstraint",), _other("topologyConstraint")),
    _Frozen(("experimental", "gpuMemoryService"), _between_pods("gpuMemoryService")),
    _Frozen(("experimental", "failover"), _between_pods("failover")),
    _Frozen(
        ("experimental", "failover", "numShadows"),
        lambda component: (experimental(component, "failover") or {}).get("numShadows") or 1,
    ),
    _Frozen(
        ("experimental", "grove", "forceScalingGroup"),
        lambda component: bool((experimental(component, "grove") or {}).get("forceScalingGroup")),
    ),
    _Frozen(("podTemplate", "metadata", "annotations", POWER_LIMIT), _power),
)
_OF_GRAPH = (
    _Frozen(("topologyConstraint",), _other("topologyConstraint")),
    _Frozen(("experimental", "kvTransferPolicy"), _other("experimental", "kvTransferPolicy")),
)
# Of an override that is there before and after; adding or removing one is a change of its value.
_OF_OVERRIDE = ("apiVersion", "target")


def changes(old: Graph, subject: Subject) -> Iterator[Breach]:
    """Every change from `old` to the subject's graph that is not allowed."""
    new = subject.graph
    yield from _graph(old, new)
    yield from _components(old, new)
    before = {component.name: component for component in old.components}
    for component in new.components:
        if (was := before.get(component.name)) is not None:
            yield from _component(was, component)
            yield from _replicas(was, component, subject)
    yield from _metadata(old, subject)
    yield from _restart(old, new)


def _graph(old: Graph, new: Graph) -> Iterator[Breach]:
    if old.backend_framework != new.backend_framework and old.backend_framework is not None:
        was, now = old.backend_framework, new.backend_framework or "absent"
        yield _changed(("spec", "backendFramework"), f"spec.backendFramework was {was}, and cannot become {now}")
    for field in _OF_GRAPH:
        if field.read(old) != field.read(new):
            yield _changed(("spec", *field.path), f"spec.{'.'.join(map(str, field.path))} cannot change")
    yield from _override(old, new, ("spec",), "spec")


def _components(old: Graph, new: Graph) -> Iterator[Breach]:
    before, after = ([component.name for component in graph.components] for graph in (old, new))
    added, removed = ([name for name in one if name not in other] for one, other in ((after, before), (before, after)))
    if not (added or removed):
        return
    if new.kind == "DynamoComponentDeployment":
        yield _changed(
            (*new.components[0].path, "name"), f"the component was {before[0]}, and cannot become {after[0]}"
        )
        return
    parts = [f"added: {', '.join(added)}"] if added else []
    parts += [f"removed: {', '.join(removed)}"] if removed else []
    yield _changed(("spec", "components"), "the set of components cannot change", "; ".join(parts))


def _component(old: Component, new: Component) -> Iterator[Breach]:
    about = f"component {new.name}:"
    if old.type and old.type != new.type:
        yield _changed(
            (*new.path, "type"), f"{about} the type was {old.type}, and cannot become {new.type or 'absent'}"
        )
    for field in _OF_COMPONENT:
        if field.read(old) != field.read(new):
            yield _changed((*new.path, *field.path), f"{about} {field.name} cannot change")
    if old.other.get("multinode") is not None and new.other.get("multinode") is not None and nodes(old) != nodes(new):
        what = f"{about} nodeCount was {nodes(old)}, and cannot become {nodes(new)}"
        yield _changed((*new.path, "multinode", "nodeCount"), what)
    yield from _override(old, new, new.path, f"component {new.name}")


def _override(old: Graph | Component, new: Graph | Component, path: Path, whose: str) -> Iterator[Breach]:
    was, now = old.other.get("providerOverride"), new.other.get("providerOverride")
    if was is None or now is None:
        return
    for field in _OF_OVERRIDE:
        if was.get(field) is not None and was[field] != now.get(field):
            yield _changed((*path, "providerOverride", field), f"{whose}: providerOverride.{field} cannot change")


def _replicas(old: Component, new: Component, subject: Subject) -> Iterator[Breach]:
    """Who scales a component that a scaling adapter owns."""
    adapted = old.other.get("scalingAdapter") is not None and new.other.get("scalingAdapter") is not None
    was, now = (1 if part.replicas is None else part.replicas for part in (old, new))
    planner = f"system:serviceaccount:{subject.graph.namespace}:{names.PLANNER_ACCOUNT}"
    if adapted and was != now and subject.user not in (None, planner) and subject.by_operator is False:
        yield Breach(
            rule="scaling-adapter",
            path=(*new.path, "replicas"),
            what=f"component {new.name}: replicas belong to its scaling adapter",
            why=f"{subject.user} would change them from {was} to {now}",
            remedy=f"scale DynamoGraphDeploymentScalingAdapter {subject.graph.name}-{new.name.lower()} instead",
        )


def _metadata(old: Graph, subject: Subject) -> Iterator[Breach]:
    new = subject.graph
    if subject.by_operator is False and old.annotations.get(RECORDED) != new.annotations.get(RECORDED):
        yield not_yours()


def _restart(old: Graph, new: Graph) -> Iterator[Breach]:
    """A restart in the middle of a rolling update would roll what is not there yet."""
    status = old.origin.document.value.get("status") or {}
    phase = (status.get("rollingUpdate") or {}).get("phase")
    was, now = ((graph.other.get("restart") or {}).get("id") for graph in (old, new))
    if phase in _ROLLING and was != now:
        yield Breach(
            rule="restart-rolling",
            path=("spec", "restart", "id"),
            what="spec.restart.id cannot change during a rolling update",
            why=f"status.rollingUpdate.phase is {phase}",
            remedy="ask again when the update is over",
        )


def _changed(path: Path, what: str, why: str = "") -> Breach:
    return Breach(rule="frozen", path=path, what=what, why=why, remedy=_ANEW)
