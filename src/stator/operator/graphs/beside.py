"""The objects of a graph beside its pods: which of them to apply, which are others', and which are of no use any more.

Made once and then left alone: a claim (its size is the cluster's), a scaling adapter (its replicas are the
autoscaler's), the accounts of fixed names that all graphs of a namespace share. The Service of a model is shared as
well: the graph that made it keeps it, and another one makes it anew if that graph goes.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from stator.operator.components.conflicts import is_shared
from stator.operator.components.status import Trouble
from stator.operator.graphs.observed import Json, Observed
from stator.operator.lacking import not_installed, without_class
from stator.operator.options import OperatorOptions
from stator.operator.ownership import owned, refusal
from stator.operator.plan import Deletion
from stator.render import names

ADAPTER = "DynamoGraphDeploymentScalingAdapter"

_MADE_ONCE = frozenset({"PersistentVolumeClaim", ADAPTER})
# A claim is not among them: it may hold what nobody else has.
_REMOVED = frozenset(
    {"ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Service", "Ingress", "VirtualService", "InferencePool"}
    | {"ResourceClaimTemplate"}
)


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """`apply` in apply order, owner references set; `missing` are those that are not there yet, for people."""

    apply: tuple[Json, ...]
    troubles: tuple[Trouble, ...]
    missing: tuple[str, ...]


def beside(observed: Observed, wanted: Iterable[Json], options: OperatorOptions) -> Beside:
    """Sort out the wanted objects."""
    apply: list[Json] = []
    troubles: list[Trouble] = []
    for item in wanted:
        if trouble := not_installed(item, options):
            troubles.append(trouble)
        elif is_account(item):
            apply += [] if observed.child(item["kind"], item["metadata"]["name"]) else [item]
        elif not _is_left_alone(observed, item):
            why = refused(observed, item)
            troubles += [Trouble("OwnershipConflict", why)] if why else []
            apply += [] if why else [owned(item, observed.graph)]
            if unserved := without_class(item, observed.child):
                troubles.append(unserved)
    missing = [
        f"{item['kind']} {item['metadata']['name']} is being made"
        for item in apply
        if observed.child(item["kind"], item["metadata"]["name"]) is None
    ]
    return Beside(apply=tuple(apply), troubles=tuple(troubles), missing=tuple(missing))


def refused(observed: Observed, item: Json) -> str:
    """Why an object may not be applied because it is somebody else's; `""` if it may."""
    return refusal(observed.child(item["kind"], item["metadata"]["name"]), observed.uid)


def is_account(item: Json) -> bool:
    """Whether an object is an account of a fixed name, or its binding: those belong to no single graph."""
    return is_shared(item) and not _is_model_service(item)


def leftovers(observed: Observed, wanted: Iterable[Json], *, ready: bool) -> tuple[Deletion, ...]:
    """What the graph has no use for any more. Pods may use it until the graph is Ready without it; adapters go at once.

    A component of an adapter that is gone would be scaled by it for ever.
    """
    kept = {(item["kind"], item["metadata"]["name"]) for item in wanted}
    return tuple(
        Deletion(kind=child.kind, namespace=child.namespace, name=child.name, uid=child.uid)
        for child in observed.children
        if child.controller == observed.uid
        and not child.deleting
        and (child.kind, child.name) not in kept
        and (child.kind == ADAPTER or (ready and child.kind in _REMOVED))
    )


def _is_left_alone(observed: Observed, item: Json) -> bool:
    """Whether an object that is there stays as it is."""
    child = observed.child(item["kind"], item["metadata"]["name"])
    if child is None:
        return False
    if item["kind"] == "PersistentVolumeClaim":
        return True
    if item["kind"] == ADAPTER:
        return child.controller == observed.uid
    return (
        _is_model_service(item)
        and child.controlled_by.startswith("DynamoGraphDeployment/")
        and child.controller != observed.uid
    )


def _is_model_service(item: Json) -> bool:
    return item["kind"] == "Service" and names.BASE_MODEL in (item["metadata"].get("annotations") or {})
