"""Which parts of a graph change when: pure planning of an upgrade, and of the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from stator.errors import InvalidInputError, Problem
from stator.model import Graph
from stator.versions import Version, resolve, with_versions

Order = Literal["worker-first", "frontend-first"]
Group = Literal["worker", "frontend"]

_FRONTEND = "frontend"


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A group of components that changes in one step.

    All workers move together, because prefill and decode must be of one release; the frontends are a group of their
    own. `before` and `after` are the whole graph at both ends.
    """

    group: Group
    components: tuple[str, ...]
    old: str
    new: str
    before: Graph
    after: Graph

    @property
    def title(self) -> str:
        """`worker 1.5.1 -> 1.6.1`."""
        return f"{self.group} {self.old} -> {self.new}"


def plan_moves(graph: Graph, settings: Mapping[str, Version], order: Order, *, back: bool) -> tuple[Move, ...]:
    """The moves from the graph as it is to the settings, and with `back` the same ones undone in reverse.

    A key of `settings` is a component's name or type. Raises InvalidInputError if a key fits nothing or nothing
    would change.
    """
    target = with_versions(graph, settings)
    groups: tuple[Group, ...] = ("worker", "frontend") if order == "worker-first" else ("frontend", "worker")
    moves: list[Move] = []
    now = graph
    for group in groups:
        following = _with_group(now, target, group)
        if changed := _changed(now, following):
            moves.append(_move(group, changed, now, following))
            now = following
    if not moves:
        raise InvalidInputError(
            Problem(
                what=f"{graph.ref} would not change",
                position=graph.locate("spec"),
                why="every component is at the release it is set to",
                remedy="give --set COMPONENT=VERSION with another release",
            )
        )
    undone = [_move(move.group, move.components, move.after, move.before) for move in reversed(moves)]
    return (*moves, *(undone if back else []))


def _with_group(now: Graph, target: Graph, group: Group) -> Graph:
    wanted = {part.name: part for part in target.components if (part.type == _FRONTEND) == (group == "frontend")}
    parts = tuple(wanted.get(part.name, part) for part in now.components)
    return msgspec.structs.replace(now, components=parts)


def _changed(before: Graph, after: Graph) -> tuple[str, ...]:
    pairs = zip(before.components, after.components, strict=True)
    return tuple(one.name for one, other in pairs if one != other)


def _move(group: Group, components: tuple[str, ...], before: Graph, after: Graph) -> Move:
    return Move(
        group=group,
        components=components,
        old=_releases(before, components),
        new=_releases(after, components),
        before=before,
        after=after,
    )


def _releases(graph: Graph, components: tuple[str, ...]) -> str:
    parts = [part for part in graph.components if part.name in components]
    versions = [
        resolve(part.runtime_version_override, (part.beside or part.main).get("image") or "").core for part in parts
    ]
    return "/".join(dict.fromkeys(str(version or "unresolved") for version in versions))
