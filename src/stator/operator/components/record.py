"""What a workload's pod templates were rendered from, as two short digests in one annotation of the workload.

    stator.dev/template: 1-<intent>-<rendering>

`intent` is of what people want of the pods, `rendering` of the templates that this operator made of it. Both are
written in the same request as the templates, so they cannot disagree with them. While the intent is the same, a
difference in rendering comes from the operator alone: a newer build, other options, a new repair. Nobody asked for
that one, so pods that are Ready are not replaced for it (`stator.operator.components.frozen`).

The intent is taken from the object as the API server has it, not from this program's own types, which change with
the program. Replicas and what only Grove reads is not in it; neither are annotations that do not reach pods. A change
of this layout changes the leading number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from stator.model.preserved import ANNOTATIONS, TRANSFER_POLICY
from stator.render.metadata import PROPAGATED

Json = dict[str, Any]

RECORD = "stator.dev/template"
_LAYOUT = "1"
_DIGITS = 12
_NOT_OF_PODS = frozenset({"replicas", "minAvailable", "scalingAdapter", "topologyConstraint", "providerOverride"})
_OF_PODS = (*PROPAGATED, ANNOTATIONS["DynamoComponentDeployment"], TRANSFER_POLICY)


class Record(msgspec.Struct, frozen=True):
    """The two digests; both are `""` where a workload has none, or one of another layout."""

    intent: str = ""
    rendering: str = ""

    def __str__(self) -> str:
        """The annotation's value."""
        return f"{_LAYOUT}-{self.intent}-{self.rendering}"


def record(component: Json, templates: Mapping[str, Json]) -> Record:
    """The record of these pod templates, rendered for a DynamoComponentDeployment."""
    metadata, spec = component["metadata"], component["spec"]
    annotations = metadata.get("annotations") or {}
    intent = {
        "labels": metadata.get("labels") or {},
        "annotations": {key: annotations[key] for key in _OF_PODS if key in annotations},
        "spec": {key: value for key, value in spec.items() if key not in _NOT_OF_PODS},
    }
    return Record(_digest(intent), _digest(dict(templates)))


def recorded(annotation: str) -> Record:
    """The record in an annotation's value."""
    layout, _, rest = annotation.partition("-")
    intent, _, rendering = rest.partition("-")
    return Record(intent, rendering) if layout == _LAYOUT and rendering else Record()


def _digest(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:_DIGITS]
