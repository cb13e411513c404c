"""Server-side apply that sends nothing when nothing would change.

What is wanted is compared with what our field manager owns of the live object, by digest. Where the server keeps a
value in another form the two never become equal; so after an apply the executor remembers what it wanted and what the
server made of it. As long as the live object still has that, the same wish is fulfilled. This lives in memory only:
after a start such an object costs one request, which the server answers without a write.

The answer goes into the cache of its kind at once, where there is one: what we own of it is read out there, and only
there.

Fields of others are never taken (`force` is off): a conflict is an error that names them. An object that somebody else
controls, or that exists without us ever having applied it, is refused before any request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from stator.errors import Position, Problem, StatorError
from stator.kube.client import FIELD_MANAGER, Client
from stator.kube.informer import Informer
from stator.kube.ownership import digest, owned_digest
from stator.kube.resources import Json, Key, Kind, Kinds, key_of
from stator.kube.store import Entry, controller_of

REMEMBERED = 50_000

Action = Literal["none", "created", "changed", "unchanged"]


class OwnershipConflictError(StatorError):
    """An object of that name exists and is not ours."""


class Applied(NamedTuple):
    """What became of one wanted object. `none`: no request was made; `unchanged`: one, and what we own is the same."""

    action: Action
    live: Json | None = None


class _Memory(NamedTuple):
    uid: str
    version: str
    wanted: bytes
    owned: bytes


class Applier:
    """Belongs to one field manager, and to one process: two would each remember half."""

    def __init__(
        self,
        client: Client,
        kinds: Kinds,
        *,
        manager: str = FIELD_MANAGER,
        informers: Mapping[Kind, Informer] = MappingProxyType({}),
        remembered: int = REMEMBERED,
    ) -> None:
        """`informers` are the caches of the kinds that have one; they read out what the same manager owns."""
        self._client = client
        self._kinds = kinds
        self._manager = manager
        self._informers = informers
        self._remembered = remembered
        self._memory: OrderedDict[tuple[Kind, Key], _Memory] = OrderedDict()

    async def apply(self, wanted: Json, entry: Entry | None) -> Applied:
        """Make the server have `wanted`, given what the cache has of it.

        Raises `OwnershipConflictError`, `FieldConflictError` and every other `ApiError`.
        """
        kind, key = self._kinds.of(wanted), key_of(wanted)
        refuse_foreign(wanted, entry)
        wish = _digest_of_wish(wanted)
        if entry and not self._needed(kind, key, wish, entry):
            return Applied("none")
        live = await self._client.apply(kind, wanted, manager=self._manager)
        metadata = live["metadata"]
        informer = self._informers.get(kind)
        kept = informer.saw(live) if informer else None
        owned = kept.owned if kept else owned_digest(live, self._manager)
        if kept and owned == wish:
            self.forget(kind, key)
        elif informer is None or key in informer.store:  # else it came and went before the answer was read
            self._remember((kind, key), _Memory(metadata["uid"], metadata["resourceVersion"], wish, owned))
        if entry is None or entry.uid != metadata["uid"]:
            return Applied("created", live)
        return Applied("unchanged" if entry.owned == owned else "changed", live)

    def forget(self, kind: Kind, key: Key) -> None:
        """The object is gone, and with it what the server made of it."""
        self._memory.pop((kind, key), None)

    def _needed(self, kind: Kind, key: Key, wish: bytes, entry: Entry) -> bool:
        memory = self._memory.get((kind, key))
        if memory is not None and memory.uid != entry.uid:
            memory = None
        if memory is not None and _behind(entry, memory):
            return memory.wanted != wish  # the cache has not seen our own write yet
        if entry.owned == wish:
            self._memory.pop((kind, key), None)
            return False
        return memory is None or (memory.wanted, memory.owned) != (wish, entry.owned)

    def _remember(self, key: tuple[Kind, Key], memory: _Memory) -> None:
        self._memory[key] = memory
        self._memory.move_to_end(key)
        if len(self._memory) > self._remembered:
            self._memory.popitem(last=False)


def refuse_foreign(wanted: Json, entry: Entry | None) -> None:
    """Raise `OwnershipConflictError` when the object exists and belongs to somebody else than `wanted` says."""
    controller = controller_of(wanted)
    if entry is None or not controller or entry.controller == controller:
        return
    if entry.controller:
        why = f"it is controlled by the owner with uid {entry.controller}"
    elif not entry.owned:
        why = "it was made by somebody else and has no owner"
    else:
        return  # ours, orphaned
    key = key_of(wanted)
    subject = "/".join(part for part in (str(wanted.get("kind")), key.namespace, key.name) if part)
    raise OwnershipConflictError(
        Problem(
            what=f"{subject} exists already",
            position=Position(subject),
            why=why,
            remedy="delete or rename it, or rename what needs the name",
        )
    )


def _digest_of_wish(wanted: Json) -> bytes:
    """The digest of the fields that are wanted. A uid is none: it says of which object they are wanted."""
    metadata = {key: value for key, value in wanted["metadata"].items() if key != "uid"}
    return digest({**wanted, "metadata": metadata})


def _behind(entry: Entry, memory: _Memory) -> bool:
    """Whether the cache is older than our last write. Versions that are no numbers are not compared."""
    known = entry.version.isdecimal() and memory.version.isdecimal()
    return known and int(entry.version) < int(memory.version)
