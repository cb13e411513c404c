"""What the operator knows of the cluster: an informer per kind, holding what reconcilers read and no more.

Graphs, components and adapters are kept whole, but for `managedFields`. Of everything else a `Child` is kept, of pods
only that they are there. An object of somebody else is a few words: enough to know that its name is taken.

Pods and ConfigMaps alone are followed by label: there are many, and large ones. Whether a ConfigMap's name is taken is
asked before one is made. Secrets are followed by name, those of image registries that somebody named, and of them the
registries are kept.

What a pass reads can be noted, and its fingerprint taken at any time: while that is the same, another pass would read
the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec

from stator.kube.client import Client
from stator.kube.informer import Informer, Scope
from stator.kube.resources import CONFIG_MAP, POD, SECRET, Key, Kind
from stator.kube.store import OWNER, Entry, Projection
from stator.operator import kinds
from stator.operator.components.observed import Child, child_of
from stator.operator.options import FIELD_MANAGER
from stator.operator.pull_secrets import registries
from stator.render import names

Json = dict[str, Any]

# Kinds of which only the objects with the graph's label are followed.
BY_LABEL = frozenset({CONFIG_MAP, POD})
# Kinds that others make, and that are read as they are.
_WHOLE = frozenset({*kinds.OWN, kinds.POD_CLIQUE, kinds.SCALING_GROUP})
# The index of pods by the workload they belong to.
_WORKLOAD = "workload"
_ENDED = ("Succeeded", "Failed")

# One question to the caches: which one, and its arguments.
Read = tuple[Any, ...]
_notes: ContextVar[list[Read] | None] = ContextVar("notes", default=None)


class Caches:
    """One informer per kind, in one namespace or (`""`) in all."""

    def __init__(
        self, client: Client, followed: Iterable[Kind], namespace: str = "", *, pull_secrets: Iterable[str] = ()
    ) -> None:
        """Follow these kinds, and the Secrets of these names; nothing runs yet."""
        self.informers: Mapping[Kind, Informer] = {
            kind: Informer(
                client,
                kind,
                scope=Scope(namespace=namespace, labels=names.GRAPH_NAME if kind in BY_LABEL else ""),
                project=_projection(kind),
                manager="" if kind == POD else FIELD_MANAGER,
                indexes={_WORKLOAD: _workload} if kind == POD else None,
            )
            for kind in followed
        }
        self.pull_secrets: Mapping[str, Informer] = {
            name: Informer(
                client,
                SECRET,
                scope=Scope(namespace=namespace, fields=f"metadata.name={name}"),
                project=as_pull_secret,
            )
            for name in pull_secrets
        }

    def __contains__(self, kind: Kind) -> bool:
        """Whether the kind is followed."""
        return kind in self.informers

    @property
    def every(self) -> tuple[Informer, ...]:
        """All informers."""
        return (*self.informers.values(), *self.pull_secrets.values())

    def registries(self, namespace: str) -> dict[str, tuple[str, ...]]:
        """The pull Secrets of a namespace by registry, in the order they were named in."""
        found: dict[str, tuple[str, ...]] = {}
        if self.pull_secrets:
            _note("registries", namespace)
        for name, informer in self.pull_secrets.items():
            secret = informer.store.get(Key(namespace, name))
            for registry in secret["registries"] if secret else ():
                found[registry] = (*found.get(registry, ()), name)
        return found

    def get(self, kind: Kind, key: Key) -> Json | None:
        """An object of a kind that is kept whole."""
        _note(*of_object(kind, key))
        return self.informers[kind].store.get(key)

    def child(self, kind: Kind, key: Key) -> Child | None:
        """An object of any kind as a child; None if it is not there, or not followed."""
        _note(*of_object(kind, key))
        entry = self.informers[kind].store.entry(key) if kind in self.informers else None
        return _child(entry) if entry else None

    def owned(self, uid: str, among: tuple[Kind, ...]) -> tuple[Child, ...]:
        """The objects of these kinds that name an owner."""
        _note("owned", uid, among)
        stores = (self.informers[kind].store for kind in among if kind in self.informers)
        entries = (store.entry(key) for store in stores for key in store.find_keys(OWNER, uid))
        return tuple(_child(entry) for entry in entries if entry)

    def whole(self, kind: Kind, uid: str) -> tuple[Json, ...]:
        """The same of one kind that is kept whole."""
        if kind not in self.informers:
            return ()
        _note("owned", uid, (kind,))
        return tuple(self.informers[kind].store.find(OWNER, uid))

    def has_pods(self, workload: Key) -> bool:
        """Whether pods of a workload are there, ending ones too."""
        _note("pods", workload)
        return POD in self.informers and bool(self.informers[POD].store.find_keys(_WORKLOAD, str(workload)))

    def fingerprint(self, reads: Iterable[Read]) -> int:
        """A number that stays the same as long as these questions have the same answers (of 64 bits: a hash)."""
        return hash(tuple(answer for read in reads for answer in self._answers(*read)))

    def _answers(self, question: str, about: Any, among: Any = ()) -> Iterator[Hashable]:
        if question == "entry":
            yield _state(self.informers[about].store.entry(among)) if about in self.informers else None
        elif question == "pods":
            yield self.has_pods(about)
        elif question == "registries":
            for informer in self.pull_secrets.values():
                for key in informer.store:
                    yield _state(informer.store.entry(key)) if key.namespace == about else None
        else:
            for kind in among:
                if kind in self.informers:
                    store = self.informers[kind].store
                    for key in store.find_keys(OWNER, about):
                        yield key.name, _state(store.entry(key))


def of_object(kind: Kind, key: Key) -> Read:
    """The question for one object."""
    return ("entry", kind, key)


@contextmanager
def noted() -> Iterator[list[Read]]:
    """What this task reads of caches in this context."""
    reads: list[Read] = []
    token = _notes.set(reads)
    try:
        yield reads
    finally:
        _notes.reset(token)


def _note(*read: Any) -> None:
    if (reads := _notes.get()) is not None:
        reads.append(read)


def _state(entry: Entry | None) -> Hashable:
    return (entry.uid, entry.owned, entry.body) if entry else None


def _projection(kind: Kind) -> Projection:
    if kind == POD:
        return as_pod
    if kind == kinds.POD_CLIQUE_SET:
        return with_applied
    return whole if kind in _WHOLE else as_child


def whole(live: Json, applied: Json) -> Json:
    """The object without its `managedFields`; the fields that only humans read are gone too."""
    del applied
    metadata = {key: value for key, value in live["metadata"].items() if key not in ("managedFields", "selfLink")}
    return {**live, "metadata": metadata}


def as_child(live: Json, applied: Json) -> Json:
    """What is kept of an object that is made for a graph, or could be: its child, and what leads to its owner."""
    metadata = live["metadata"]
    child = child_of(live, applied)
    if not child.applied:
        child = msgspec.structs.replace(child, status={}, templates={})
    kept = {key: metadata[key] for key in ("namespace", "name", "uid", "ownerReferences") if key in metadata}
    if graph := (metadata.get("labels") or {}).get(names.GRAPH_NAME):
        kept["labels"] = {names.GRAPH_NAME: graph}
    return {"metadata": kept, "child": msgspec.to_builtins(child)}


def with_applied(live: Json, applied: Json) -> Json:
    """The whole object, and under `applied` the fields of it that this operator applied."""
    return {**whole(live, applied), "applied": applied}


def as_pod(live: Json, applied: Json) -> Json:
    """What is kept of a pod: that it is there, and whose it is."""
    del applied
    metadata = live["metadata"]
    labels = metadata.get("labels") or {}
    kept = {key: metadata[key] for key in ("namespace", "name") if key in metadata}
    kept["labels"] = {key: labels[key] for key in (names.GRAPH_NAME, names.SELECTOR) if key in labels}
    return {"metadata": kept, "ended": (live.get("status") or {}).get("phase") in _ENDED}


def as_pull_secret(live: Json, applied: Json) -> Json:
    """What is kept of a pull Secret: for which registries it is."""
    del applied
    metadata = live["metadata"]
    kept = {key: metadata[key] for key in ("namespace", "name") if key in metadata}
    return {"metadata": kept, "registries": registries(live)}


def _workload(pod: Json) -> list[str]:
    name = pod["metadata"]["labels"].get(names.SELECTOR)
    return [str(Key(pod["metadata"].get("namespace", ""), name))] if name and not pod["ended"] else []


def _child(entry: Entry) -> Child:
    value = entry.decode()
    if "child" in value:
        return msgspec.convert(value["child"], Child)
    return msgspec.structs.replace(child_of(value, {}), applied=bool(entry.owned))
