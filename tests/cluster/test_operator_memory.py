"""A day of an operator's life in a minute: what comes and goes leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from apiserver import Server
from kubelet import Kubelet
from operating import Json, Kubectl, View, graph

from stator.kube.client import Client
from stator.kube.resources import DEPLOYMENT, LEASE, POD, SERVICE
from stator.operator import kinds

DAY = 24 * 3600.0
SPEED = 1800.0
GRAPHS = 3
RESTS_WITHIN = 30
# A third of the day goes by before it is looked at what the operator holds.
WARM = DAY / 3
# What is left when all graphs are gone may differ by what Python's own caches hold.
MORE = 1.05


class Hastened:
    """An operator in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Made by `hastened`."""
        self._process = process
        self._born = 0.0

    async def held(self) -> dict[str, Any]:
        """What it holds; `age` is the simulated seconds since it was first asked."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(b"\n")
        line = await self._process.stdout.readline()
        assert line, "the operator has ended"
        found: dict[str, Any] = json.loads(line)
        self._born = self._born or found["time"]
        return found | {"age": found["time"] - self._born}


@asynccontextmanager
async def hastened(kubeconfig: Path, namespace: str) -> AsyncIterator[Hastened]:
    """Such an operator."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(Path(__file__).with_name("hastened.py")), str(kubeconfig), namespace, str(SPEED)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    try:
        yield Hastened(process)
    finally:
        assert process.stdin
        process.stdin.close()
        await process.wait()


async def live(view: View, kubectl: Kubectl, generation: int) -> None:
    """Graphs are made, scaled, changed and deleted, some of them before they are Ready, some with a mistake."""
    names = [f"graph-{generation}-{number}" for number in range(GRAPHS)]

    def made(image: str) -> list[Json]:
        return [graph(name, image=f"reg/sglang-runtime:{image}", worker={"scalingAdapter": {}}) for name in names]

    broken = graph(f"broken-{generation}")
    broken["spec"]["annotations"] = {"nvidia.com/deployment-rolling-update-max-surge": "lots"}
    await kubectl.apply(*made("1.6.0"), broken)
    await view.until(lambda: all(map(view.ready, names)))
    await kubectl("scale", *(f"dgdsa/{name}-worker" for name in names), "--replicas=1")
    await kubectl.apply(*made("1.6.1"))
    await view.until(lambda: all(map(view.ready, names[1:])))
    await kubectl("delete", "dgd", "--all", "--wait=false")


def at_rest(held: dict[str, Any]) -> bool:
    """Whether it knows that all are gone, and has nothing to do."""
    sizes = held["sizes"]
    return not any(sizes[name] for name in ("Queue._since", "Queue._running", "Driver._statuses"))


async def empty(view: View) -> None:
    """Return when the garbage collector has removed all that graphs were made into."""
    await view.until(lambda: not any(map(view.all, (*kinds.OWN, DEPLOYMENT, SERVICE, POD))))


async def test_a_day_of_graphs_that_come_and_go_leaves_memory_flat(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Resyncs, relists, renewals and graphs of 24 hours: queues, caches, objects and bytes are what they were."""
    async with Kubelet(client, namespace), hastened(cluster.kubeconfig, namespace) as operator:
        generation = 0

        async def until(age: float, generations: int) -> dict[str, Any]:
            nonlocal generation
            while (await operator.held())["age"] < age or generation < generations:
                await live(view, kubectl, generation)
                generation += 1
            await empty(view)
            async with asyncio.timeout(RESTS_WITHIN):
                while not at_rest(found := await operator.held()):  # noqa: ASYNC110 (another process tells us nothing)
                    await asyncio.sleep(0.2)
            return found

        warm = await until(WARM, 4)
        now = await until(DAY, generation + 3)
        renewed = (await client.get(LEASE, "stator", namespace))["spec"]["leaseTransitions"]
        left = {name: count for name, count in now["sizes"].items() if count and not name.startswith("Recorder")}
        kept = left.pop("Store._entries")
        assert kept == warm["sizes"]["Store._entries"], "the caches hold what the namespace has, and no more"
        assert left.pop("Queue._waiters")
        assert not left
        different = {
            name: (dict(warm["types"]).get(name), count)
            for name, count in dict(now["types"]).items()
            if count > MORE * dict(warm["types"]).get(name, count) + 20
        }
        assert not different
        assert now["objects"] <= MORE * warm["objects"]
        assert now["bytes"] <= MORE * warm["bytes"]
        assert now["tasks"] == warm["tasks"]
        assert now["files"] <= warm["files"] + 2
        assert renewed == 0, "it led all day"
