"""The steps of an upgrade, in an order in which every part understands every other at every moment.

The operator moves first, one minor line at a time, and last on the way down: a runtime must not be newer than its
operator. Of a graph, frontends move before workers, or after them where only that keeps every pair in the window.
All workers of a graph are one step: a change to one starts a new generation of all, and prefill and decode must be
the same version. While a step runs, old and new pods serve together, so every new pair with what was there is
checked (but not workers with workers: generations are isolated from each other).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from stator.compat import Finding
from stator.model import Graph
from stator.render import RenderOptions, names, render_graph
from stator.upgrade.change import GraphChange, Side
from stator.upgrade.compare import compare
from stator.upgrade.plan_rules import brought
from stator.versions import (
    ResolvedVersion,
    Skew,
    Version,
    frontend_worker,
    operator_runtime,
    platform_upgrade,
    prefill_decode,
    with_versions_where_named,
)

State = Literal["ok", "caution", "unknown", "stop"]
Kind = Literal["operator", "frontends", "workers", "others"]

_ORDER: tuple[State, ...] = ("ok", "caution", "unknown", "stop")
_STATES: Mapping[str, State] = {"inside": "ok", "forward": "caution", "unknown": "unknown", "outside": "stop"}
_SEVERITIES: Mapping[str, State] = {"info": "ok", "warning": "caution", "error": "stop"}
_FRONTENDS = frozenset({"frontend", "epp"})


class Check(msgspec.Struct, frozen=True):
    """One thing that was checked: a window (`frontend-worker`) or a rule (`DYN101`), and its answer in words.

    A rule says what to do, and an `ok` one is worth knowing.
    """

    name: str
    state: State
    words: str
    remedy: str = ""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One change to make, and what it does. `moves` are what goes where; `reached` is off behind a stop."""

    kind: Kind
    graph: str
    moves: tuple[str, ...]
    checks: tuple[Check, ...]
    changes: tuple[GraphChange, ...]
    reached: bool = True

    @property
    def state(self) -> State:
        """The worst of the checks."""
        return max((check.state for check in self.checks), key=_ORDER.index, default="ok")


class Plan(msgspec.Struct, frozen=True):
    """The steps in order."""

    steps: tuple[Step, ...]

    @property
    def state(self) -> State:
        """The worst of the steps."""
        return max((step.state for step in self.steps), key=_ORDER.index, default="ok")


def plan(graphs: Sequence[Graph], settings: Mapping[str, Version], before: RenderOptions, after: RenderOptions) -> Plan:
    """The way from the graphs under operator `before` to those with `settings` under operator `after`.

    Raises InvalidInputError for a setting that fits no component, and for graphs that cannot be rendered.
    """
    targets = with_versions_where_named(graphs, settings)
    steps: list[Step] = []
    upwards = after.operator >= before.operator
    if upwards:
        steps += _operator_steps(graphs, before, after)
    running = after if upwards else before
    for graph, target in zip(graphs, targets, strict=True):
        steps += _graph_steps(graph, target, running)
    if not upwards:
        steps += _operator_steps(targets, before, after)
    return Plan(tuple(_behind_stops(steps)))


def _behind_stops(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, those behind a stop marked: what a graph's or the operator's stop holds up is everything after it."""
    reached = True
    for step in steps:
        yield msgspec.structs.replace(step, reached=reached)
        reached = reached and step.state != "stop"


def _operator_steps(graphs: Sequence[Graph], before: RenderOptions, after: RenderOptions) -> Iterator[Step]:
    current = before
    for version in _way(before.operator, after.operator):
        target = msgspec.structs.replace(after, operator=version)
        sides = [(_side(graph, current), _side(graph, target)) for graph in graphs]
        checks = [_window("platform", platform_upgrade(current.operator, version))]
        checks += [
            _served(part.name, part.version, current.operator, version)
            for _, new in sides
            for part in new.manifest.components
        ]
        changes = tuple(compare(*pair) for pair in sides)
        yield Step(
            kind="operator",
            graph="",
            moves=(f"operator {current.operator} -> {version}",),
            checks=(*checks, *_rules(finding for change in changes for finding in change.new)),
            changes=changes,
        )
        current = target


def _served(name: str, runtime: ResolvedVersion, current: Version, operator: Version) -> Check:
    """Whether a new operator serves a runtime; one that the current does not serve either is no reason to stay."""
    check = _window("operator-runtime", operator_runtime(operator, runtime.core), name)
    if check.state == "stop" and operator_runtime(current, runtime.core).state == "outside":
        return Check(check.name, "caution", f"{check.words} (as it is now)")
    return check


def _way(current: Version, target: Version) -> Iterator[Version]:
    """Every release to stop at: the first of each minor line between, then the target itself."""
    if current == target:
        return
    if current.major == target.major:
        step = 1 if target > current else -1
        for minor in range(current.minor + step, target.minor, step):
            yield Version(current.major, minor, 0)
    yield target


def _graph_steps(graph: Graph, target: Graph, options: RenderOptions) -> list[Step]:
    """A graph's steps in the first of the two orders that has no stop, else in the usual one."""
    orders: tuple[tuple[Kind, ...], ...] = (("frontends", "workers", "others"), ("workers", "frontends", "others"))
    candidates = [_in_order(graph, target, options, order) for order in orders]
    return next((steps for steps in candidates if all(step.state != "stop" for step in steps)), candidates[0])


def _in_order(graph: Graph, target: Graph, options: RenderOptions, order: Sequence[Kind]) -> list[Step]:
    steps = []
    current = _side(graph, options)
    wanted = {part.name: part for part in target.components}
    for kind in order:
        parts = tuple(wanted[part.name] if _kind(part.type) == kind else part for part in current.graph.components)
        if parts == current.graph.components:
            continue
        new = _side(msgspec.structs.replace(current.graph, components=parts), options)
        steps.append(_step(kind, current, new))
        current = new
    return steps


def _kind(component_type: str) -> Kind:
    if component_type in names.WORKER_TYPES:
        return "workers"
    return "frontends" if component_type in _FRONTENDS else "others"


def _step(kind: Kind, before: Side, after: Side) -> Step:
    change = compare(before, after)
    old, new = _versions(before), _versions(after)
    moved = [name for name in new if old[name] != new[name]]
    types = {part.name: part.type for part in after.manifest.components}
    checks = [
        _window("operator-runtime", operator_runtime(after.operator, new[name].core), f"{name} {new[name].core}")
        for name in moved
    ]
    frontends = [name for name in new if types[name] == "frontend"]
    workers = [name for name in new if types[name] in names.WORKER_TYPES]
    checks += [
        _window("frontend-worker", frontend_worker(one.core, two.core), f"{frontend} with {worker}")
        for frontend in frontends
        for worker in workers
        for one in dict.fromkeys((old[frontend], new[frontend]))
        for two in dict.fromkeys((old[worker], new[worker]))
        if (one, two) != (old[frontend], old[worker])
    ]
    checks += [
        _window("prefill-decode", prefill_decode(new[prefill].core, new[decode].core), f"{prefill} with {decode}")
        for prefill in workers
        for decode in workers
        if (types[prefill], types[decode]) == ("prefill", "decode") and (prefill in moved or decode in moved)
    ]
    return Step(
        kind=kind,
        graph=after.manifest.graph,
        moves=tuple(f"{name} {_text(old[name])} -> {_text(new[name])}" for name in moved),
        checks=(*dict.fromkeys(checks), *_rules(change.new), *_rules(brought(before, after))),
        changes=(change,),
    )


def _text(version: ResolvedVersion) -> str:
    return str(version.core or "unresolved")


def _versions(side: Side) -> dict[str, ResolvedVersion]:
    return {part.name: part.version for part in side.manifest.components}


def _window(name: str, skew: Skew, subject: str = "") -> Check:
    return Check(name, _STATES[skew.state], f"{subject}: {skew.words}" if subject else skew.words)


def _rules(findings: Iterable[Finding]) -> Iterator[Check]:
    """The findings that a step brings."""
    for finding in findings:
        words = f"{finding.component}: {finding.message}" if finding.component else finding.message
        yield Check(finding.rule, _SEVERITIES[finding.severity], words, finding.remedy)


def _side(graph: Graph, options: RenderOptions) -> Side:
    return Side(graph, render_graph(graph, options), options.operator)
