"""What a component shares with others, and what it has no use for any more."""

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


def is_shared(item: Json) -> bool:
    """Whether other graphs use the same object: an account of a fixed name, the Service of a model."""
    metadata = item["metadata"]
    is_of_model = item["kind"] == "Service" and names.BASE_MODEL in (metadata.get("annotations") or {})
    return is_of_model or (item["kind"], metadata["name"]) in _ACCOUNTS


def leftovers(observed: Observed, wanted: set[tuple[str, str]]) -> tuple[Child, ...]:
    """Children of the component that it has no use for any more, by kind and name."""
    return tuple(child for child in observed.owned if not child.deleting and (child.kind, child.name) not in wanted)
