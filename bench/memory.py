"""What the operator takes for many graphs that differ: `stator operator run`, webhooks and all, on a real API server.

    python bench/memory.py --graphs 10000

There are no controllers, so no Pods. Graphs come in steps; after each step the operator comes to rest and its resident
memory is read. At the end a new process starts on what is there: its memory and its peak are those of an upgrade of the
operator, which lists everything at once. What a graph takes is the slope between the first step and the last; with
fewer graphs than 10,000 that many are extrapolated, which says nothing below a few thousand: the first hundreds warm up
what is there once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "cluster")]

from apiserver import Server, attach, find_assets, free_ports  # noqa: E402
from fleet import graph  # noqa: E402
from onboard import DEPLOYMENTS, NAMESPACE, Process, count, prepare, rest, running, stator  # noqa: E402
from operating import install  # noqa: E402

from stator.kube.client import Client  # noqa: E402
from stator.kube.connection import connect  # noqa: E402
from stator.kube.resources import DEPLOYMENT  # noqa: E402
from stator.operator import kinds  # noqa: E402

TARGET = 10_000
AT_ONCE = 16


def operator(kubeconfig: Path) -> Process:
    """The operator, serving webhooks too."""
    [port] = free_ports(1)
    return stator(kubeconfig, "--webhook-host", "127.0.0.1", "--webhook-port", str(port))


async def add(client: Client, numbers: range) -> None:
    """Create graphs, some at a time."""

    async def one(number: int) -> None:
        value = graph(number)
        value["metadata"]["namespace"] = NAMESPACE
        await client.create(kinds.GRAPH, value)

    for first in range(0, len(numbers), AT_ONCE):
        await asyncio.gather(*map(one, numbers[first : first + AT_ONCE]))


async def measure(server: Server, graphs: int, step: int) -> dict[str, Any]:
    """Onboard step by step, then start anew."""
    kubeconfig = prepare(server)
    taken: dict[int, float] = {}
    async with connect(server.kubeconfig) as client:
        with running(operator(kubeconfig)) as process:
            await rest(process)
            taken[0] = process.memory("VmRSS")
            for first in range(0, graphs, step):
                await add(client, range(first, first + step))
                while await count(client, DEPLOYMENT) < DEPLOYMENTS * (first + step):  # noqa: ASYNC110 # the server's
                    await asyncio.sleep(0.5)
                await rest(process)
                taken[first + step] = process.memory("VmRSS")
                print(f"{first + step} graphs: {taken[first + step]:.1f} MiB", file=sys.stderr, flush=True)
    with running(operator(kubeconfig)) as process:
        await asyncio.sleep(10)  # until the API server has answered the first list
        await rest(process)
        anew = {"anew MiB": round(process.memory("VmRSS")), "anew peak MiB": round(process.memory())}
    _, low, *_, high = taken
    slope = (taken[high] - taken[low]) / (high - low)
    return {
        "graphs": high,
        "without graphs MiB": round(taken[0]),
        "MiB": round(taken[high]),
        "KiB/graph": round(1024 * slope, 1),
        f"MiB at {TARGET}": round(taken[high] + slope * (TARGET - high)),
        **anew,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=TARGET)
    parser.add_argument("--step", type=int, default=500)
    arguments = parser.parse_args()
    assets = find_assets()
    if assets is None:
        sys.exit("no API server: hack/kubernetes/build failed")
    with tempfile.TemporaryDirectory() as made, attach(Path(made) / "cluster", assets, controllers=()) as server:
        install(server)
        print(json.dumps(asyncio.run(measure(server, arguments.graphs, arguments.step))))


if __name__ == "__main__":
    main()
