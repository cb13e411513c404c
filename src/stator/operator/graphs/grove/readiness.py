"""When a component on Grove is Ready, and which of the reasons that are API it has otherwise.

Counts are believed of the newest generation only, and only once Grove has brought the clique up to the set's present
template: before that the pods that are Ready may be those of the template before.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from stator.operator.conditions import find
from stator.operator.graphs.grove.cliques import CLIQUE, Part
from stator.operator.graphs.observed import CliqueSet, Json

Reason = Literal["insufficient_capacity", "updating", "pods_not_ready", "some_resources_are_not_ready"]

_SCHEDULED = ("PodCliqueScheduled", "PodCliqueScalingGroupScheduled")


class Unready(msgspec.Struct, frozen=True):
    """Why a component is not Ready."""

    reason: Reason
    message: str


def unready(part: Part, clique_set: CliqueSet | None) -> Unready | None:
    """None if it is Ready."""
    live = part.live
    if clique_set is None or live is None:
        return Unready("some_resources_are_not_ready", f"{part.kind} {part.name} is being made")
    if not _is_seen(live) or not _is_seen(clique_set.live):
        return Unready("some_resources_are_not_ready", f"Grove has not seen the newest {part.kind} {part.name} yet")
    if (live.get("spec") or {}).get("replicas") != part.desired:
        return Unready("updating", f"is being scaled to {part.desired}")
    if part.desired and _is_behind(part.status, clique_set.live.get("status") or {}):
        return Unready("updating", "its pods are being replaced")
    return _unready_pods(part) if part.desired else None


def _unready_pods(part: Part) -> Unready | None:
    now, wanted = part.counts(), part.desired
    serving = now["readyReplicas" if part.kind == CLIQUE else "availableReplicas"]
    if now["replicas"] == now["updatedReplicas"] == serving == wanted:
        return None
    if why := _lacks_room(part, now["scheduledReplicas"]):
        return Unready("insufficient_capacity", why)
    if now["replicas"] != wanted or now["updatedReplicas"] != wanted:
        return Unready("updating", f"{now['updatedReplicas']} of {wanted} replicas are updated")
    return Unready("pods_not_ready", f"{serving} of {wanted} replicas are ready")


def _is_seen(item: Json) -> bool:
    seen = (item.get("status") or {}).get("observedGeneration")
    return seen is not None and int(seen) >= int(item["metadata"].get("generation", 0))


def _is_behind(status: Json, of_set: Json) -> bool:
    """Whether Grove is replacing pods of it, or has yet to: each says which revision of the set it is at."""
    at, wanted = status.get("currentPodCliqueSetGenerationHash"), of_set.get("currentGenerationHash")
    if at and wanted and at != wanted:
        return True
    update = status.get("updateProgress") or status.get("rollingUpdateProgress")
    return bool(update) and not (update or {}).get("updateEndedAt")


def _lacks_room(part: Part, scheduled: int) -> str:
    gated = part.count("scheduleGatedReplicas")
    if gated:
        return f"{gated} pods wait until their gang can be placed"
    for kind in _SCHEDULED:
        condition = find(part.status.get("conditions") or (), kind)
        if condition.get("status") == "False":
            return str(condition.get("message") or "its pods cannot be placed")
    if 0 < scheduled < part.desired:
        return f"{scheduled} of {part.desired} replicas are placed"
    return ""
