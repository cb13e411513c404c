"""Who an object belongs to: ours to apply, free to take, or somebody else's."""

from __future__ import annotations

from typing import Any

from stator.operator.components.observed import Child, Observed
from stator.render import names

Json = dict[str, Any]

# Fixed names that every graph of a namespace shares: they belong to none of them, and outlive each.
_ACCOUNTS = {
    ("ServiceAccount", names.PLANNER_ACCOUNT),
    ("RoleBinding", f"{names.PLANNER_ACCOUNT}-binding"),
    ("ServiceAccount", names.PICKER_ACCOUNT),
    ("RoleBinding", f"{names.PICKER_ACCOUNT}-binding"),
}


def owner_reference(component: Json) -> Json:
    """The reference that makes a component the controller of an object."""
    metadata = component["metadata"]
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoComponentDeployment",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_shared(item: Json) -> bool:
    """Whether other graphs use the same object: an account of a fixed name, the Service of a model."""
    metadata = item["metadata"]
    return (item["kind"], metadata["name"]) in _ACCOUNTS or names.BASE_MODEL in (metadata.get("annotations") or {})


def owned(item: Json, component: Json) -> Json:
    """The object with the component as its controller."""
    return {**item, "metadata": {**item["metadata"], "ownerReferences": [owner_reference(component)]}}


def refusal(observed: Observed, item: Json) -> str:
    """Why an object may not be applied: it exists and is somebody else's. `""` if it may.

    Without a controller it is taken if this operator applied it before (it was orphaned), else it is a person's.
    """
    name = item["metadata"]["name"]
    child = observed.child(item["kind"], name)
    if child is None or child.controller == observed.uid:
        return ""
    if child.controller:
        return f"{item['kind']} {name} is controlled by {child.controlled_by}"
    return "" if child.applied else f"{item['kind']} {name} exists and was not made by this operator"


def leftovers(observed: Observed, wanted: set[tuple[str, str]]) -> tuple[Child, ...]:
    """Children of the component that it has no use for any more, by kind and name."""
    return tuple(child for child in observed.owned if not child.deleting and (child.kind, child.name) not in wanted)
