"""One request to a real server: what comes back is kept as it came, also where it is broken."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from stator.matrix.exchange import Request, send

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that reads one request and lets `answer` do the rest."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


def answering(*parts: bytes) -> Callable[[socket.socket], None]:
    """Sends these bytes and closes."""
    return lambda connection: [connection.sendall(part) for part in parts] and None


def test_a_response_is_kept_raw() -> None:
    """Status, content type and body, byte for byte, through chunks."""
    chunks = b"Transfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n3\r\n x\n\r\n0\r\n\r\n"
    with server(answering(HEAD, chunks)) as address:
        exchange = send(address, Request.post("/v1/x", {"a": 1}))
    assert (exchange.status, exchange.content_type, exchange.body, exchange.error) == (
        200,
        "application/json",
        "data: x\n",
        "",
    )
    assert exchange.request.body == '{"a":1}'
    assert 0 < exchange.first <= exchange.seconds


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 10\r\n\r\nshort",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_a_response_that_is_cut_short_is_an_error_with_what_had_come(body: bytes) -> None:
    """A worker that dies in the middle of an answer must never look like a complete one."""
    with server(answering(HEAD, body)) as address:
        exchange = send(address, Request("/"))
    assert exchange.status == 0
    assert exchange.error
    assert exchange.body in {"", "short"}


def test_nobody_there_is_an_error_and_no_exception() -> None:
    """A refused connection is an answer for a report."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    exchange = send(f"127.0.0.1:{port}", Request("/"), timeout=5)
    assert "ConnectionRefusedError" in exchange.error


def test_an_endless_response_is_given_up() -> None:
    """After the time for the whole exchange, also if something keeps coming."""
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"\r\n")
        while not over.is_set():
            try:
                connection.sendall(b"x")
            except OSError:
                return

    with server(drip) as address:
        exchange = send(address, Request("/"), timeout=0.2)
        over.set()
    assert exchange.status == 0
    assert exchange.error
