"""An informer that runs for the length of a test, and waiting for what it comes to know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from stator.kube.informer import Informer
from stator.kube.resources import Key

LONG = 30.0


@asynccontextmanager
async def running(*informers: Informer) -> AsyncIterator[None]:
    """The informers in sync, and stopped at the end."""
    tasks = [asyncio.create_task(informer.run()) for informer in informers]
    try:
        async with asyncio.timeout(LONG):
            await asyncio.gather(*(informer.synced.wait() for informer in informers))
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Changes:
    """The keys an informer tells of; `until` waits for a condition and looks again at every key."""

    def __init__(self, informer: Informer) -> None:
        self.keys: list[Key] = []
        self._changed = asyncio.Event()
        informer.subscribe(self._add)

    def _add(self, key: Key) -> None:
        self.keys.append(key)
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when the condition holds after a change."""
        async with asyncio.timeout(LONG):
            while not condition():
                self._changed.clear()
                await self._changed.wait()
