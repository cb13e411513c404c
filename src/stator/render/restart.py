"""Whose turn it is in a restart: a new `restart.id` on a component's pods replaces them and changes nothing else.

In sequence one component follows another when the pods of the one before are ready again; what has not had its turn
keeps the id of the restart before. Without progress, as in a file, the result is rendered that it all comes to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stator.model import Graph


class RestartProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What has been seen of a graph's restart.

    `restarted` are the components whose pods all carry the new id and are ready; `previous` are the ids that the pods
    of each component carried before, without those that carried none.
    """

    restarted: frozenset[str] = frozenset()
    previous: Mapping[str, str] = {}


def is_sequential(graph: Graph) -> bool:
    """Whether components restart one after another, as they do unless the graph says `Parallel`."""
    return bool(graph.other.get("restart")) and _strategy(graph).get("type") != "Parallel"


def restart_order(graph: Graph) -> tuple[str, ...]:
    """The components in the order of a sequential restart: as declared, else by name."""
    return tuple(_strategy(graph).get("order") or sorted(component.name for component in graph.components))


def restart_ids(graph: Graph, progress: RestartProgress | None = None) -> dict[str, str]:
    """The restart id that each component's pods carry, by component; a component without one is absent."""
    restart = graph.other.get("restart")
    if not restart:
        return dict(progress.previous) if progress else {}
    asked = {component.name: restart["id"] for component in graph.components}
    if progress is None or not is_sequential(graph):
        return asked
    ids = dict(progress.previous)
    for name in restart_order(graph):
        ids[name] = asked.get(name, restart["id"])
        if name not in progress.restarted:
            break
    return ids


def _strategy(graph: Graph) -> Mapping[str, Any]:
    return (graph.other.get("restart") or {}).get("strategy") or {}
