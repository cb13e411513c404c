"""A restart that the graph asks for: whose turn it is, and how far it is.

One component after another by default, or all at once. It is over when the pods of every component carry the new id
and are Ready. A rollout replaces the workers anyway and takes precedence: a restart that meets one is superseded, and
stays so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stator.model import Graph
from stator.render.restart import RestartProgress, restart_ids

Json = dict[str, Any]


class Carried(msgspec.Struct, frozen=True):
    """The restart id that a component's pods carry, `""` for none, and whether they are Ready with it."""

    id: str
    ready: bool


class Restart(msgspec.Struct, frozen=True, kw_only=True):
    """The id for each component's pods, and `status.restart` (empty if there has never been one).

    `progress` is what rendering needs to put those ids into the pods of a whole graph.
    """

    ids: Mapping[str, str]
    status: Json
    progress: RestartProgress | None


def restart(graph: Graph, carried: Mapping[str, Carried], before: Json, *, rolling: bool) -> Restart:
    """The next step. `carried` is by component, without those that do not exist yet; `before` is the status."""
    previous = {name: found.id for name, found in carried.items() if found.id}
    asked = (graph.other.get("restart") or {}).get("id", "")
    settled = before.get("phase") if before.get("observedID") == asked else ""
    if not asked or settled == "Superseded" or rolling:
        status = {"observedID": asked, "phase": "Superseded"} if asked and settled != "Completed" else before
        return Restart(ids=previous, status=status, progress=RestartProgress(previous=previous))
    if settled == "Completed":
        return Restart(ids=restart_ids(graph), status=before, progress=None)
    names = [component.name for component in graph.components]
    # What is made now is made with the new id, and nobody waits for it.
    fresh = {name: asked for name in names if name not in carried}
    restarted = {name for name, found in carried.items() if found == Carried(asked, ready=True)}
    progress = RestartProgress(restarted=frozenset(restarted | set(fresh)), previous=previous | fresh)
    ids = restart_ids(graph, progress)
    running = [name for name in names if ids.get(name) == asked and name not in restarted]
    status = {"observedID": asked, "phase": "Restarting", "inProgress": running}
    if restarted >= set(names):
        status = {"observedID": asked, "phase": "Completed"}
    return Restart(ids=ids, status=status, progress=progress)
