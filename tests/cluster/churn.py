"""Graphs that come and go under an operator for which a day is over in a minute (`hastened.py`)."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from operating import Json, Kubectl, View, graph

from stator.kube.resources import DEPLOYMENT, POD, SERVICE
from stator.operator import kinds

DAY = 24 * 3600.0
SPEED = 1800.0
GRAPHS = 3
RESTS_WITHIN = 30
# Every namespace has the account `default`; all else was made of graphs.
OWN_OBJECTS = 1


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


def _is_busy(held: dict[str, Any]) -> bool:
    sizes = held["sizes"]
    works = any(sizes[name] for name in ("Queue._since", "Queue._running", "Driver._statuses", "Driver._settled"))
    return works or sizes["Store._entries"] > OWN_OBJECTS


async def rested(operator: Hastened) -> dict[str, Any]:
    """What it holds once it knows that all graphs are gone, and has nothing to do."""
    async with asyncio.timeout(RESTS_WITHIN):
        while _is_busy(found := await operator.held()):  # noqa: ASYNC110 (another process tells us nothing)
            await asyncio.sleep(0.2)
    return found


async def empty(view: View) -> None:
    """Return when the garbage collector has removed all that graphs were made into."""
    await view.until(lambda: not any(map(view.all, (*kinds.OWN, DEPLOYMENT, SERVICE, POD))))
