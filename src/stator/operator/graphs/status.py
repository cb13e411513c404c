"""The status of a graph: is it Ready and why not, and for each component what clients and people look for.

Reasons are API, and these are all: of a graph that is made the ones of `Reason`, of one that cannot be made those of
`stator.operator.components.status.Trouble`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from stator.operator.components.status import Trouble
from stator.operator.conditions import Condition, conditions, find
from stator.operator.graphs.observed import Json, Observed
from stator.operator.plan import Event

Reason = Literal[
    "all_resources_are_ready",
    "some_resources_are_not_ready",
    "rolling_update_in_progress",
    "pods_not_ready",
    "insufficient_capacity",
    "updating",
    "mixed_not_ready_reasons",
]
READY = "Ready"
_OWNERSHIP = "OwnershipConflict"


class Verdict(msgspec.Struct, frozen=True):
    """Whether a graph is Ready, and the reason."""

    ready: bool
    reason: Reason
    message: str = ""


def verdict(waiting: Mapping[str, str], *, reason: Reason = "some_resources_are_not_ready", note: str = "") -> Verdict:
    """Ready if nothing is waited for; `waiting` says why, by component or object. `note` is what a Ready one says."""
    if not waiting:
        return Verdict(ready=True, reason="all_resources_are_ready", message=note)
    message = "; ".join(f"{name}: {why}" for name, why in waiting.items())
    return Verdict(ready=False, reason=reason, message=message)


def status_of(
    observed: Observed,
    found: Verdict,
    troubles: Sequence[Trouble],
    *,
    components: Json,
    rolling_update: Json,
    restart: Json,
    now: datetime,
) -> Json:
    """The whole status of a graph whose objects were planned; what stands in the way makes it `failed`."""
    if troubles:
        condition, state = _failed(troubles), "failed"
    else:
        condition = Condition(type=READY, status=found.ready, reason=found.reason, message=found.message)
        state = "successful" if found.ready else "pending"
    status: Json = {
        "observedGeneration": observed.generation,
        "state": state,
        "conditions": _conditions(observed, condition, troubles, now),
        "components": components,
    }
    status |= {"rollingUpdate": rolling_update} if rolling_update else {}
    return {**status, **({"restart": restart} if restart else {})}


def failed_status(observed: Observed, trouble: Trouble, now: datetime) -> Json:
    """The status of a graph of which nothing could be planned: the rest stays what it was, of the generation it was."""
    found = _conditions(observed, _failed((trouble,)), (trouble,), now)
    return {**observed.status, "state": "failed", "conditions": found}


def events_of(observed: Observed, status: Json) -> tuple[Event, ...]:
    """One event when the graph becomes Ready, meets trouble, or stops being Ready though nobody changed it."""
    old, new = (find(item.get("conditions") or (), READY) for item in (observed.status, status))
    changed = (old.get("status"), old.get("reason")) != (new["status"], new["reason"])
    events = []
    if changed and new["status"] == "True":
        events.append(Event(type="Normal", reason="Ready", message=new["message"] or "all components are Ready"))
    elif changed and status["state"] == "failed":
        events.append(Event(type="Warning", reason=new["reason"], message=new["message"]))
    elif old.get("status") == "True" and new["status"] == "False" and _is_unchanged(observed):
        events.append(Event(type="Warning", reason="NotReady", message=new["message"]))
    return tuple(events)


def _is_unchanged(observed: Observed) -> bool:
    return bool(observed.status.get("observedGeneration") == observed.generation)


def _failed(troubles: Sequence[Trouble]) -> Condition:
    message = "; ".join(dict.fromkeys(trouble.message for trouble in troubles))
    return Condition(type=READY, status=False, reason=troubles[0].reason, message=message)


def _conditions(observed: Observed, ready: Condition, troubles: Sequence[Trouble], now: datetime) -> list[Json]:
    before = observed.status.get("conditions") or ()
    wanted = (ready, *_ownership(before, troubles))
    return conditions(before, wanted, generation=observed.generation, now=now)


def _ownership(before: Sequence[Json], troubles: Sequence[Trouble]) -> tuple[Condition, ...]:
    """The condition that is there from the first conflict on, and says when it is over."""
    conflicts = [trouble.message for trouble in troubles if trouble.reason == _OWNERSHIP]
    if conflicts:
        return (Condition(type=_OWNERSHIP, status=True, reason=_OWNERSHIP, message="; ".join(conflicts)),)
    if find(before, _OWNERSHIP):
        return (Condition(type=_OWNERSHIP, status=False, reason="OwnershipConflictResolved"),)
    return ()
