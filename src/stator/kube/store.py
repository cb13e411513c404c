"""What an informer knows: projections of objects as bytes, found by key and by index.

Packed bytes and not trees, because a decoded object takes fifty times the memory; each read decodes anew, so nobody
can change what others read. A projection is what reconcilers look at: a change of anything else is no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from sys import intern
from typing import NamedTuple

import msgspec

from stator.kube.ownership import digest, extract
from stator.kube.packing import Packing
from stator.kube.resources import Json, Key, key_of

# Of an object, and of the part of it that our field manager has applied (empty when nothing).
Projection = Callable[[Json, Json], Json]
Index = Callable[[Json], Iterable[str]]

OWNER = "owner"  # the index every store has: uids of owner references


class Entry(msgspec.Struct, frozen=True, gc=False):
    """An object as it is kept. `owned` is the digest of what our field manager has applied, empty when nothing.

    Two equal `body` of one store are equal projections, and that of an object stays as long as its projection does.
    It cannot be part of a cycle, so the garbage collector need not know of it.
    """

    uid: str
    version: str
    owned: bytes
    controller: str
    body: bytes
    packing: Packing

    def decode(self) -> Json:
        """The projection, with uid and the resource version it was read at."""
        value = self.packing.unpack(self.body)
        metadata = value["metadata"]
        metadata["resourceVersion"] = self.version
        if self.uid:
            metadata["uid"] = self.uid
        return value


class Change(NamedTuple):
    """What a store had, and has, under a key. One of the two may be missing."""

    key: Key
    before: Entry | None
    after: Entry | None

    @property
    def matters(self) -> bool:
        """Whether anything that reconcilers read is different."""
        before, after = self.before, self.after
        if before is None or after is None:
            return before is not after
        return (before.uid, before.owned, before.body) != (after.uid, after.owned, after.body)


class Store:
    """Objects of one kind. Not shared between threads."""

    def __init__(
        self, *, project: Projection | None = None, manager: str = "", indexes: Mapping[str, Index] | None = None
    ) -> None:
        self._project = project
        self._manager = manager
        self._functions: dict[str, Index] = {OWNER: _owners, **(indexes or {})}
        self._packing = Packing()
        self._entries: dict[Key, Entry] = {}
        # Most values lead to one key; a set for each would take more memory than the objects' names.
        self._indexed: dict[str, dict[str, Key | set[Key]]] = {name: {} for name in self._functions}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._entries))

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def entry(self, key: Key) -> Entry | None:
        """What is kept under a key, undecoded."""
        return self._entries.get(key)

    def get(self, key: Key) -> Json | None:
        """The projection of an object, the caller's own to change."""
        entry = self._entries.get(key)
        return entry.decode() if entry else None

    def find(self, index: str, value: str) -> list[Json]:
        """Projections of all objects with a value in an index, ordered by key."""
        return [self._entries[key].decode() for key in self.find_keys(index, value)]

    def find_keys(self, index: str, value: str) -> list[Key]:
        """Keys of all objects with a value in an index, ordered."""
        found = self._indexed[index].get(value, ())
        return [found] if isinstance(found, Key) else sorted(found)

    def holds(self, key: Key, uid: str, version: str) -> bool:
        """Whether exactly this version of an object is kept already."""
        entry = self._entries.get(key)
        return entry is not None and entry.version == version and entry.uid == uid

    def put(self, value: Json) -> Change:
        """Keep a projection of an object that was read from the server. May change the given value."""
        key, metadata = Key(*map(intern, key_of(value))), value["metadata"]
        applied = extract(value, self._manager) if self._manager else None
        owned = b"" if applied is None else digest(applied)
        projected = self._project(value, applied or {}) if self._project else value
        kept = {**projected, "metadata": {**projected["metadata"]}}
        for name in ("managedFields", "resourceVersion", "uid"):
            kept["metadata"].pop(name, None)
        before = self._entries.get(key)
        entry = Entry(
            intern(metadata.get("uid") or ""),
            metadata.get("resourceVersion") or "",
            owned,
            intern(controller_of(value)),
            self._packing.pack(kept, like=before.body if before else b""),
            self._packing,
        )
        if before is None or before.body is not entry.body:
            if before is not None:
                self._unindex(key, before)
            for name, function in self._functions.items():
                for each in function(kept):
                    _add(self._indexed[name], each, key)
        self._entries[key] = entry
        return Change(key, before, entry)

    def remove(self, key: Key) -> Change:
        """Forget an object."""
        before = self._entries.pop(key, None)
        if before is not None:
            self._unindex(key, before)
        return Change(key, before, None)

    def _unindex(self, key: Key, entry: Entry) -> None:
        value = entry.packing.unpack(entry.body)
        for name, function in self._functions.items():
            index = self._indexed[name]
            for each in function(value):
                _discard(index, each, key)


def _add(index: dict[str, Key | set[Key]], value: str, key: Key) -> None:
    found = index.get(value)
    if found is None:
        index[intern(value)] = key
    elif isinstance(found, set):
        found.add(key)
    elif found != key:
        index[value] = {found, key}


def _discard(index: dict[str, Key | set[Key]], value: str, key: Key) -> None:
    found = index.get(value)
    if isinstance(found, set):
        found.discard(key)
        if not found:
            del index[value]
    elif found == key:
        del index[value]


def controller_of(value: Json) -> str:
    """The uid of the owner reference that controls an object, or nothing."""
    references = value["metadata"].get("ownerReferences") or ()
    return next((str(reference["uid"]) for reference in references if reference.get("controller")), "")


def _owners(value: Json) -> list[str]:
    return [str(reference["uid"]) for reference in value["metadata"].get("ownerReferences") or ()]
