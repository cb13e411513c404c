"""Conditions: one per type, and a time that moves only with the status (Kubernetes API conventions, "Conditions")."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

Json = dict[str, Any]

# The API server refuses longer ones (metav1.Condition).
_MESSAGE_LIMIT = 32768


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be said, without the time: `status` is True or False, an unknown is False with its reason."""

    type: str
    status: bool
    reason: str
    message: str = ""


def conditions(before: Sequence[Json], wanted: Sequence[Condition], *, generation: int, now: datetime) -> list[Json]:
    """The list to write: the wanted conditions in their order; others that were there before are gone.

    `now` is taken where a condition's status is not what it was.
    """
    known = {item.get("type"): item for item in before}
    return [_condition(known.get(item.type, {}), item, generation, now) for item in wanted]


def timestamp(moment: datetime) -> str:
    """The moment as the API writes times (RFC 3339, seconds, UTC)."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def find(found: Sequence[Json], kind: str) -> Json:
    """The condition of a type, empty if there is none."""
    return next((item for item in found if item.get("type") == kind), {})


def _condition(before: Json, wanted: Condition, generation: int, now: datetime) -> Json:
    status = "True" if wanted.status else "False"
    same = before.get("status") == status and before.get("lastTransitionTime")
    return {
        "type": wanted.type,
        "status": status,
        "reason": wanted.reason,
        "message": wanted.message[:_MESSAGE_LIMIT],
        "observedGeneration": generation,
        "lastTransitionTime": before["lastTransitionTime"] if same else timestamp(now),
    }
