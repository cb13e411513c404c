"""How cells share the machine, and when a start is decided."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from stator.local.state import GraphStatus, PodStatus, Reason, Transition
from stator.matrix.cells import Cell, Pair
from stator.matrix.results import CellResult
from stator.matrix.running.cell import InterruptedRunError
from stator.matrix.running.pool import Load, admits, next_cell, run_all
from stator.matrix.running.settling import CANARY_PATIENCE, settle
from stator.versions import Version

GIB = 1 << 30


def cells(scenario: str, number: int) -> list[Cell]:
    """Cells of one scenario."""
    return [Cell(scenario, Pair(Version(1, 6, patch), Version(1, 6, patch))) for patch in range(number)]


CHAT, BIG = cells("chat", 6), cells("big", 3)


def load(*running: Cell, budget: int = 8 * GIB, jobs: int = 4, **sizes: int) -> Load:
    """What runs now."""
    return Load(running=running, sizes=sizes, budget=budget, jobs=jobs)


def test_a_scenario_that_was_not_measured_runs_alone() -> None:
    """Its first cell neither joins others nor is joined."""
    assert admits(load(), CHAT[0])
    assert not admits(load(CHAT[0]), CHAT[1])
    assert not admits(load(CHAT[0], big=GIB), BIG[0])
    assert not admits(load(BIG[0], big=GIB), CHAT[0])


def test_measured_cells_share_the_memory_and_the_jobs() -> None:
    """As many as fit, never more than so many at once; a machine too small for one still runs one."""
    assert admits(load(CHAT[0], chat=4 * GIB), CHAT[1])
    assert not admits(load(CHAT[0], chat=4 * GIB + 1), CHAT[1])
    assert not admits(load(*CHAT[:4], chat=1), CHAT[4])
    assert admits(load(chat=99 * GIB), CHAT[0])


def test_a_cell_that_waits_for_room_lets_smaller_ones_pass() -> None:
    """So that no core idles."""
    busy = load(BIG[0], big=5 * GIB, chat=GIB)
    assert next_cell(busy, [BIG[1], CHAT[0]]) == CHAT[0]
    assert next_cell(busy, [BIG[1]]) is None


class Watcher:
    """Remembers results."""

    def __init__(self) -> None:
        self.results: list[str] = []

    def started(self, cell: Cell) -> None:
        """Nothing."""

    def doing(self, cell: Cell, what: str) -> None:
        """Nothing."""

    def finished(self, result: CellResult) -> None:
        """A result."""
        self.results.append(result.cell.id)


class Counter:
    """How many run at once, at most."""

    def __init__(self, together: int) -> None:
        self.now = self.most = 0
        self.lock = threading.Lock()
        self.barrier = threading.Barrier(together)

    def __call__(self, cell: Cell) -> CellResult:
        """One cell; after the first, which runs alone, cells wait until `together` of them run."""
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        if cell.pair.frontend.patch:
            self.barrier.wait(30)
        with self.lock:
            self.now -= 1
        return CellResult(cell=cell, outcome="pass", memory=GIB)


def run(
    planned: list[Cell], work: Callable[[Cell], CellResult], watcher: Watcher, interrupt: Callable[[], None]
) -> None:
    """Run them on a machine of 5 GiB and two jobs."""
    run_all(planned, work, watcher=watcher, sizes={}, available=5 * GIB, jobs=2, interrupt=interrupt)


def test_every_cell_runs_and_two_run_at_once() -> None:
    """The first alone, the others beside each other, each once."""
    watcher, counter = Watcher(), Counter(2)
    run(CHAT[:5], counter, watcher, lambda: None)
    assert sorted(watcher.results) == [cell.id for cell in CHAT[:5]]
    assert counter.most == 2


class Interrupting(Watcher):
    """Ctrl-C comes when a cell is announced and does not run yet."""

    def started(self, cell: Cell) -> None:
        """The second cell is the moment."""
        if cell == CHAT[1]:
            raise KeyboardInterrupt


def test_an_interrupt_between_two_cells_ends_the_run_in_order() -> None:
    """The cell that runs is waited for, the one that was about to start never starts."""
    release, ran = threading.Event(), []

    def run(cell: Cell) -> CellResult:
        ran.append(cell)
        release.wait()
        raise InterruptedRunError

    with pytest.raises(KeyboardInterrupt):
        run_all(CHAT[:2], run, watcher=Interrupting(), sizes={"chat": 1}, available=GIB, jobs=2, interrupt=release.set)
    assert ran == CHAT[:1]
    assert not [thread for thread in threading.enumerate() if thread.name == CHAT[0].id]


def test_what_ends_a_run_ends_the_cells_that_run() -> None:
    """The error of one cell is raised after the others were interrupted and have ended."""
    going, ended = threading.Event(), threading.Event()

    def work(cell: Cell) -> CellResult:
        if cell == CHAT[0]:
            return CellResult(cell=cell, outcome="pass", memory=1)
        if cell == CHAT[1]:
            going.wait(30)
            raise ZeroDivisionError
        going.set()
        assert interrupted.wait(30)
        ended.set()
        raise InterruptedRunError

    interrupted = threading.Event()
    watcher = Watcher()
    with pytest.raises(ZeroDivisionError):
        run(CHAT[:3], work, watcher, interrupted.set)
    assert ended.is_set()
    assert watcher.results == [CHAT[0].id]


def pod(reason: Reason, *, since: float = 0, restarts: int = 0) -> PodStatus:
    """A pod in this state."""
    return PodStatus(
        name="worker-0",
        component="Worker",
        type="worker",
        version="1.5.1 (tag)",
        replica=0,
        ready=reason == "",
        reason=reason,
        message="said so",
        restarts=restarts,
        transitions=(Transition(since, since, reason == "", reason),),
    )


def status(*pods: PodStatus) -> GraphStatus:
    """A graph of these pods."""
    ready = all(each.ready for each in pods)
    return GraphStatus(
        name="g", namespace="n", phase="Ready" if ready else "Starting", revision=1, started_at=time.time(), pods=pods
    )


@pytest.mark.parametrize(
    ("pods", "waited", "state"),
    [
        ([pod("")], 1, "ready"),
        ([pod(""), pod("Probe")], 1, ""),
        ([pod(""), pod("Probe")], 60, "failed"),
        ([pod("RuntimeMissing")], 1, "failed"),
        ([pod("CrashLoopBackOff")], 1, ""),
        ([pod("CrashLoopBackOff", restarts=1)], 1, "failed"),
        ([pod("Canary", since=5)], 5 + CANARY_PATIENCE - 1, ""),
        ([pod(""), pod("Canary", since=5)], 5 + CANARY_PATIENCE, "canary"),
        ([pod("Probe"), pod("Canary", since=5)], 5 + CANARY_PATIENCE, ""),
    ],
)
def test_when_a_start_is_decided(pods: list[PodStatus], waited: float, state: str) -> None:
    """A check rejected for long enough, a process that died twice, and the end of patience; nothing sooner."""
    settlement = settle(status(*pods), waited=waited, timeout=60)
    assert settlement.state == state
    assert bool(settlement.why) == (state in {"failed", "canary"})
