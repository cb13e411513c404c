"""The status of a component: what its conditions say, and the counts and names that its graph and clients read.

Reasons are API. `Available` has the workload's (`DeploymentReady`, `DeploymentNotReady`, `LeaderWorkerSetReady`,
`LeaderWorkerSetNotReady`, `Reconciling`), `DynamoComponentReady` has `ComponentReady` and `ComponentNotReady`. What
keeps the component as specified from being in force is the reason of both: a `Trouble`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from stator.operator.components.observed import Child, Observed
from stator.operator.components.readiness import Readiness, counts
from stator.operator.conditions import Condition, conditions, find
from stator.operator.plan import Event

Json = dict[str, Any]

TroubleReason = Literal[
    "InvalidSpec",
    "NotInstalled",
    "OwnershipConflict",
    "AmbiguousProvider",
    "FieldConflict",
    "Refused",
    "Forbidden",
    "NamespaceTerminating",
]
_OWNERSHIP = "OwnershipConflict"
_AVAILABLE, _READY = "Available", "DynamoComponentReady"


class Trouble(msgspec.Struct, frozen=True):
    """Why the component cannot be as specified until somebody does something."""

    reason: TroubleReason
    message: str


def status_of(
    observed: Observed,
    *,
    workload: Json | None,
    readiness: Readiness,
    waiting: str,
    fields: Json,
    troubles: tuple[Trouble, ...],
    note: str,
    now: datetime,
) -> Json:
    """The whole status of a component whose objects were planned.

    `workload` is the one that is wanted and `readiness` of the one that is there; `waiting` says what is still to be
    made; `fields` are the component's other fields; `note` is added to what a Ready component says.
    """
    kind = workload["kind"] if workload else "Deployment"
    live = observed.child(kind, workload["metadata"]["name"]) if workload else None
    if troubles:
        available = _of_troubles(_AVAILABLE, troubles)
        ready = _of_troubles(_READY, troubles)
    elif waiting:
        available = Condition(type=_AVAILABLE, status=False, reason="Reconciling", message=waiting)
        ready = Condition(type=_READY, status=False, reason="ComponentNotReady", message=waiting)
    else:
        suffix = "Ready" if readiness.ready else "NotReady"
        message = readiness.why or note
        available = Condition(type=_AVAILABLE, status=readiness.ready, reason=f"{kind}{suffix}", message=message)
        ready = Condition(type=_READY, status=readiness.ready, reason=f"Component{suffix}", message=message)
    component = {
        "componentKind": kind,
        "componentNames": [workload["metadata"]["name"]] if workload else [],
        **_counts(live),
        **fields,
    }
    return _status(observed, (available, ready, *_ownership(observed, troubles)), component, now)


def failed_status(observed: Observed, trouble: Trouble, now: datetime) -> Json:
    """The status of a component of which nothing could be planned or applied: its numbers stay what they were."""
    before = (observed.component.get("status") or {}).get("component")
    wanted = (_of_troubles(_AVAILABLE, (trouble,)), _of_troubles(_READY, (trouble,)))
    return _status(observed, (*wanted, *_ownership(observed, (trouble,))), before, now)


def events_of(observed: Observed, status: Json) -> tuple[Event, ...]:
    """One event for each change that this status is."""
    before = observed.component.get("status") or {}
    events = []
    old, new = (find(item.get("conditions") or (), _READY) for item in (before, status))
    changed = (old.get("status"), old.get("reason")) != (new.get("status"), new.get("reason"))
    if changed and new["status"] == "True":
        events.append(Event(type="Normal", reason=new["reason"], message=new["message"] or "the component is Ready"))
    elif changed and new["reason"] != "ComponentNotReady":
        events.append(Event(type="Warning", reason=new["reason"], message=new["message"]))
    known, repairs = ((item.get("component") or {}).get("repairs") or () for item in (before, status))
    if fresh := [rule for rule in repairs if rule not in known]:
        text = f"a repair is in the pods: {', '.join(fresh)} (stator explain {fresh[0]})"
        events.append(Event(type="Normal", reason="Repaired", message=text))
    return tuple(events)


def _of_troubles(kind: str, troubles: tuple[Trouble, ...]) -> Condition:
    message = "; ".join(dict.fromkeys(trouble.message for trouble in troubles))
    return Condition(type=kind, status=False, reason=troubles[0].reason, message=message)


def _ownership(observed: Observed, troubles: tuple[Trouble, ...]) -> tuple[Condition, ...]:
    """The condition that is there from the first conflict on, and says when it is over."""
    conflicts = tuple(trouble for trouble in troubles if trouble.reason == _OWNERSHIP)
    if conflicts:
        message = "; ".join(trouble.message for trouble in conflicts)
        return (Condition(type=_OWNERSHIP, status=True, reason=_OWNERSHIP, message=message),)
    if find((observed.component.get("status") or {}).get("conditions") or (), _OWNERSHIP):
        return (Condition(type=_OWNERSHIP, status=False, reason="OwnershipConflictResolved"),)
    return ()


def _counts(live: Child | None) -> dict[str, int]:
    return counts(live) if live else {"replicas": 0, "updatedReplicas": 0}


def _status(observed: Observed, wanted: tuple[Condition, ...], component: Json | None, now: datetime) -> Json:
    before = observed.component.get("status") or {}
    generation = observed.component["metadata"].get("generation", 0)
    status: Json = {
        "observedGeneration": generation,
        "conditions": conditions(before.get("conditions") or (), wanted, generation=generation, now=now),
    }
    return {**status, "component": component} if component else status
