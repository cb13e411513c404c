"""Requests that an API server passes on: what came is what is told, complete or not. The server here is a stand-in.

That a real API server passes streams on as they come is seen in tests/cluster/test_matrix_cluster_real.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from stator.kube.client import Client
from stator.kube.proxy import Answer, ask, service_path

LONGEST = 1000


class Tokens:
    """A user whose first token has expired."""

    async def header(self) -> str | None:
        """The old one."""
        return "Bearer old"

    async def renew(self, refused: str | None) -> str | None:
        """The new one, once."""
        return "Bearer new" if refused == "Bearer old" else None


async def answered(request: web.Request) -> web.StreamResponse:
    """By the last word of the path."""
    if request.headers["Authorization"] == "Bearer old":
        return web.Response(status=401)
    what = request.path.rpartition("/")[2]
    if what == "echo":
        return web.Response(body=await request.read(), content_type="text/plain", status=418)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b"data: 1\n\n")
    if what == "cut":
        assert request.transport
        request.transport.abort()
    elif what == "long":
        await response.write(b"x" * LONGEST)
    elif what == "hung":
        while request.transport and not request.transport.is_closing():  # noqa: ASYNC110 (a client that leaves tells nobody)
            await asyncio.sleep(0.05)
    return response


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """A client of the stand-in."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answered)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with aiohttp.ClientSession() as session:
        yield Client(session, f"http://127.0.0.1:{runner.addresses[0][1]}", Tokens())
    await runner.cleanup()


async def asked(client: Client, word: str, body: bytes = b"", *, within: float = 20) -> Answer:
    """The answer to one request."""
    path = service_path("ns", "chat-frontend", "http", f"/v1/{word}")
    return await ask(client, "POST" if body else "GET", path, body, timeout=within, longest=LONGEST)


def test_the_path_names_service_and_port() -> None:
    """As the Kubernetes documentation writes it."""
    path = service_path("ns", "chat", "http", "/v1/models")
    assert path == "/api/v1/namespaces/ns/services/chat:http/proxy/v1/models"


async def test_a_whole_answer_is_told_whatever_its_status(client: Client) -> None:
    """With credentials that were renewed on the way; the body of the request arrives as it was sent."""
    answer = await asked(client, "echo", b'{"a": 1}')
    assert (answer.status, answer.content_type, answer.body) == (418, "text/plain", b'{"a": 1}')
    assert answer.error == ""
    assert 0 < answer.first <= answer.seconds


@pytest.mark.parametrize(
    ("word", "within", "said"),
    [("cut", 20, "closed within"), ("long", 20, "longer than 1000 bytes"), ("hung", 0.3, "no answer in time")],
)
async def test_an_answer_without_its_end_has_no_status(client: Client, word: str, within: float, said: str) -> None:
    """What had come is kept, and why it is not all."""
    answer = await asked(client, word, within=within)
    assert answer.status == 0
    assert said in answer.error
    assert answer.body.startswith(b"data: 1\n\n")


async def test_nobody_there_is_an_answer_too() -> None:
    """No exception reaches who asks."""
    async with aiohttp.ClientSession() as session:
        answer = await asked(Client(session, "http://127.0.0.1:1", Tokens()), "echo")
    assert (answer.status, answer.body) == (0, b"")
    assert answer.error
