"""A service's proxy, on real connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from stator.errors import StatorError
from stator.local.plan import ServicePlan, Target
from stator.local.planning import PortAllocator
from stator.local.supervisor.proxy import ServiceProxy

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

SIZE = 4_000_000


async def echo_at_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer with everything that was sent, once the sender has said that it is done."""
    writer.write(await reader.read(-1))
    writer.close()


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Cut the connection in the middle."""
    await reader.readexactly(10)
    writer.transport.abort()


def through_proxy(handler: Handler, client: Callable[[int, ServiceProxy], Awaitable[None]]) -> None:
    """Run `client` against a proxy before a server that runs `handler`."""

    async def run() -> None:
        ports = PortAllocator(__name__)
        behind = ports.allocate()
        service = ServicePlan(
            name="web", port_name="", cluster_port=80, port=ports.allocate(), targets=(Target("web-0", behind),)
        )
        server = await asyncio.start_server(handler, "127.0.0.1", behind)
        proxy = ServiceProxy(service)
        await proxy.open()
        proxy.route(frozenset({"web-0"}))
        try:
            await client(service.port, proxy)
        finally:
            proxy.close()
            server.close()

    asyncio.run(run())


def test_large_transfers_and_half_close_arrive_whole() -> None:
    """The client closes its sending side and still gets every byte of the answer."""

    async def client(port: int, _: ServiceProxy) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"x" * SIZE)
        writer.write_eof()
        assert len(await reader.read(-1)) == SIZE
        writer.close()

    through_proxy(echo_at_the_end, client)


def test_a_connection_cut_behind_the_proxy_is_cut_before_it() -> None:
    """The client sees the end, and does not wait for an answer that cannot come."""

    async def client(port: int, _: ServiceProxy) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"0123456789")
        try:
            answer = await reader.read(-1)
        except ConnectionResetError:
            answer = b""
        assert answer == b""
        writer.close()

    through_proxy(hang_up, client)


def test_a_pod_that_is_not_ready_any_more_keeps_its_connections() -> None:
    """New ones are closed at once, as with kube-proxy."""

    async def client(port: int, proxy: ServiceProxy) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"x")
        await asyncio.sleep(0)
        second_reader, second_writer = await asyncio.open_connection("127.0.0.1", port)
        second_writer.write(b"y")
        second_writer.write_eof()
        assert await second_reader.read(-1) == b"y"
        proxy.route(frozenset())
        third_reader, third_writer = await asyncio.open_connection("127.0.0.1", port)
        assert await third_reader.read(-1) == b""
        writer.write_eof()
        assert await reader.read(-1) == b"x"
        for each in (writer, second_writer, third_writer):
            each.close()

    through_proxy(echo_at_the_end, client)


def test_a_taken_port_is_a_located_error() -> None:
    """With the service's name and its address."""

    async def client(_: int, proxy: ServiceProxy) -> None:
        with pytest.raises(StatorError, match=r"service web cannot listen on 127\.0\.0\.1:\d+"):
            await ServiceProxy(proxy.service).open()

    through_proxy(echo_at_the_end, client)
