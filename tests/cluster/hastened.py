"""An operator for which a day is over in a minute, and that says what it holds in memory.

    python hastened.py KUBECONFIG NAMESPACE SPEED

Its loop's clock runs `SPEED` times as fast as the machine's: resyncs, relists, retries and renewals of the Lease come
as often as in so much time. What waits for a server that has only real time gets as much more patience. On each line
that it reads it collects garbage and writes one line of JSON: the simulated time, traced bytes, objects by type, and
how much every queue, cache and memory of the operator holds.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import selectors
import sys
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

from stator.kube import client, events, informer
from stator.kube.apply import Applier
from stator.kube.events import Recorder
from stator.kube.lease import Election, Terms
from stator.kube.queue import Queue
from stator.kube.store import Store
from stator.operator import rendered
from stator.operator.execute import Driver
from stator.operator.log import configure
from stator.operator.metrics import Metrics
from stator.operator.run import operate
from stator.operator.settings import Settings

# Server-side times are whole seconds: a watch lasts one, which is as long as it lasts in a cluster at this speed.
SHORTEST_WATCH = 1
LONGEST_WATCH = 2
# Of events so few are remembered that this is full after a short time; how many it is makes no difference.
REMEMBERED_EVENTS = 32
# asyncio keeps up to a hundred timers that were cancelled, and their contexts; every request has some.
OF_TIMERS = frozenset({"Context", "TimerHandle"})


class _Selector(selectors.DefaultSelector):  # type: ignore[misc, valid-type] # chosen by the platform
    """Waits in real time for what is asked for in the loop's."""

    speed = 1.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """What is ready after a share of the time."""
        return list(super().select(None if timeout is None else timeout / self.speed))


class HastenedLoop(asyncio.SelectorEventLoop):
    """Real I/O on a clock that runs fast."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        selector = _Selector()
        selector.speed = speed
        super().__init__(selector)

    def time(self) -> float:
        """Seconds, of which `speed` pass in one."""
        return super().time() * self._speed


def patient(speed: float) -> None:
    """Give the server the time that it has in reality."""
    client.CONNECT_TIMEOUT *= speed
    client.REQUEST_TIMEOUT *= speed
    events.REMEMBERED = REMEMBERED_EVENTS
    informer.WATCH_SECONDS = (SHORTEST_WATCH, LONGEST_WATCH)
    silent = Terms(duration=int(15 * speed), renew_within=10.0 * speed, retry=600.0)
    for function, argument, value in (
        (informer.Informer.__init__, "silence", client.SILENT_WATCH * speed),
        (client.Client.watch, "silence", client.SILENT_WATCH * speed),
        (Election.__init__, "terms", silent),
    ):
        defaults = function.__kwdefaults__
        assert defaults is not None
        assert argument in defaults, argument
        defaults[argument] = value


def held() -> dict[str, Any]:
    """What is in memory now, but for renderings: so many are remembered, and which ones is chance."""
    for remembered in (rendered._load, rendered._render):  # noqa: SLF001 # nobody else has to forget
        remembered.cache_clear()
    gc.collect()
    objects = gc.get_objects()
    sizes: Counter[str] = Counter()
    for found in objects:
        for kind, fields in (
            (Queue, ("_ready", "_since", "_running", "_timers", "_failures", "_waiters")),
            (Store, ("_entries",)),
            (Applier, ("_memory",)),
            (Recorder, ("_said", "_shares")),
            (Driver, ("_statuses", "_settled", "_early")),
            (Metrics, ("_judged",)),
        ):
            if isinstance(found, kind):
                sizes.update({f"{kind.__name__}.{field}": len(getattr(found, field)) for field in fields})
    return {
        "time": asyncio.get_running_loop().time(),
        "bytes": tracemalloc.get_traced_memory()[0],
        "objects": len(objects),
        "types": Counter(name for found in objects if (name := type(found).__qualname__) not in OF_TIMERS).most_common(
            40
        ),
        "sizes": sizes,
        "tasks": len(asyncio.all_tasks()),
        "files": len([*Path("/proc/self/fd").iterdir()]),
        "rss": int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
    }


async def main(kubeconfig: Path, namespace: str) -> None:
    """Operate until standard input ends."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    settings = Settings(kubeconfig=kubeconfig, namespace=namespace, own_namespace=namespace, metrics_port=0)
    task = asyncio.create_task(operate(settings, Metrics()))
    while await lines.readline():
        if task.done():
            break
        print(json.dumps(held()), flush=True)  # noqa: T201 (the answer)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled() and (error := task.exception()):
        raise error


if __name__ == "__main__":
    configure("text", "warning")
    tracemalloc.start()
    patient(float(sys.argv[3]))
    with asyncio.Runner(loop_factory=lambda: HastenedLoop(float(sys.argv[3]))) as runner:
        runner.run(main(Path(sys.argv[1]), sys.argv[2]))
