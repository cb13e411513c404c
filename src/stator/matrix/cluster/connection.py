"""The client of a cluster for threads: one event loop beside them, one connection pool for all cells of a run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import TimeoutError as StillRunning
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from stator.kube.client import Client
from stator.kube.connection import connect, load_configuration

Result = TypeVar("Result")

_GLANCE = 0.2
# TLS connections say goodbye in the loop's next turns (aiohttp documentation, "Graceful shutdown").
_GOODBYE = 0.1


class Connection:
    """Made by `connected`. Each thread waits for its own requests. `context` is the name in the kubeconfig."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop, context: str) -> None:
        self.client, self.context = client, context
        self._loop = loop

    def run(self, asked: Coroutine[Any, Any, Result], *, check: Callable[[], None] | None = None) -> Result:
        """What comes of a coroutine. `check` is called again and again meanwhile: what it raises ends the wait."""
        future = asyncio.run_coroutine_threadsafe(asked, self._loop)
        while True:
            try:
                return future.result(_GLANCE)
            except StillRunning:
                if future.done():
                    raise
            try:
                if check:
                    check()
            except BaseException:
                future.cancel()
                raise


async def _closed(opened: AbstractAsyncContextManager[Client]) -> None:
    await opened.__aexit__(None, None, None)
    await asyncio.sleep(_GOODBYE)


@contextmanager
def connected(kubeconfig: Path | None, context: str | None) -> Iterator[Connection]:
    """A connection to the configured cluster. Raises ConfigurationError before anything is opened."""
    configuration = load_configuration(kubeconfig, context)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="cluster", daemon=True)
    thread.start()
    opened = connect(configuration=configuration)
    try:
        client = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result()
        try:
            yield Connection(client, loop, str(configuration.context_name))
        finally:
            asyncio.run_coroutine_threadsafe(_closed(opened), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
