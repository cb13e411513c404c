"""A Service: one stable address, connections go to its ready pods in turn.

It works as kube-proxy does, on connections: a pod that stops being ready keeps the ones it has and gets no new
ones. Without a ready pod a connection is closed at once, so a client never hangs. One replica goes through the proxy
as well: its address then stays the same over restarts, and nothing is answered before it is ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from stator.errors import Problem, StatorError
from stator.local.plan import ServicePlan, Target

_CHUNK = 64 * 1024


class ServiceProxy:
    """The proxy of one service port."""

    def __init__(self, service: ServicePlan) -> None:
        self.service = service
        self._ready: tuple[Target, ...] = ()
        self._turn = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def ready(self) -> int:
        """How many pods take traffic."""
        return len(self._ready)

    async def open(self) -> None:
        """Listen. Raises StatorError if the port is taken."""
        try:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.service.port)
        except OSError as error:
            raise StatorError(
                Problem(
                    what=f"service {self.service.name} cannot listen on {self.service.address}",
                    why=(error.strerror or str(error)).lower(),
                    remedy="free the port, or start again: another one is chosen then",
                )
            ) from error

    def route(self, ready_pods: frozenset[str]) -> None:
        """From now on connections go to these pods' targets only."""
        self._ready = tuple(target for target in self.service.targets if target.pod in ready_pods)

    def close(self) -> None:
        """Stop listening and cut what is still connected."""
        if self._server:
            self._server.close()
        for connection in self._connections:
            connection.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        try:
            await self._forward(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for target in self._in_turn():
            try:
                behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", target.port)
            except OSError:
                continue
            try:
                await asyncio.gather(_copy(reader, behind_writer), _copy(behind_reader, writer))
            except asyncio.CancelledError:
                behind_writer.transport.abort()
                raise
            # Closing, not aborting: the last bytes may still be on their way.
            behind_writer.close()
            break
        writer.close()

    def _in_turn(self) -> Iterator[Target]:
        ready, first = self._ready, self._turn
        self._turn += 1
        for offset in range(len(ready)):
            yield ready[(first + offset) % len(ready)]


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the sender is done, then tell the receiver so (half-close). A reset ends both directions."""
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        await writer.drain()
        if writer.can_write_eof() and not writer.is_closing():
            writer.write_eof()
    except OSError:
        writer.transport.abort()
