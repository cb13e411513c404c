"""What the operator's caches and notes take for many graphs, without onboarding them: one graph's objects, multiplied.

    python bench/memory.py --graphs 10000 OBJECT.json …

The objects are those of one graph as `kubectl get -o json --show-managed-fields` prints them. Each copy has names and
uids of its own. They go through the informers' own stores, and every graph and component is observed as a pass does,
with the reads that are remembered of it. What requests and rendering take for a moment is not in the number.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from pathlib import Path
from typing import Any, cast

from stator.kube.client import Client
from stator.kube.events import Recorder
from stator.kube.resources import Key
from stator.operator import kinds
from stator.operator.controllers import Controllers, controllers
from stator.operator.kinds import KINDS
from stator.operator.metrics import Metrics
from stator.operator.settings import Settings

SECTION = 1000


def resident(what: str = "VmRSS") -> float:
    """MiB."""
    return int(re.search(rf"{what}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024  # type: ignore[index]


def copies(texts: list[str], name: str, number: int) -> list[dict[str, Any]]:
    """The objects of one more graph."""
    suffix = f"{number:012x}"
    found = [text.replace(name, f"g-{number}") for text in texts]
    # The last group of a uid has twelve digits.
    return [
        json.loads(re.sub(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-)[0-9a-f]{12}", rf"\g<1>{suffix}", text))
        for text in found
    ]


async def look(made: Controllers, name: str) -> None:
    """Observe every object of a kind once, and remember what that read."""
    for kind, controller in made.controllers:
        if kind.kind == name:
            for key in made.caches.informers[kind].store:
                driver = controller._reconcile  # noqa: SLF001 # what is measured is what it keeps
                await note(driver, key)


async def note(driver: Any, key: Key) -> None:
    """As the pass does that finds nothing to do."""
    found = await driver._look(key)  # noqa: SLF001 # as above
    driver._settle(key, found._replace(plan=found.plan.__class__()))  # noqa: SLF001 # as above


async def measure(files: list[Path], graphs: int) -> dict[str, float]:
    """Fill, look, and read the process's size."""
    texts = [file.read_text() for file in files]
    given = [json.loads(text) for text in texts]
    name = next(value["metadata"]["name"] for value in given if value["kind"] == kinds.GRAPH.kind)
    nobody = cast("Client", None)
    found = frozenset(kinds.OWN)
    made = controllers(nobody, Settings(), found, metrics=Metrics(), recorder=Recorder(nobody, "bench"))
    start = resident()
    for number in range(graphs):
        for value in copies(texts, name, number):
            made.caches.informers[KINDS.of(value)].store.put(value)
    filled = resident()
    for kind in (kinds.GRAPH.kind, kinds.COMPONENT.kind):
        await look(made, kind)
    return {
        "graphs": graphs,
        "empty MiB": round(start),
        "caches MiB": round(filled - start),
        "notes MiB": round(resident() - filled),
        "whole MiB": round(resident()),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=10_000)
    parser.add_argument("files", type=Path, nargs="+")
    arguments = parser.parse_args()
    print(json.dumps(asyncio.run(measure(arguments.files, arguments.graphs))))


if __name__ == "__main__":
    main()
