"""Two renderings of graphs compared: which pods are replaced, which stay, and why.

Pods are replaced when their pod template changes, or, for workers, when the worker hash does: then all workers of
the graph are replaced together. A difference that repairs alone make replaces nothing: a repair is
for generations that are new or not Ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stator.compat import Finding
from stator.render import RenderedComponent, names
from stator.render.generation import worker_intent
from stator.upgrade.change import Change, ComponentChange, GraphChange, ObjectChange, Side, Verdict
from stator.upgrade.pods import only_repairs, pod_changes
from stator.upgrade.structure import differences


def compare_all(before: Sequence[Side], after: Sequence[Side]) -> tuple[GraphChange, ...]:
    """The graphs of both sides, matched by kind, namespace and name; one that only one side has is new, or gone."""
    old, new = ({side.manifest.graph: side for side in sides} for sides in (before, after))
    return tuple(
        compare(old[ref], new[ref]) if ref in old and ref in new else _one_sided(old.get(ref), new.get(ref))
        for ref in dict.fromkeys((*old, *new))
    )


def compare(before: Side, after: Side) -> GraphChange:
    """What happens to the graph of `before` when it becomes that of `after`."""
    inputs = tuple(differences(_inputs(before), _inputs(after), subject="hash-input"))
    generations = (before.manifest.generation, after.manifest.generation)
    old, new = ({part.name: part for part in side.manifest.components} for side in (before, after))
    return GraphChange(
        graph=after.manifest.graph,
        operators=(str(before.operator), str(after.operator)),
        generations=generations,
        components=tuple(
            _component(before, after, old[name], new[name], inputs)
            if name in old and name in new
            else _one_sided_component(old.get(name), new.get(name))
            for name in dict.fromkeys((*old, *new))
        ),
        inputs=inputs,
        objects=_objects(_shared(before), _shared(after)),
        gone=_missing(before.manifest.findings, after.manifest.findings),
        new=_missing(after.manifest.findings, before.manifest.findings),
    )


def _inputs(side: Side) -> dict[str, Any]:
    intent = worker_intent(side.graph, {part.name: part.version for part in side.manifest.components})
    return {**intent, "workers": intent["workers"]}


def _component(
    before: Side, after: Side, old: RenderedComponent, new: RenderedComponent, inputs: Sequence[Change]
) -> ComponentChange:
    changes = pod_changes(before, after, old, new)
    verdict, why = _verdict(before, after, old, new, changes, inputs)
    return ComponentChange(
        name=new.name,
        type=new.type,
        verdict=verdict,
        why=why,
        versions=(str(old.version.core or "unresolved"), str(new.version.core or "unresolved")),
        changes=changes,
        objects=_objects(_beside(old), _beside(new)),
    )


def _verdict(
    before: Side,
    after: Side,
    old: RenderedComponent,
    new: RenderedComponent,
    changes: tuple[Change, ...],
    inputs: Sequence[Change],
) -> tuple[Verdict, str]:
    generations = before.manifest.generation, after.manifest.generation
    if new.type in names.WORKER_TYPES and generations[0] != generations[1]:
        return "rolls", _generation_words(new.name, inputs)
    if only_repairs(changes):
        return "waits", "only a repair differs: pods that are Ready keep running, new ones get it"
    if old.pods != new.pods or _identity(old.workload) != _identity(new.workload):
        return "rolls", "its pods change" if old.pods != new.pods else "its workload becomes another object"
    if old.replicas != new.replicas:
        return "scales", f"replicas {_number(old.replicas)} -> {_number(new.replicas)}"
    if old.objects != new.objects:
        return "updates", "objects change that do not touch its pods"
    return "same", ""


def _identity(workload: dict[str, Any]) -> tuple[str, str]:
    return workload["kind"], workload["metadata"]["name"]


def _number(replicas: int | None) -> str:
    return "left to an autoscaler" if replicas is None else str(replicas)


def _generation_words(name: str, inputs: Sequence[Change]) -> str:
    """Whose change starts a new generation, for one of its workers."""
    whose = dict.fromkeys(_owner(change.name) for change in inputs)
    if name in whose:
        return "a new generation of workers starts, by its own change"
    others = ", ".join(other or "the graph" for other in whose)
    return f"a new generation of workers starts, by a change of {others or 'the operator'}"


def _owner(path: str) -> str:
    """The worker a hash input belongs to, an empty text for the graph's own."""
    return path.removeprefix("workers[").partition("]")[0] if path.startswith("workers[") else ""


def _one_sided(old: Side | None, new: Side | None) -> GraphChange:
    side = new or old
    assert side is not None  # noqa: S101 - the caller takes names from both sides
    generation, operator = side.manifest.generation, str(side.operator)
    return GraphChange(
        graph=side.manifest.graph,
        operators=("" if old is None else operator, "" if new is None else operator),
        generations=("" if old is None else generation, "" if new is None else generation),
        components=tuple(
            _one_sided_component(part if new is None else None, part if new is not None else None)
            for part in side.manifest.components
        ),
        objects=_objects(_shared(side) if old else (), _shared(side) if new else ()),
        gone=old.manifest.findings if old else (),
        new=new.manifest.findings if new else (),
    )


def _one_sided_component(old: RenderedComponent | None, new: RenderedComponent | None) -> ComponentChange:
    part = new or old
    assert part is not None  # noqa: S101 - the caller takes names from both sides
    version = str(part.version.core or "unresolved")
    return ComponentChange(
        name=part.name,
        type=part.type,
        verdict="added" if new else "removed",
        versions=("", version) if new else (version, ""),
        objects=_objects(_beside(old) if old else (), _beside(new) if new else ()),
    )


def _beside(part: RenderedComponent) -> tuple[dict[str, Any], ...]:
    return tuple(item for item in part.objects if item is not part.workload)


def _shared(side: Side) -> tuple[dict[str, Any], ...]:
    """The objects that belong to no component."""
    own = {id(item) for part in side.manifest.components for item in part.objects}
    return tuple(item for item in side.manifest.objects if id(item) not in own)


def _objects(before: Iterable[dict[str, Any]], after: Iterable[dict[str, Any]]) -> tuple[ObjectChange, ...]:
    old, new = ({_ref(item): item for item in items} for items in (before, after))
    return tuple(
        ObjectChange(ref, "added" if ref not in old else "removed" if ref not in new else "changed")
        for ref in dict.fromkeys((*old, *new))
        if old.get(ref) != new.get(ref)
    )


def _ref(item: dict[str, Any]) -> str:
    return f"{item['kind']}/{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"


def _missing(findings: Iterable[Finding], others: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings that have no counterpart among the others: same rule, component and weight."""
    known = {(other.rule, other.component, other.severity) for other in others}
    return tuple(item for item in findings if (item.rule, item.component, item.severity) not in known)
