"""`status.rollingUpdate`: the phase that people and the planner read.

Pending until every component of the new generation is there, InProgress until it alone is there and serves, then
Completed. A change of the wanted generation half way is a new rollout with a start of its own.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from stator.operator.conditions import timestamp
from stator.operator.graphs.rollout.plan import Rollout
from stator.operator.plan import Event

Json = dict[str, Any]

_RUNNING = ("Pending", "InProgress")


def progress(found: Rollout, before: Json, now: datetime) -> Json:
    """The field as it is to be, empty if there has never been a rollout. `before` is what it was."""
    running = before.get("phase") in _RUNNING
    if not found.active and not running:
        return before
    if not found.active and found.complete:
        return {**_started(found, before, now), "phase": "Completed", "endTime": timestamp(now)}
    phase = "InProgress" if found.made else "Pending"
    return {**_started(found, before if running else {}, now), "phase": phase}


def events_of(before: Json, after: Json) -> tuple[Event, ...]:
    """One event when a rollout starts, and one when it is over."""
    generation = after.get("workerHash", "")
    if after.get("phase") in _RUNNING and before.get("startTime") != after.get("startTime"):
        message = f"workers are being replaced by generation {generation}"
        return (Event(type="Normal", reason="RollingUpdateStarted", message=message),)
    if after.get("phase") == "Completed" and before.get("phase") in _RUNNING:
        return (Event(type="Normal", reason="RollingUpdateCompleted", message=f"generation {generation} serves alone"),)
    return ()


def _started(found: Rollout, before: Json, now: datetime) -> Json:
    goes_on = before.get("startTime") and before.get("workerHash", found.generation) == found.generation
    return {
        "workerHash": found.generation,
        "startTime": before["startTime"] if goes_on else timestamp(now),
        "updatedComponents": sorted(found.done),
    }
