"""Informers, a queue and workers around one function that reconciles a key.

No key is reconciled before every cache the function reads is in sync. The function is given a key and nothing of the
event that led to it; it returns in how many seconds it wants to see the key again, or `None`. Whatever it raises is
reported, retried after a growing delay, and never ends a worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import structlog
from msgspec import Struct

from stator.errors import StatorError
from stator.kube.informer import Informer, Mapper
from stator.kube.queue import Queue, QueueClosedError
from stator.kube.resources import Key

log = structlog.get_logger(__name__)

Reconcile = Callable[[Key], Awaitable[float | None]]
GRACE = 20.0


class Outcome(Struct, frozen=True, kw_only=True):
    """One reconcile that has ended, in seconds of waiting and of working."""

    key: Key
    waited: float
    took: float
    requeue_after: float | None = None
    error: Exception | None = None


class Controller:
    """`Controller("graphs", reconcile, workers=4)`, then `follow` its informers, then `run`."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        *,
        queue: Queue[Key] | None = None,
        workers: int = 4,
        grace: float = GRACE,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> None:
        self.name = name
        self.queue: Queue[Key] = Queue() if queue is None else queue  # an empty one is false
        self._reconcile = reconcile
        self._workers = workers
        self._grace = grace
        self._on_outcome = on_outcome
        self._informers: list[Informer] = []

    def follow(self, informer: Informer, mapper: Mapper | None = None) -> None:
        """Reconcile the key of what changes there, or the keys that `mapper` finds in it. Before the informer runs.

        The latter are urgent: what changes was made for them, so they have begun.
        """
        informer.subscribe(self.queue.add if mapper is None else partial(self.queue.add, urgent=True), mapper)
        self.read(informer)

    def read(self, informer: Informer) -> None:
        """Wait for this cache too, without being woken by it."""
        if informer not in self._informers:
            self._informers.append(informer)

    async def run(self) -> None:
        """Work until cancelled; then hand out nothing more, and let running reconciles end for `grace` seconds."""
        await asyncio.gather(*(informer.synced.wait() for informer in self._informers))
        workers = [asyncio.create_task(self._work(), name=f"{self.name}-{each}") for each in range(self._workers)]
        try:
            await asyncio.wait(workers)
        finally:
            self.queue.close()
            try:
                await asyncio.wait(workers, timeout=self._grace)
            finally:  # also when cancelled once more: that means at once
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            try:
                key, waited = await self.queue.get()
            except QueueClosedError:
                return
            try:
                await self._run_one(key, waited)
            finally:
                self.queue.done(key)

    async def _run_one(self, key: Key, waited: float) -> None:
        clock = asyncio.get_running_loop().time
        start = clock()
        again: float | None = None
        failure: Exception | None = None
        try:
            again = await self._reconcile(key)
        except Exception as error:  # noqa: BLE001 # whatever one object does to us, the others must go on
            failure = error
            self._report(key, error)
        else:
            self.queue.forget(key)
            if again is not None:
                self.queue.add_after(key, again)
        if self._on_outcome:
            outcome = Outcome(key=key, waited=waited, took=clock() - start, requeue_after=again, error=failure)
            self._on_outcome(outcome)

    def _report(self, key: Key, error: Exception) -> None:
        delay = self.queue.retry(key)
        said = log.bind(controller=self.name, key=str(key), retry_in=round(delay, 1))
        if isinstance(error, StatorError):
            said.warning("reconcile failed", reason=str(error))
        else:
            said.error("reconcile failed unexpectedly", exc_info=error)
