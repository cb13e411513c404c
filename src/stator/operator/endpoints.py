"""`/healthz`, `/readyz` and `/metrics`: what a kubelet and Prometheus ask an operator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from stator.operator.listening import listen
from stator.operator.metrics import Metrics

# A check says why it fails, or "" if it does not.
Check = Callable[[], str]
Handler = Callable[[web.Request], Awaitable[web.Response]]

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@asynccontextmanager
async def endpoints(metrics: Metrics, *, healthy: Check, ready: Check, host: str, port: int) -> AsyncIterator[int]:
    """Serve while the context lasts; the port that was taken (`port` 0 takes a free one).

    Raises InvalidInputError if the address cannot be had.
    """
    app = web.Application(client_max_size=1024)
    app.add_routes(
        [
            web.get("/healthz", _answering(healthy)),
            web.get("/readyz", _answering(ready)),
            web.get("/metrics", _exposing(metrics)),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await listen(web.TCPSite(runner, host, port), "metrics and probes", "metrics")
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _answering(check: Check) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        why = check()
        return web.Response(text=f"{why or 'ok'}\n", status=503 if why else 200)

    return handler


def _exposing(metrics: Metrics) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": _METRICS_TYPE})

    return handler
