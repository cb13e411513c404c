"""The operator as a process: connect, watch, serve, take the lead, reconcile; and leave in order.

Every instance follows the cluster and serves its webhooks; the one that holds the Lease reconciles. An instance that
loses the Lease stops, and ends: what is restarted stands by. When the cluster gains or loses one of the kinds that
others bring (LeaderWorkerSet, Grove), everything that follows it is built anew.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from stator.admission import Installed
from stator.errors import Problem, StatorError
from stator.kube.client import Client
from stator.kube.connection import connect
from stator.kube.errors import ApiError, UnfitClusterError
from stator.kube.events import Recorder
from stator.kube.health import Health
from stator.kube.lease import Election
from stator.kube.resources import Key, Kind, installed
from stator.operator import kinds
from stator.operator.capabilities import schedulers
from stator.operator.controllers import Controllers, controllers
from stator.operator.definitions import REMEDY, Json, outdated
from stator.operator.endpoints import endpoints
from stator.operator.log import logger
from stator.operator.metrics import Metrics
from stator.operator.others import looked_for
from stator.operator.settings import Settings
from stator.operator.webhooks.serving import WebhookOptions, webhooks
from stator.operator.webhooks.validation import Policy

Definitions = Callable[[], Sequence[Json]]

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_REPORTER = "stator.dev/operator"
_SELF_REVIEW = Kind("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False)
# Seconds between two looks at which optional kinds there are.
_DISCOVERY = 60.0


async def run(settings: Settings, definitions: Definitions = tuple) -> None:
    """Run until SIGTERM or SIGINT. Raises `StatorError` for what cannot work at all, and when the Lease is lost.

    `definitions` makes what the cluster's are compared with, once: they take more than the objects of many graphs.
    """
    task = asyncio.ensure_future(operate(settings, definitions=definitions))
    loop = asyncio.get_running_loop()

    def end() -> None:
        # A second signal would tear down the connection under passes that are being ended in order.
        if not task.cancelling():
            task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    with suppress(asyncio.CancelledError):
        await task


async def operate(settings: Settings, metrics: Metrics | None = None, *, definitions: Definitions = tuple) -> None:
    """Run until cancelled; `metrics` are filled if they are given."""
    metrics = metrics or Metrics()
    log = logger(__name__)
    state = _State()

    def count(verb: str, kind: str, status: int, seconds: float) -> None:
        del kind, seconds
        metrics.requested(verb, status or "error")

    async with connect(settings.kubeconfig, on_request=count) as client, AsyncExitStack() as stack:
        found = await _installed(client)
        state.installed = found
        for problem in await outdated(client, definitions()):
            log.warning("definitions differ", what=problem.what, remedy=problem.remedy)
        if settings.metrics_port:
            await stack.enter_async_context(
                endpoints(
                    metrics,
                    healthy=state.why_dead,
                    ready=state.why_not_ready,
                    host=settings.metrics_host,
                    port=settings.metrics_port,
                )
            )
        if settings.webhook_port:
            state.webhooks = await stack.enter_async_context(_webhooks(client, settings, state))
        await stack.enter_async_context(looked_for(client, settings, _own_namespace(settings), metrics))
        while True:
            names = sorted(kind.kind for kind in found if kind not in kinds.OWN)
            log.info("starting", namespace=settings.namespace or "all", optional=names)
            if settings.scheduler == "auto" and len(there := schedulers(found)) > 1:
                log.warning("no scheduler chosen", there=there, remedy="give --scheduler")
            found = await _until_kinds_change(client, settings, found, metrics, state)
            state.installed = found


class _State:
    """What probes and webhooks ask about, as it is now."""

    def __init__(self) -> None:
        self.health: Health | None = None
        self.webhooks: Callable[[], str] = lambda: ""
        self.installed: frozenset[Kind] = frozenset()

    def why_dead(self) -> str:
        return self.health.why_dead() if self.health else ""

    def why_not_ready(self) -> str:
        return (self.health.why_not_ready() if self.health else "is starting") or self.webhooks()


async def _until_kinds_change(
    client: Client, settings: Settings, found: frozenset[Kind], metrics: Metrics, state: _State
) -> frozenset[Kind]:
    """Follow and reconcile a cluster of these kinds; the ones it has when they are others."""
    recorder = Recorder(client, _REPORTER)
    made = controllers(client, settings, found, metrics=metrics, recorder=recorder)
    state.health = Health(made.caches.every)
    following = asyncio.create_task(made.follow(), name="following")
    leading = asyncio.create_task(_lead(client, settings, made, metrics), name="election")
    changed = asyncio.create_task(_change(client, found), name="discovery")
    tasks = {following, leading, changed}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # The lead is given up first: until then what it reads is kept up to date.
        for group in ({leading}, {following, changed}):
            for task in group:
                if not task.done():
                    task.cancel()
            await asyncio.wait(group)
    for task in (leading, following):
        if not task.cancelled() and (error := task.exception()):
            raise error
    return changed.result()


async def _lead(client: Client, settings: Settings, made: Controllers, metrics: Metrics) -> None:
    async def work() -> None:
        await made.work(settings.resync)

    if not settings.leader_elect:
        metrics.leads(leader=True)
        await work()
        return
    metrics.leads(leader=False)
    key = Key(own_namespace(settings), settings.lease_name)
    election = Election(client, key, on_leader=lambda leader: metrics.leads(leader=leader == election.identity))
    await election.run(work)


async def _change(client: Client, found: frozenset[Kind]) -> frozenset[Kind]:
    """The kinds of the cluster, once they are others than these."""
    while True:
        await asyncio.sleep(_DISCOVERY)
        with suppress(ApiError):
            now = await installed(client, kinds.LOOKED_FOR)
            if now != found and now.issuperset(kinds.OWN):
                return now


async def _installed(client: Client) -> frozenset[Kind]:
    """The kinds of the cluster. Raises `UnfitClusterError` if it lacks the operator's own."""
    found = await installed(client, kinds.LOOKED_FOR)
    missing = [kind.kind for kind in kinds.OWN if kind not in found]
    if missing:
        what = f"the cluster does not serve {', '.join(missing)} in {kinds.GRAPH.api_version}"
        raise UnfitClusterError(Problem(what=what, remedy=REMEDY))
    return found


@asynccontextmanager
async def _webhooks(client: Client, settings: Settings, state: _State) -> AsyncIterator[Callable[[], str]]:
    """Serve the webhooks; why they cannot be used yet."""
    namespace = own_namespace(settings)
    trusted = frozenset({await _user_name(client)} - {""})

    def policy() -> Policy:
        has = state.installed
        return Policy(
            render=settings.options.render,
            installed=Installed(
                grove=kinds.POD_CLIQUE_SET in has, inference_pools=kinds.INFERENCE_POOL in has, snapshots=False
            ),
            trusted=trusted,
            reject=frozenset(settings.reject),
        )

    where = WebhookOptions(
        namespace=namespace, host=settings.webhook_host, port=settings.webhook_port, hosts=settings.webhook_hosts
    )
    async with webhooks(client, policy, where) as served:
        yield served.why_not_ready


async def _user_name(client: Client) -> str:
    """Who the API server takes this operator for; `""` if it does not say."""
    review = {"apiVersion": _SELF_REVIEW.api_version, "kind": _SELF_REVIEW.kind}
    try:
        answer = await client.create(_SELF_REVIEW, {**review, "metadata": {}})
    except ApiError:
        return ""
    return str(((answer.get("status") or {}).get("userInfo") or {}).get("username", ""))


def own_namespace(settings: Settings) -> str:
    """Where the Lease and the certificates are. Raises `StatorError` outside of a pod if nobody has said."""
    if found := _own_namespace(settings):
        return found
    what = "cannot tell the operator's own namespace, in which its Lease is"
    raise StatorError(Problem(what=what, remedy="give --own-namespace, or --no-leader-elect for a trial alone"))


def _own_namespace(settings: Settings) -> str:
    """The same, `""` if nobody has said."""
    given = settings.own_namespace or os.environ.get("POD_NAMESPACE") or settings.namespace
    if given:
        return given
    with suppress(OSError):
        return _ACCOUNT.read_text().strip()
    return ""
