"""Pods that serve are not replaced because the operator changed.

A workload keeps the pod templates that it has, byte for byte, if they are of the present intent and have brought up
pods. What differs then comes from the operator, and takes effect with the next change that somebody asks for. A
workload whose pods do not come up has nothing to lose, so it gets what is rendered now, new repairs included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stator.operator.components.observed import Child, Observed, put_templates, templates_of
from stator.operator.components.readiness import counts, is_seen
from stator.operator.components.record import RECORD, Record, record, recorded

Json = dict[str, Any]


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The workload to apply; `frozen` if it has the pod templates that run instead of the rendered ones."""

    workload: Json
    frozen: bool = False

    @property
    def templates(self) -> Mapping[str, Json]:
        """Its pod templates by role."""
        return templates_of(self.workload)


def settled(observed: Observed, rendered: Json, live: Child | None) -> Settled:
    """Decide which pod templates a workload gets, and put the record of them on it."""
    now = record(observed.component, templates_of(rendered))
    if live is None or not live.applied or not _keeps(observed, live, now):
        return Settled(workload=_with_record(rendered, now))
    before = recorded(live.record)
    kept = Record(now.intent, before.rendering) if before.rendering else record(observed.component, live.templates)
    return Settled(workload=_with_record(put_templates(rendered, live.templates), kept), frozen=True)


def _keeps(observed: Observed, live: Child, now: Record) -> bool:
    before = recorded(live.record)
    if before.rendering == now.rendering or not _has_brought_up_pods(live):
        return False
    if before.intent:
        return before.intent == now.intent
    # No record that can be read: whoever acted on this very generation of the component knew the intent.
    seen = (observed.component.get("status") or {}).get("observedGeneration")
    return bool(live.templates) and seen == observed.component["metadata"].get("generation")


def _has_brought_up_pods(live: Child) -> bool:
    """Whether pods of the present template have become available.

    While pods of an older template exist, the available ones may be those. A pod or two that are away (a node that
    drains, a scale-up) do not make a working template a broken one.
    """
    now = counts(live)
    if not is_seen(live):
        return False
    up = now.get("availableReplicas", now["readyReplicas"])
    return up > 0 and now["updatedReplicas"] == now["replicas"]


def _with_record(workload: Json, made: Record) -> Json:
    metadata = workload["metadata"]
    annotations = {**(metadata.get("annotations") or {}), RECORD: str(made)}
    return {**workload, "metadata": {**metadata, "annotations": annotations}}
