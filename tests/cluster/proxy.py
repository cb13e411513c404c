"""A proxy before the API server that misbehaves by script; what it does not touch is the real server's.

`proxy.on(watches("configmaps"), cut(after=1))` says what is done to the next request that matches; a fault counts for
as many requests as `times` says. Clients talk plain HTTP to the proxy, which has the credentials.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp import web
from lightkube.config.client_adapter import verify_cluster
from lightkube.config.models import User

from stator.kube.connection import Credentials, load_configuration

Matches = Callable[[web.Request], bool]
Forward = Callable[[], Awaitable[aiohttp.ClientResponse]]
Fault = Callable[[web.Request, Forward], Awaitable[web.StreamResponse]]

_LONG_LINE = 1 << 22
_HOP = frozenset(
    {"authorization", "connection", "content-length", "transfer-encoding", "content-encoding", "host", "keep-alive"}
)


@dataclass
class _Rule:
    matches: Matches
    fault: Fault
    times: int


class Proxy:
    """One proxy; `seen` are the requests so far as `METHOD path`, faulted ones too."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self.seen: list[str] = []
        self.url = ""
        self._session = session
        self._server = server
        self._rules: list[_Rule] = []

    def on(self, matches: Matches, fault: Fault, times: int = 1) -> None:
        """Do this to the next requests that match, after those that were given earlier."""
        self._rules.append(_Rule(matches, fault, times))

    @property
    def spent(self) -> bool:
        """Whether every fault has happened."""
        return not self._rules

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        self.seen.append(f"{request.method} {request.path_qs}")
        body = await request.read()

        async def forward() -> aiohttp.ClientResponse:
            headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
            return await self._session.request(
                request.method, f"{self._server}{request.path_qs}", data=body or None, headers=headers
            )

        for rule in self._rules:
            if rule.matches(request):
                rule.times -= 1
                if not rule.times:
                    self._rules.remove(rule)
                return await rule.fault(request, forward)
        return await _relay(request, await forward(), lambda line: [line])


@asynccontextmanager
async def proxying(kubeconfig: Path) -> AsyncIterator[Proxy]:
    """A proxy before the server of a kubeconfig, with its credentials."""
    found = load_configuration(kubeconfig)
    tls = verify_cluster(found.cluster, found.user or User(), found.abs_file)
    authorization = await Credentials(found.user).header()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=tls, limit=0),
        timeout=aiohttp.ClientTimeout(total=None),
        headers={"Authorization": authorization} if authorization else None,
        read_bufsize=_LONG_LINE,
    ) as session:
        proxy = Proxy(session, found.cluster.server)
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", proxy.handle)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield proxy
        finally:
            await runner.cleanup()


def through(proxy: Proxy, directory: Path) -> Path:
    """A kubeconfig whose server is the proxy."""
    value = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "proxy",
        "clusters": [{"name": "proxy", "cluster": {"server": proxy.url}}],
        "users": [{"name": "proxy", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
    }
    path = directory / "kubeconfig"
    path.write_text(json.dumps(value))
    return path


def watches(plural: str) -> Matches:
    """Watches of a kind."""
    return lambda request: "watch" in request.query and request.path.endswith(f"/{plural}")


def lists(plural: str) -> Matches:
    """Lists of a kind."""
    return lambda request: (
        request.method == "GET" and "watch" not in request.query and request.path.endswith(f"/{plural}")
    )


def writes(plural: str) -> Matches:
    """Requests of a kind that are not reads."""
    return lambda request: request.method != "GET" and f"/{plural}" in request.path


def answer(status: int, reason: str, message: str = "", **headers: str) -> Fault:
    """The server refuses and does nothing."""

    async def fault(_: web.Request, __: Forward) -> web.StreamResponse:
        body = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": status, "reason": reason}
        return web.json_response(body | {"message": message or f"{reason} by script"}, status=status, headers=headers)

    return fault


def hang() -> Fault:
    """No answer, ever; the connection stays open."""

    async def fault(_: web.Request, __: Forward) -> web.StreamResponse:
        return await asyncio.get_running_loop().create_future()

    return fault


def lose_answer() -> Fault:
    """The server does what it was asked to, and the connection breaks before it says so."""

    async def fault(request: web.Request, forward: Forward) -> web.StreamResponse:
        async with await forward() as response:
            await response.read()
        _break(request)
        return web.Response()

    return fault


def cut(after: int) -> Fault:
    """A watch that breaks off after so many events."""
    return _events(lambda number: number <= after, _break)


def silence(after: int) -> Fault:
    """A watch that says nothing more after so many events, as a half-open connection does."""
    return _events(lambda number: number <= after, None)


def drop(number: int) -> Fault:
    """A watch that leaves out its event of that number, from 1."""
    return _edited(lambda place, line, _: [] if place == number else [line])


def duplicate() -> Fault:
    """A watch that says everything twice."""
    return _edited(lambda _, line, __: [line, line])


def swap(number: int) -> Fault:
    """A watch that tells the event of that number after the one that follows."""

    def edit(place: int, line: bytes, held: list[bytes]) -> list[bytes]:
        if place == number:
            held.append(line)
            return []
        return [line, *(held.pop() for _ in tuple(held))]

    return _edited(edit)


def expire(after: int) -> Fault:
    """A watch that says 410 in its stream after so many events, as a server does that compacted its history."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired"}
    error = json.dumps({"type": "ERROR", "object": status | {"message": "too old resource version"}}).encode() + b"\n"
    return _edited(lambda place, line, _: [error] if place > after else [line])


def _events(passes: Callable[[int], bool], otherwise: Callable[[web.Request], None] | None) -> Fault:
    async def fault(request: web.Request, forward: Forward) -> web.StreamResponse:
        async with await forward() as upstream:
            response = await _open(request, upstream)
            number = 0
            async for line in upstream.content:
                number += not _is_bookmark(line)
                if passes(number):
                    await response.write(line)
                elif otherwise:
                    otherwise(request)
                    break
        return response

    return fault


def _edited(edit: Callable[[int, bytes, list[bytes]], list[bytes]]) -> Fault:
    async def fault(request: web.Request, forward: Forward) -> web.StreamResponse:
        number, held = 0, list[bytes]()

        def lines(line: bytes) -> list[bytes]:
            nonlocal number
            if _is_bookmark(line):
                return [line]
            number += 1
            return edit(number, line, held)

        return await _relay(request, await forward(), lines)

    return fault


async def _relay(
    request: web.Request, upstream: aiohttp.ClientResponse, lines: Callable[[bytes], list[bytes]]
) -> web.StreamResponse:
    async with upstream:
        response = await _open(request, upstream)
        async for line in upstream.content:
            for each in lines(line):
                await response.write(each)
        await response.write_eof()
    return response


async def _open(request: web.Request, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
    headers = {name: value for name, value in upstream.headers.items() if name.lower() not in _HOP}
    response = web.StreamResponse(status=upstream.status, headers=headers)
    await response.prepare(request)
    return response


def _break(request: web.Request) -> None:
    if request.transport:
        request.transport.close()


def _is_bookmark(line: bytes) -> bool:
    return b'"type":"BOOKMARK"' in line[:40]
