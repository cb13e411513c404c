"""What a reconciler wants done, as a value: one driver carries it out for every kind.

A reconciler is a pure function of what it observed. So an operator that is killed half way has carried out a prefix
of a plan, and the next one observes, plans again and ends in the same state.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from stator.render import Manifest, RenderOptions
from stator.render.objects.mpi_keys import wants_mpi_keys

Json = dict[str, Any]


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """One object to delete, if it is still the one that was observed (`uid` is a precondition)."""

    kind: str
    namespace: str
    name: str
    uid: str
    propagation: Literal["Background", "Foreground", "Orphan"] = "Background"


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON patch (RFC 6902) of a field that is somebody else's, on their behalf; `test` operations guard it."""

    kind: str
    namespace: str
    name: str
    operations: tuple[Json, ...]


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """A Secret with a pair of SSH keys that has to be there; one that is there is left alone, whoever made it."""

    namespace: str
    name: str


def keys_of(namespace: str, manifest: Manifest, options: RenderOptions) -> tuple[Keys, ...]:
    """The keys that the pods of a manifest mount: those of TensorRT-LLM engines that span nodes."""
    return (Keys(namespace=namespace, name=options.mpi_secret),) if wants_mpi_keys(manifest) else ()


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event about the reconciled object; `reason` is API, `message` is for people."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one pass wants.

    `records` is what the reconciled object itself is to say of what is made: applied before all else, and if it is
    refused nothing else is done. `apply` are the desired objects in apply order, owner references set: server-side
    apply by one field manager, never forced. `keys` have to be there before anything is applied. `patch` are changes of
    objects that others own, carried out after `apply`. `status` is the whole desired status of the reconciled object,
    None leaves it alone; it is written only if it differs. An event is emitted only by a pass that changes something.
    `requeue_after` is in seconds. `early` says that the status tells of what is just being made, and that more will be
    known in a moment. `feeds_back` says that what comes next depends on the status, and not only on what there is.
    """

    records: Json | None = None
    apply: tuple[Json, ...] = ()
    keys: tuple[Keys, ...] = ()
    delete: tuple[Deletion, ...] = ()
    patch: tuple[Patch, ...] = ()
    status: Json | None = None
    events: tuple[Event, ...] = ()
    requeue_after: float | None = None
    early: bool = False
    feeds_back: bool = False
