"""Other operators that could be at work on the same graphs: their Leases are looked at, and whoever watches is told.

An election keeps apart those that share a Lease. One without election, of another namespace or of the whole cluster is
not part of it, and two that want different things of the same graphs undo each other's work. So every operator looks
at the Leases of its name: one that is renewed between two looks has a holder that is alive, whatever the clocks say.
Operators without election hold none, so two of them do not see each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from stator.kube.client import Client
from stator.kube.errors import ApiError, ForbiddenError, NotFoundError
from stator.kube.resources import LEASE, Json, Key, key_of
from stator.operator.log import logger
from stator.operator.metrics import Metrics
from stator.operator.names import NAMESPACE
from stator.operator.settings import Settings

# Seconds: a holder renews every two or so, so the second look knows; who comes later is found at leisure.
_SOON, _LATER = 10.0, 60.0
_REMEDY = "if it keeps the same graphs, end one of the two: they would undo each other's work"


@asynccontextmanager
async def looked_for(client: Client, settings: Settings, own: str, metrics: Metrics) -> AsyncIterator[None]:
    """Look from time to time; `own` is the namespace of this operator's own Lease, `""` if nobody knows."""
    task = asyncio.create_task(_look(client, settings, own, metrics), name="other operators")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _look(client: Client, settings: Settings, own: str, metrics: Metrics) -> None:
    log = logger(__name__)
    seen: dict[Key, str] = {}
    told: dict[Key, str] = {}
    wait = _SOON
    while True:
        with suppress(ApiError):
            found = await _leases(client, settings, own)
            holders = {key: _holder(lease) for key, lease in found.items()}
            alive = {
                key: holder for key, holder in holders.items() if holder and _is_renewed(found[key], seen.get(key))
            }
            for key, holder in alive.items():
                if told.get(key) != holder:
                    log.warning("another operator", lease=str(key), holder=holder, remedy=_REMEDY)
            for key in told.keys() - alive.keys():
                log.info("another operator is gone", lease=str(key), holder=told[key])
            seen, told = {key: _version(lease) for key, lease in found.items()}, alive
            metrics.others(len(alive))
        await asyncio.sleep(wait)
        wait = _LATER


async def _leases(client: Client, settings: Settings, own: str) -> dict[Key, Json]:
    """The Leases of operators that may keep the same graphs, without the one that this operator stands for itself.

    An operator of the whole cluster shares graphs with every other. One of a namespace shares them with one of the
    same, and with one of the whole cluster, which nothing but its usual namespace tells from others of a namespace.
    """
    places = {settings.namespace, own, NAMESPACE} - {""}
    try:
        found = (await client.list(LEASE, fields=f"metadata.name={settings.lease_name}")).items
        found = [lease for lease in found if not settings.namespace or key_of(lease).namespace in places]
    except ForbiddenError:
        found = await _gathered(client, settings.lease_name, sorted(places))
    mine = Key(own, settings.lease_name) if settings.leader_elect else None
    return {key_of(lease): lease for lease in found if key_of(lease) != mine}


async def _gathered(client: Client, name: str, places: Iterable[str]) -> list[Json]:
    """The Leases that can be read one by one."""
    found = []
    for place in places:
        with suppress(NotFoundError, ForbiddenError):
            found.append(await client.get(LEASE, name, place))
    return found


def _holder(lease: Json) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")


def _version(lease: Json) -> str:
    return f"{lease['metadata']['uid']}/{lease['metadata']['resourceVersion']}"


def _is_renewed(lease: Json, before: str | None) -> bool:
    return before is not None and before != _version(lease)
