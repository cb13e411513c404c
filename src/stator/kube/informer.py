"""A cache of one kind that follows the server, and tells which keys to look at again.

List, then watch from the list's version; whenever the watch ends, for whatever reason, list again and compare. So an
event that a proxy swallowed is made up for within the lifetime of a watch (`WATCH_SECONDS`), and no reconnect has a
case of its own. An unchanged object costs one comparison of versions in a list.

The stream is not believed blindly. Resource versions only grow (Kubernetes 1.35, "comparable resource versions"): an
event that repeats the last version is a duplicate, an older one means the stream is out of order and ends it.
A stream that is silent for longer than bookmarks allow is closed by the client's read timeout.

Not here: what to do about a change. Subscribers map objects to keys, before and after, and get nothing but keys.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from random import Random

import structlog
from msgspec import Struct

from stator.errors import StatorError
from stator.kube.backoff import Backoff
from stator.kube.client import SILENT_WATCH, Client, WatchEvent
from stator.kube.errors import ExpiredError, Request, UnreachableError
from stator.kube.reasons import logged
from stator.kube.resources import Json, Key, Kind, key_of
from stator.kube.store import Change, Entry, Index, Projection, Store

log = structlog.get_logger(__name__)

WATCH_SECONDS = (600, 900)
SHORT_WATCH = 5.0  # a watch that ends sooner counts as a failure: no server ends one after seconds
RECONNECT = Backoff(shortest=0.5, longest=30.0)

Mapper = Callable[[Json], Iterable[Key]]
Sink = Callable[[Key], None]


class Scope(Struct, frozen=True, kw_only=True):
    """Which objects of a kind are followed: of one namespace or all, by label and field selectors."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


class Informer:
    """One kind in one scope. `run` keeps `store` up to date until it is cancelled."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        *,
        scope: Scope = Scope(),  # noqa: B008 # frozen
        project: Projection | None = None,
        manager: str = "",
        indexes: Mapping[str, Index] | None = None,
        random: Random | None = None,
        silence: float = SILENT_WATCH,
    ) -> None:
        self.kind = kind
        self.scope = scope
        self.store = Store(project=project, manager=manager, indexes=indexes)
        self.synced = asyncio.Event()
        # When the watch was last known to be alive, in the loop's time; `None` before the first list.
        self.alive_at: float | None = None
        self.relists = 0
        self._followed = ""  # the version up to which the stream, or the list before it, has told everything
        self._client = client
        self._random = random or Random()  # noqa: S311 # spreads reconnects, guards nothing
        self._silence = silence
        self._subscribers: list[tuple[Mapper | None, Sink]] = []

    def subscribe(self, sink: Sink, mapper: Mapper | None = None) -> None:
        """Give `sink` the key of every object that changes, or the keys `mapper` finds in it before and after."""
        self._subscribers.append((mapper, sink))

    def saw(self, value: Json) -> Entry | None:
        """Take in what a write of our own was answered with, so that the next read is not older than the write.

        The entry made of it; `None` where something else is kept. Of two versions the newer one is kept. An object that
        the stream has passed without telling of it is gone.
        """
        key, uid, version = _identity(value)
        if not self._knows(key, uid, version) and (key in self.store or _older(self._followed, version)):
            self._put(value)
        return self.store.entry(key) if self.store.holds(key, uid, version) else None

    async def run(self) -> None:
        """Follow the server until cancelled. Errors are logged and repaired by listing anew; none leaves."""
        failures = 0
        clock = asyncio.get_running_loop().time
        while True:
            start = clock()
            try:
                await self._watch(await self._list())
            except ExpiredError as error:
                log.info("list expired", kind=str(self.kind), reason=error.message)
            except StatorError as error:
                log.warning("watch broke", kind=str(self.kind), **logged(error))
            failures = failures + 1 if clock() - start < SHORT_WATCH else 0
            await asyncio.sleep(RECONNECT.delay(failures, self._random))

    async def _list(self) -> str:
        """Bring the store to what the server has; its resource version."""
        try:
            version = await self._list_pages(paged=True)
        except ExpiredError:
            # The server compacted between two pages: only one answer is consistent.
            version = await self._list_pages(paged=False)
        self.relists += 1
        self._mark_alive()
        self.synced.set()
        return version

    async def _list_pages(self, *, paged: bool) -> str:
        scope, seen, version = self.scope, set[Key](), ""
        limit = {} if paged else {"limit": 0}
        pages = self._client.pages(self.kind, scope.namespace, labels=scope.labels, fields=scope.fields, **limit)
        async for page in pages:
            version = page.resource_version
            for item in page.items:
                key, uid, read = _identity(item)
                seen.add(key)
                if not self._knows(key, uid, read):
                    # Items of a list do not say what they are.
                    self._put({"apiVersion": self.kind.api_version, "kind": self.kind.kind, **item})
            await asyncio.sleep(0)  # a long list must not starve the lease
        for key in self.store:
            if key not in seen and not self._is_newer(key, version):
                self._tell(self.store.remove(key))
        self._followed = version
        return version

    async def _watch(self, version: str) -> None:
        scope = self.scope
        events = self._client.watch(
            self.kind,
            version,
            scope.namespace,
            labels=scope.labels,
            fields=scope.fields,
            timeout_seconds=self._random.randint(*WATCH_SECONDS),
            silence=self._silence,
            on_open=self._mark_alive,
        )
        try:
            async for event in events:
                version = self._receive(event, version)
                self._mark_alive()
        finally:
            await events.aclose()

    def _receive(self, event: WatchEvent, last: str) -> str:
        """Take one event in; the version the stream has come to. Only what is new here is decoded."""
        version = event.version
        if event.type == "BOOKMARK":
            self._followed = version
            return version
        if version == last:
            return last
        if _older(version, last):
            request = Request("watch", self.kind.kind, self.scope.namespace)
            raise UnreachableError(request, f"an event of version {version} came after version {last}")
        self._followed = version
        if event.type != "DELETED":
            if not self._knows(event.key, event.uid, version):
                self._put(event.object)
        elif not self._is_newer(event.key, version):
            self._tell(self.store.remove(event.key))
        return version

    def _is_newer(self, key: Key, version: str) -> bool:
        """Whether what is kept was read at a later version: a write of our own that the stream has yet to come to."""
        entry = self.store.entry(key)
        return entry is not None and _older(version, entry.version)

    def _knows(self, key: Key, uid: str, version: str) -> bool:
        """Whether what is kept is this version of the object, or a later one."""
        return self.store.holds(key, uid, version) or self._is_newer(key, version)

    def _put(self, value: Json) -> None:
        try:
            change = self.store.put(value)
        except Exception:
            # One object that a projection cannot take must not hide all others of its kind.
            log.exception("object left out", kind=str(self.kind), key=str(key_of(value)))
            return
        self._tell(change)

    def _tell(self, change: Change) -> None:
        if not change.matters:
            return
        states: list[Json] = []
        for mapper, sink in self._subscribers:
            if mapper is None:
                sink(change.key)
                continue
            states = states or [entry.decode() for entry in (change.before, change.after) if entry]
            for key in {key for state in states for key in mapper(state)}:
                sink(key)

    def _mark_alive(self) -> None:
        self.alive_at = asyncio.get_running_loop().time()


def _identity(value: Json) -> tuple[Key, str, str]:
    """Key, uid and resource version."""
    metadata = value["metadata"]
    return key_of(value), metadata.get("uid") or "", metadata.get("resourceVersion") or ""


def _older(version: str, last: str) -> bool:
    """Whether one resource version is before another; not decided for a server whose versions are no numbers."""
    return version.isdecimal() and last.isdecimal() and int(version) < int(last)
