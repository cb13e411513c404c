"""`python -m stator.local.supervisor`: reads an Order from standard input, answers on standard output, supervises.

SIGTERM or SIGINT end the graph in order. The lock on the graph is an open file inherited from the process that
started this one, and is let go by the kernel when this process ends, however it ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stator.errors import Problem, StatorError
from stator.local import processes
from stator.local.state import GraphDirectory, ProcessIdentity, SupervisorRecord
from stator.local.supervisor.graph import GraphSupervisor
from stator.local.supervisor.order import Answer, Order
from stator.local.supervisor.orphans import Orphans


def main() -> int:
    """Supervise one graph from beginning to end, as a process that whoever started this one need not wait for."""
    if os.fork():
        os._exit(0)
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    return asyncio.run(_supervise(order))


async def _supervise(order: Order) -> int:
    directory = GraphDirectory(Path(order.plan.directory))
    supervisor = GraphSupervisor(order)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, supervisor.stop)
    try:
        Orphans().adopt()
        _record(directory, order)
        await supervisor.prepare()
    except (StatorError, OSError) as error:
        supervisor.abandon()
        directory.forget_supervisor()
        problems = error.problems if isinstance(error, StatorError) else (Problem(what=str(error)),)
        _answer(Answer(problems))
        return 1
    _answer(Answer())
    with _ending_with(order.owner, supervisor.stop):
        await supervisor.run()
    directory.forget_supervisor()
    return 0


def _record(directory: GraphDirectory, order: Order) -> None:
    identity = processes.identify(os.getpid())
    if identity:
        directory.write_supervisor(SupervisorRecord(identity, order.marker, time.time()))
    directory.write_plan(order.plan)


@contextmanager
def _ending_with(owner: ProcessIdentity | None, stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` when `owner` ends, also by a signal nobody can handle: the kernel makes its descriptor readable."""
    if owner is None:
        yield
        return
    try:
        descriptor = os.pidfd_open(owner.pid)
    except ProcessLookupError:
        stop()
        yield
        return
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(descriptor)
        stop()

    try:
        # The descriptor names whoever has the pid now; the owner may be gone and its pid given out again.
        if processes.is_alive(owner):
            loop.add_reader(descriptor, ended)
        else:
            stop()
        yield
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _answer(answer: Answer) -> None:
    """Say it, and let go of standard output: whoever started this is waiting for its end."""
    sys.stdout.buffer.write(msgspec.json.encode(answer))
    sys.stdout.buffer.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
