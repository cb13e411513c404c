"""Who an object belongs to: the owner reference that makes it ours, and why somebody else's is left alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.operator.components.observed import Child

Json = dict[str, Any]


def owner_reference(owner: Mapping[str, Any]) -> Json:
    """The reference that makes an object the controller of another, which then goes with it."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owned(item: Json, owner: Mapping[str, Any]) -> Json:
    """The object with its controller."""
    return {**item, "metadata": {**item["metadata"], "ownerReferences": [owner_reference(owner)]}}


def controller_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The controller's owner reference, empty if the object has none."""
    references = item["metadata"].get("ownerReferences") or ()
    return next((found for found in references if found.get("controller")), {})


def refusal(child: Child | None, uid: str) -> str:
    """Why the owner `uid` may not apply an object that exists: it is somebody else's. `""` if it may.

    Without a controller it is taken if this operator applied it before (it was orphaned), else it is a person's.
    """
    if child is None or child.controller == uid:
        return ""
    if child.controller:
        return f"{child.kind} {child.name} is controlled by {child.controlled_by}"
    if child.applied:
        return ""
    by = f", but by {child.made_by}" if child.made_by else ""
    return f"{child.kind} {child.name} exists and was not made by this operator{by}"
