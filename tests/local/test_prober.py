"""One probe against real servers: what counts as success, and the kubelet's words for what does not."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from stator.local.plan import ExecCommand, HttpGet, Probe, TcpSocket
from stator.local.supervisor.prober import Outcome, check

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answering(text: str) -> Handler:
    """A server that reads a request and says `text`."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(text.replace("\n", "\r\n").encode())
        writer.close()

    return handle


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that takes the request and never answers."""
    with contextlib.suppress(ConnectionResetError):
        await reader.read(-1)
    writer.close()


@contextlib.asynccontextmanager
async def serving(handler: Handler | None) -> AsyncIterator[int]:
    """A server for the time being, and its port; None: a port that is held and on which nobody listens."""
    handled: list[asyncio.Task[None]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert handler
        task = asyncio.current_task()
        assert task
        handled.append(task)
        await handler(reader, writer)

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        if handler is None:
            yield held.getsockname()[1]
            return
        server = await asyncio.start_server(handle, sock=held)
        yield held.getsockname()[1]
        server.close()
        await asyncio.gather(*handled)


def probe_http(handler: Handler | None, **fields: float) -> tuple[Outcome, int]:
    """Probe a server (None: nobody listens); what came out, and the port."""

    async def run() -> tuple[Outcome, int]:
        async with serving(handler) as port:
            probe = Probe(handler=HttpGet(port=port, path="/health"), **fields)
            return await check(probe, {}, "/"), port

    return asyncio.run(run())


@pytest.mark.parametrize("status", ["200 OK", "204 No Content", "301 Moved", "399 Odd"])
def test_200_to_399_is_success(status: str) -> None:
    """Redirects too, as they lead to the same host."""
    assert probe_http(answering(f"HTTP/1.1 {status}\n\n"))[0] == Outcome()


@pytest.mark.parametrize(
    "text",
    [
        "HTTP/1.1 503 Service Unavailable\nContent-Length: 9\n\nnot ready and more",
        "HTTP/1.1 503 Service Unavailable\nTransfer-Encoding: chunked\n\n9\nnot ready\n0\n\n",
        "HTTP/1.0 503 x\n\nnot ready",
    ],
)
def test_a_failure_shows_the_status_and_the_beginning_of_the_body(text: str) -> None:
    """However the server frames its answer."""
    assert probe_http(answering(text))[0] == Outcome("HTTP probe failed with statuscode: 503", "not ready")


def test_nobody_listening() -> None:
    """The address is named."""
    outcome, port = probe_http(None)
    address = f"127.0.0.1:{port}"
    assert outcome == Outcome(f'Get "http://{address}/health": dial tcp {address}: connect: connection refused')


def test_no_answer_in_time() -> None:
    """A server that hangs fails the probe after its timeout."""
    outcome, port = probe_http(silent, timeout=0.05)
    assert outcome == Outcome(
        f'Get "http://127.0.0.1:{port}/health": context deadline exceeded (Client.Timeout exceeded while awaiting '
        "headers)"
    )


@pytest.mark.parametrize("text", ["", "SSH-2.0-OpenSSH\n", "HTTP/1.1 200 OK\n"])
def test_what_is_no_http_answer_is_a_failure(text: str) -> None:
    """Closed early, or another protocol."""
    outcome, port = probe_http(answering(text))
    assert outcome == Outcome(f'Get "http://127.0.0.1:{port}/health": EOF')


def test_a_tcp_probe_only_connects() -> None:
    """Anything that listens is well."""

    async def connected(handler: Handler | None) -> Outcome:
        async with serving(handler) as port:
            return await check(Probe(handler=TcpSocket(port=port)), {}, "/")

    up, down = asyncio.run(connected(silent)), asyncio.run(connected(None))
    assert up == Outcome()
    assert down.failure.endswith("connect: connection refused")


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("exit 0", Outcome()),
        ("echo so; echo what >&2; exit 3", Outcome("command failed", "so\nwhat\n")),
        ("sleep 1000 & sleep 1000", Outcome("command timed out after 0.2s")),
    ],
)
def test_an_exec_probe_is_judged_by_its_exit_code(script: str, outcome: Outcome) -> None:
    """A command that takes too long is killed, children and all."""
    probe = Probe(handler=ExecCommand(argv=("/bin/sh", "-c", script)), timeout=0.2 if "sleep" in script else 10)
    assert asyncio.run(check(probe, {"PATH": "/usr/bin:/bin"}, "/")) == outcome


def test_an_exec_probe_whose_program_is_missing_fails() -> None:
    """And does not disturb anything else."""
    probe = Probe(handler=ExecCommand(argv=("/nowhere",)))
    assert asyncio.run(check(probe, {}, "/")) == Outcome("command could not be run: no such file or directory")
