"""Keys that wait to be reconciled: each at most once, never two workers on one, failures with growing delays.

The semantics are those of client-go's work queue: a key that is added while it waits is not added again; one that is
added while it is being worked on waits until that is done. What fails comes back after a delay of its own that doubles,
and all such retries together pass a token bucket, so that a broken dependency is not hammered by ten thousand objects.

What is in progress goes before what waits to be begun: keys that are added as `urgent` have a line of their own, and
the two lines take turns. So ten thousand objects at a start are finished one after the other, and not all at the end.

Closing drops what waits: a controller that starts lists everything anyway. It lets running work end.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Hashable
from random import Random
from typing import Generic, TypeVar

from msgspec import Struct

from stator.kube.backoff import Backoff

K = TypeVar("K", bound=Hashable)


class Limits(Struct, frozen=True, kw_only=True):
    """How failures are retried. `rate` is retries per second of all keys together, after a burst."""

    backoff: Backoff = Backoff(shortest=0.1, longest=300.0)
    rate: float = 20.0
    burst: int = 200


class QueueClosedError(Exception):
    """There is no more work; workers end on it."""


class Queue(Generic[K]):
    """Belongs to one event loop."""

    def __init__(self, *, limits: Limits = Limits(), random: Random | None = None) -> None:  # noqa: B008 # frozen
        self._limits = limits
        self._random = random or Random()  # noqa: S311 # spreads retries, guards nothing
        self._ready: OrderedDict[K, None] = OrderedDict()
        self._urgent: OrderedDict[K, None] = OrderedDict()
        self._urgent_next = True
        self._since: dict[K, float] = {}  # every key that waits in a line or for its running work, and since when
        self._hurried: set[K] = set()  # those of the latter that are urgent
        self._running: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._tokens = float(limits.burst)
        self._tokens_at = 0.0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    def __len__(self) -> int:
        """How many keys could be worked on now."""
        return len(self._ready) + len(self._urgent)

    @property
    def delayed(self) -> int:
        """How many keys wait for a time to come."""
        return len(self._timers)

    def add(self, key: K, *, urgent: bool = False) -> None:
        """Work on a key as soon as a worker is free; a delay it waits for is over."""
        if self._closed:
            return
        timer = self._timers.pop(key, None)
        if timer:
            timer.cancel()
        waits = key in self._since
        if not waits:
            self._since[key] = self._now()
        if key in self._running:
            if urgent:
                self._hurried.add(key)
        elif not waits:
            self._offer(key, urgent=urgent)
        elif urgent and key in self._ready:
            del self._ready[key]
            self._urgent[key] = None

    def add_after(self, key: K, seconds: float) -> None:
        """Work on a key after a delay; of two delays the one that ends first counts."""
        if self._closed or key in self._since:
            return
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer:
            if timer.when() <= loop.time() + seconds:
                return
            timer.cancel()
        self._timers[key] = loop.call_later(max(seconds, 0.0), self._due, key)

    def retry(self, key: K) -> float:
        """Work on a key again after it failed; the seconds until then."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = max(self._limits.backoff.delay(failures, self._random), self._take_token())
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """A key succeeded: its next failure is the first again."""
        self._failures.pop(key, None)

    async def get(self) -> tuple[K, float]:
        """The next key, now running until `done`, and how many seconds it waited. Raises `QueueClosedError`."""
        while not (self._ready or self._urgent):
            if self._closed:
                raise QueueClosedError
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake_one()  # the key this worker was woken for is another's now
                raise
            finally:
                if not waiter.done() or waiter.cancelled():
                    self._waiters.remove(waiter)
        key = self._pop()
        self._running.add(key)
        self._idle.clear()
        return key, self._now() - self._since.pop(key)

    def done(self, key: K) -> None:
        """A worker has finished with a key; if it was added meanwhile, it is next in line."""
        self._running.discard(key)
        if key in self._since:
            self._offer(key, urgent=key in self._hurried)
        self._hurried.discard(key)
        if not self._running:
            self._idle.set()

    def close(self) -> None:
        """Hand out nothing more. What runs may end: `wait_idle`."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._ready.clear()
        self._urgent.clear()
        self._since.clear()
        while self._waiters:
            self._wake_one()

    async def wait_idle(self) -> None:
        """Return when no key is being worked on."""
        await self._idle.wait()

    def _due(self, key: K) -> None:
        del self._timers[key]
        self.add(key)

    def _offer(self, key: K, *, urgent: bool) -> None:
        (self._urgent if urgent else self._ready)[key] = None
        self._wake_one()

    def _pop(self) -> K:
        """The first key of the line whose turn it is."""
        line = self._urgent if self._urgent and (self._urgent_next or not self._ready) else self._ready
        self._urgent_next = line is self._ready
        key, _ = line.popitem(last=False)
        return key

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _take_token(self) -> float:
        """Seconds until the bucket has a token for one more retry; takes it."""
        now = self._now()
        limits = self._limits
        self._tokens = min(self._tokens + (now - self._tokens_at) * limits.rate, float(limits.burst)) - 1.0
        self._tokens_at = now
        return max(0.0, -self._tokens / limits.rate)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
