"""Annotations that steer the operator, and the restart that a graph asks for."""

from __future__ import annotations

from collections.abc import Iterator

from stator.admission.subject import Breach, Subject
from stator.model import Path
from stator.render import names
from stator.versions import resolve

RECORDED = "nvidia.com/workload-provider"
_EXECUTORS = ("mp", "ray")
_MODES = ("pod", "container")
_ORDER: Path = ("spec", "restart", "strategy", "order")


def steering(subject: Subject) -> Iterator[Breach]:
    """Values of annotations that are read. Unknown annotations are nobody's business.

    The record of who runs the pods, and the update strategy on Grove, are rendering's to refuse.
    """
    given = subject.graph.annotations
    if names.ORIGIN_VERSION in given and resolve(None, f"operator:{given[names.ORIGIN_VERSION]}").core is None:
        yield _value(names.ORIGIN_VERSION, given[names.ORIGIN_VERSION], "a release such as 1.6.1")
    if given.get(names.VLLM_EXECUTOR, _EXECUTORS[0]).lower() not in _EXECUTORS:
        yield _value(names.VLLM_EXECUTOR, given[names.VLLM_EXECUTOR], " or ".join(_EXECUTORS))
    if given.get(names.DISCOVERY_MODE, _MODES[0]) not in _MODES:
        yield _value(names.DISCOVERY_MODE, given[names.DISCOVERY_MODE], " or ".join(_MODES))
    if RECORDED in given and subject.occasion == "create" and subject.by_operator is False:
        yield not_yours()
    for component in subject.graph.components:
        executor = component.alpha.annotations.get(names.VLLM_EXECUTOR)
        if executor is not None and executor.lower() not in _EXECUTORS:
            yield Breach(
                rule="annotation",
                path=(*component.path, "annotations", names.VLLM_EXECUTOR),
                what=f'component {component.name}: annotation {names.VLLM_EXECUTOR} is "{executor}"',
                remedy=f"use {' or '.join(_EXECUTORS)}",
            )


def _value(name: str, given: str, allowed: str) -> Breach:
    path = ("metadata", "annotations", name)
    return Breach(rule="annotation", path=path, what=f'annotation {name} is "{given}"', remedy=f"use {allowed}")


def not_yours() -> Breach:
    """A person wrote what only the operator writes."""
    return Breach(
        rule="workload-provider",
        path=("metadata", "annotations", RECORDED),
        what=f"annotation {RECORDED} is written by the operator only",
        why="another provider would run the same pods twice",
        remedy="leave it as it is; for another provider make the graph anew",
    )


def restart(subject: Subject) -> Iterator[Breach]:
    """A restart names every component once; a new graph has nothing to restart."""
    graph = subject.graph
    asked = graph.other.get("restart")
    if asked is None:
        return
    if subject.occasion == "create":
        yield Breach(
            rule="restart-create",
            path=("spec", "restart"),
            what="spec.restart cannot be set on a new graph",
            why="there is nothing to restart yet",
            remedy="leave it out, and set it when the graph runs",
        )
    order = (asked.get("strategy") or {}).get("order")
    parts = [component.name for component in graph.components]
    if not order or set(order) == set(parts):
        return
    for index, name in enumerate(order):
        if name not in parts:
            yield Breach(
                rule="restart-order",
                path=(*_ORDER, index),
                what=f'spec.restart.strategy.order: "{name}" is no component',
                remedy=f"name {', '.join(parts)}",
            )
    if missing := [name for name in parts if name not in order]:
        yield Breach(
            rule="restart-order",
            path=_ORDER,
            what=f"spec.restart.strategy.order leaves out {', '.join(missing)}",
            remedy="name every component once, or leave order out",
        )
