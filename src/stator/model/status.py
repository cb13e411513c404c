"""The status of graphs and components in both API versions: the same reports under two sets of names.

v1alpha1 alone has `componentName` (the first of `componentNames`, unless somebody wrote otherwise) and `podSelector`;
what of them cannot be said in v1beta1 is kept in an annotation, like the spec's (`stator.model.preserved`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.model.preserved import STATUS_ANNOTATIONS, mapping, merge_patch, preserved, restored, with_preserved

Json = dict[str, Any]

_ALPHA_ONLY = ("podSelector",)


def to_beta(value: Mapping[str, Any]) -> Json:
    """The document with its v1alpha1 status said in v1beta1."""
    if "status" not in value:
        return dict(value)
    said = _up(value["kind"], value["status"])
    kept = merge_patch(_down(value["kind"], said), value["status"])
    return with_preserved({**value, "status": said}, kept, STATUS_ANNOTATIONS)


def to_alpha(value: Mapping[str, Any]) -> Json:
    """The document with its v1beta1 status said in v1alpha1."""
    if "status" not in value:
        return dict(value)
    kind, said = value["kind"], _down(value["kind"], value["status"])
    patch = preserved(value, STATUS_ANNOTATIONS)
    status = restored(said, patch, lambda each: _up(kind, each) == value["status"], only=_ALPHA_ONLY)
    return with_preserved({**value, "status": status}, {}, STATUS_ANNOTATIONS)


def _up(kind: str, status: Mapping[str, Any]) -> Json:
    result = {key: item for key, item in status.items() if key not in _ALPHA_ONLY}
    if kind == "DynamoComponentDeployment":
        return _renamed(result, "service", "component", _replicas_up)
    result = _renamed(result, "services", "components", lambda parts: _each(parts, _replicas_up))
    return _in_rollout(result, "updatedServices", "updatedComponents")


def _down(kind: str, status: Mapping[str, Any]) -> Json:
    if kind == "DynamoComponentDeployment":
        return _renamed(status, "component", "service", _replicas_down)
    result = _renamed(status, "components", "services", lambda parts: _each(parts, _replicas_down))
    return _in_rollout(result, "updatedComponents", "updatedServices")


def _replicas_up(status: Mapping[str, Any]) -> Json:
    return {key: item for key, item in status.items() if key != "componentName"}


def _replicas_down(status: Mapping[str, Any]) -> Json:
    names = status.get("componentNames")
    return {**status, "componentName": names[0]} if names else dict(status)


def _each(parts: Mapping[str, Any], convert: Any) -> Json:
    return {name: convert(mapping(part)) for name, part in parts.items()}


def _in_rollout(status: Mapping[str, Any], old: str, new: str) -> Json:
    return _renamed(
        status, "rollingUpdate", "rollingUpdate", lambda rollout: _renamed(rollout, old, new, lambda it: it)
    )


def _renamed(value: Mapping[str, Any], old: str, new: str, convert: Any) -> Json:
    """The mapping with one field under another name, and converted."""
    return {new if key == old else key: convert(item) if key == old else item for key, item in value.items()}
