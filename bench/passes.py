"""Passes over objects that nobody changed, per CPU second: every key of a resting operator is queued again.

    python bench/passes.py --graphs 500

The operator's own caches, controllers and drivers run in this process, on a real API server without controllers. First
with what is remembered of the last pass, which is what a resync and an event without news cost; then as after a start,
when each pass plans and renders anew to find that nothing is to be done.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "cluster")]

from apiserver import Server, attach, find_assets  # noqa: E402
from onboard import NAMESPACE, add, prepare  # noqa: E402
from operating import install  # noqa: E402

from stator.kube.connection import connect  # noqa: E402
from stator.kube.events import Recorder  # noqa: E402
from stator.kube.resources import installed  # noqa: E402
from stator.operator import kinds  # noqa: E402
from stator.operator.controllers import Controllers, controllers  # noqa: E402
from stator.operator.log import configure  # noqa: E402
from stator.operator.metrics import Metrics  # noqa: E402
from stator.operator.settings import Settings  # noqa: E402

ROUNDS = 5


async def resting(made: Controllers, writes: list[str]) -> None:
    """Return when nothing waits and nothing was written for two seconds."""
    before, since = -1, time.monotonic()
    while time.monotonic() < since + 2:
        await asyncio.sleep(0.1)
        waiting = sum(len(controller.queue) for _, controller in made.controllers)
        if waiting or len(writes) != before:
            before, since = len(writes), time.monotonic()


async def worked_off(made: Controllers) -> None:
    """Return when every key that waits has been worked on."""
    for _, controller in made.controllers:
        while len(controller.queue):  # noqa: ASYNC110 # a queue has no event for it, and bench adds none
            await asyncio.sleep(0.01)
        await controller.queue.wait_idle()


async def measure(server: Server, graphs: int) -> dict[str, Any]:
    """Onboard, then count."""
    writes: list[str] = []
    metrics = Metrics()

    def count(verb: str, kind: str, _status: int, _seconds: float) -> None:
        if verb not in ("get", "list", "watch"):
            writes.append(f"{verb} {kind}")

    kubeconfig = prepare(server)
    async with connect(server.kubeconfig) as client:
        for first in range(0, graphs, 32):
            await asyncio.gather(*(add(client, f"g-{each}") for each in range(first, min(first + 32, graphs))))
    async with connect(kubeconfig, on_request=count) as client:
        found = await installed(client, (*kinds.OWN, *kinds.OPTIONAL))
        recorder = Recorder(client, "stator.dev/operator")
        made = controllers(client, Settings(namespace=NAMESPACE), found, metrics=metrics, recorder=recorder)
        tasks = [asyncio.create_task(made.follow()), asyncio.create_task(made.work(3600))]
        while not writes:  # noqa: ASYNC110 # as above
            await asyncio.sleep(0.1)
        await resting(made, writes)
        before, cpu, done = len(writes), time.process_time(), counted(metrics)
        for _ in range(ROUNDS):
            for kind, controller in made.controllers:
                for key in made.caches.informers[kind].store:
                    controller.queue.add(key)
            await worked_off(made)
        unchanged = (counted(metrics) - done) / (time.process_time() - cpu)
        await stopped(tasks)
        made = controllers(client, Settings(namespace=NAMESPACE), found, metrics=metrics, recorder=recorder)
        tasks = [asyncio.create_task(made.follow())]
        while made.unsynced:  # noqa: ASYNC110 # as above
            await asyncio.sleep(0.1)
        cpu, done = time.process_time(), counted(metrics)
        tasks.append(asyncio.create_task(made.work(3600)))
        await worked_off(made)
        anew = (counted(metrics) - done) / (time.process_time() - cpu)
        await stopped(tasks)
    return {
        "graphs": graphs,
        "passes/cpu s": round(unchanged),
        "first passes/cpu s": round(anew),
        "writes": len(writes) - before,
    }


def counted(metrics: Metrics) -> int:
    """Passes so far."""
    samples = (sample for family in metrics.registry.collect() for sample in family.samples)
    return int(sum(sample.value for sample in samples if sample.name == "stator_reconcile_total"))


async def stopped(tasks: list[asyncio.Task[None]]) -> None:
    """End them."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=500)
    arguments = parser.parse_args()
    assets = find_assets()
    if assets is None:
        sys.exit("no API server: hack/kubernetes/build failed")
    configure("json", "warning")
    with tempfile.TemporaryDirectory() as made, attach(Path(made) / "cluster", assets, controllers=()) as server:
        install(server)
        print(json.dumps(asyncio.run(measure(server, arguments.graphs))))


if __name__ == "__main__":
    main()
