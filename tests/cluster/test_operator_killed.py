"""An operator that is killed after every single write: what it leaves is taken up by the next one."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from aiohttp import web
from apiserver import Server
from kubelet import Kubelet
from operating import Json, Kubectl, View, graph, operating
from proxy import Forward, answer, lose_answer, proxying, through

from stator.kube.client import Client
from stator.kube.resources import DEPLOYMENT, POD, ROLE, ROLE_BINDING, SERVICE, SERVICE_ACCOUNT
from stator.operator import kinds

OLD, NEW = (f"reg/sglang-runtime:1.6.{patch}" for patch in (0, 1))
# What is written as often as anything changes beneath it.
COUNTERS = ("deployment.kubernetes.io/revision", "stator.dev/template")

Step = Callable[[Kubectl], Awaitable[Any]]


class Guillotine:
    """What an operator is cut off by: its first write is done and not answered, and after that it reaches nobody.

    Ending it by a signal would let it end what it is doing.
    """

    def __init__(self) -> None:
        """Nothing is written yet."""
        self.fallen = asyncio.Event()

    def matches(self, request: web.Request) -> bool:
        """Whether a request is a write, or too late."""
        return self.fallen.is_set() or request.method != "GET"

    async def fault(self, request: web.Request, forward: Forward) -> web.StreamResponse:
        """Fall, or have fallen."""
        is_first = not self.fallen.is_set()
        self.fallen.set()
        return await (lose_answer() if is_first else answer(500, "InternalError"))(request, forward)


async def has_written(cluster: Server, namespace: str, directory: Path, within: float) -> bool:
    """Run an operator that is killed after one write; whether it came to that in so many seconds."""
    guillotine = Guillotine()
    async with proxying(cluster.kubeconfig) as proxy:
        proxy.on(guillotine.matches, guillotine.fault, times=1_000_000)
        async with operating(through(proxy, directory), namespace):
            with suppress(TimeoutError):
                await asyncio.wait_for(guillotine.fallen.wait(), within)
    return guillotine.fallen.is_set()


async def wishes(view: View, client: Client) -> Any:
    """What the objects ask for, without what differs from one making of them to another."""
    found: dict[str, Any] = {}
    for kind in (kinds.GRAPH, kinds.COMPONENT, kinds.ADAPTER, DEPLOYMENT):
        for value in view.all(kind):
            metadata = value["metadata"]
            annotations = {
                key: text for key, text in (metadata.get("annotations") or {}).items() if key not in COUNTERS
            }
            found[f"{kind.kind}/{metadata['name']}"] = [metadata.get("labels"), annotations, value["spec"]]
    for kind in (SERVICE, SERVICE_ACCOUNT, ROLE, ROLE_BINDING):
        for value in (await client.list(kind, view.namespace)).items:
            found[f"{kind.kind}/{value['metadata']['name']}"] = len(value["metadata"].get("ownerReferences") or ())
    return msgspec.json.decode(msgspec.json.encode(found))


def wanted(image: str = OLD, *, spare: bool = False, **changes: Any) -> Json:
    """A graph with an adapter, and a third component if there is to be a spare one."""
    value = graph(image=image, worker={"scalingAdapter": {}}, **changes)
    if spare:
        value["spec"]["components"].append({**copy.deepcopy(value["spec"]["components"][0]), "name": "Spare"})
        del value["spec"]["components"][-1]["type"]
    return value


def applied(value: Json) -> Step:
    """Somebody applies a graph."""
    return lambda kubectl: kubectl.apply(value)


async def scaled(kubectl: Kubectl) -> None:
    """An autoscaler asks for more workers, and a person for more frontends."""
    await kubectl("scale", "dgdsa/chat-worker", "--replicas=4")
    await kubectl.apply(wanted(frontend={"replicas": 3}))


class Change(NamedTuple):
    """What there is before, what is done to it, how many pods there are then, and how many writes it takes at least."""

    before: Json | None
    do: Step
    pods: int
    writes: int


CHANGES = {
    "a new graph": Change(None, applied(wanted()), 3, 13),
    "a rollout": Change(wanted(), applied(wanted(NEW)), 3, 12),
    "a component that goes": Change(wanted(spare=True), applied(wanted()), 3, 2),
    "a scale": Change(wanted(), scaled, 7, 4),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_an_operator_killed_at_every_write_ends_in_the_same_state(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl, tmp_path: Path, change: Change
) -> None:
    """Each operator lives for one write; what they leave together is what one that lived on would have left."""

    def ends() -> bool:
        made = [len(view.all(kind)) for kind in (POD, DEPLOYMENT, SERVICE)]
        return view.ready("chat") and made == [change.pods, 2, 2]

    async def begin() -> None:
        if change.before is not None:
            await kubectl.apply(change.before)
            async with operating(cluster.kubeconfig, namespace):
                await view.until(lambda: view.ready("chat"))
        await change.do(kubectl)

    async with Kubelet(client, namespace):
        await begin()
        async with operating(cluster.kubeconfig, namespace, resync=1.0) as operator:
            await view.until(ends)
            await view.settle(operator, passes=4)
        expected = await wishes(view, client)
        await kubectl("delete", "dgd", "chat", "--cascade=foreground", "--timeout=60s")
        await view.until(lambda: not view.all(DEPLOYMENT) and not view.all(POD))
        await begin()
        lives = 0
        while await has_written(cluster, namespace, tmp_path, within=3.0) or not ends():
            lives += 1
            assert lives < 200
        assert lives >= change.writes
        async with operating(cluster.kubeconfig, namespace, resync=1.0) as operator:
            await view.settle(operator, passes=4)
            assert operator.writes == 0
        assert await wishes(view, client) == expected
