"""The webhooks as a part of a running operator: the server, and beside it the care for its certificate.

Every replica serves them, leader or not. A replica is Ready only once it has a certificate that the API server trusts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import msgspec

from stator.kube.client import Client
from stator.operator import names
from stator.operator.webhooks.server import webhook_server
from stator.operator.webhooks.trust import Trust, server_context
from stator.operator.webhooks.validation import Policy


class WebhookOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where the webhooks are served. `namespace` is the operator's own, which keeps the certificates.

    `hosts` are the names and addresses under which the API server calls; empty for the Service of an installation.
    """

    namespace: str
    port: int
    host: str = "0.0.0.0"  # noqa: S104 (the pod's own network)
    hosts: tuple[str, ...] = ()


class Webhooks(msgspec.Struct, frozen=True):
    """Webhooks that are being served. `why_not_ready` is `""` once the API server can use them.

    `established` is set when that is so for the first time.
    """

    port: int
    why_not_ready: Callable[[], str]
    established: asyncio.Event


def _now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def webhooks(
    client: Client, policy: Callable[[], Policy], options: WebhookOptions, *, clock: Callable[[], datetime] = _now
) -> AsyncIterator[Webhooks]:
    """Serve the webhooks while the context lasts. `policy` is asked for each question."""
    tls = server_context()
    hosts = options.hosts or names.webhook_hosts(options.namespace)
    trust = Trust(client, tls, namespace=options.namespace, hosts=hosts, clock=clock)
    async with webhook_server(policy, tls, host=options.host, port=options.port) as port:
        care = asyncio.create_task(trust.run(), name="webhook certificates")
        try:
            ended = "nobody looks after the webhooks' certificate any more"
            yield Webhooks(port, lambda: ended if care.done() else trust.why_not_ready, trust.established)
        finally:
            care.cancel()
            with suppress(asyncio.CancelledError):
                await care
