"""Several cells beside each other, as many as the machine holds: memory is measured, not guessed.

The first cell of a scenario runs alone, and what its processes took is what every later one is expected to take. The
main thread schedules and is interrupted; cells run in threads of their own.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from stator.matrix.cells import Cell
from stator.matrix.results import CellResult
from stator.matrix.running.cell import InterruptedRunError

# What is left to everything else on this machine, and to cells that take more than the first one did.
_SHARE = 0.8


class Watcher(Protocol):
    """Who hears about the run; called from the scheduling thread, but for `doing`."""

    def started(self, cell: Cell) -> None:
        """A cell begins."""

    def doing(self, cell: Cell, what: str) -> None:
        """What a cell does now; called from its thread."""

    def finished(self, result: CellResult) -> None:
        """A cell has a result."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What is running and what it takes: `sizes` maps a scenario to bytes, as far as they were measured.

    `budget` is how many bytes all cells together may take, `jobs` how many cells may run at once.
    """

    running: tuple[Cell, ...]
    sizes: Mapping[str, int]
    budget: int
    jobs: int


def admits(load: Load, cell: Cell) -> bool:
    """Whether the cell may start now. A machine that is too small for one cell still runs one at a time."""
    if not load.running:
        return True
    size = load.sizes.get(cell.scenario)
    if size is None or len(load.running) >= load.jobs:
        return False
    taken = [load.sizes.get(other.scenario) for other in load.running]
    if None in taken:
        return False
    return sum(each or 0 for each in taken) + size <= load.budget


def next_cell(load: Load, pending: Sequence[Cell]) -> Cell | None:
    """The first cell that fits. One that has to wait for room is passed by, so that no core idles."""
    return next((cell for cell in pending if admits(load, cell)), None)


def run_all(
    cells: Sequence[Cell],
    run: Callable[[Cell], CellResult],
    *,
    watcher: Watcher,
    sizes: Mapping[str, int],
    available: int,
    jobs: int,
    interrupt: Callable[[], None],
) -> None:
    """Run every cell and hand each result to `watcher`. `sizes` are measurements of earlier runs, in bytes.

    The first exception of a cell ends the run, and so does an interrupt of this thread: `interrupt` is called, which
    has to make the cells end, and the exception is raised when they have.
    """
    running: dict[str, tuple[Cell, threading.Thread]] = {}
    try:
        _schedule(
            cells, run, watcher, Load(running=(), sizes=sizes, budget=int(available * _SHARE), jobs=jobs), running
        )
    except BaseException:
        interrupt()
        for _, thread in running.values():
            # One that the interrupt kept from starting is not alive; should it start yet, it ends at its first check.
            if thread.is_alive():
                thread.join()
        raise


def _schedule(
    cells: Sequence[Cell],
    run: Callable[[Cell], CellResult],
    watcher: Watcher,
    load: Load,
    running: dict[str, tuple[Cell, threading.Thread]],
) -> None:
    measured, pending = dict(load.sizes), list(cells)
    done: queue.SimpleQueue[tuple[Cell, CellResult | BaseException]] = queue.SimpleQueue()

    def work(cell: Cell) -> None:
        try:
            done.put((cell, run(cell)))
        except BaseException as error:  # noqa: BLE001 - it is raised again in the scheduling thread
            done.put((cell, error))

    while pending or running:
        load = msgspec.structs.replace(load, running=tuple(cell for cell, _ in running.values()), sizes=measured)
        if cell := next_cell(load, pending):
            pending.remove(cell)
            thread = threading.Thread(target=work, args=(cell,), name=cell.id, daemon=True)
            running[cell.id] = (cell, thread)
            watcher.started(cell)
            thread.start()
            continue
        cell, outcome = done.get()
        running.pop(cell.id)[1].join()
        if isinstance(outcome, BaseException):
            if isinstance(outcome, InterruptedRunError):
                continue
            raise outcome
        if outcome.memory:
            measured[cell.scenario] = max(measured.get(cell.scenario, 0), outcome.memory)
        watcher.finished(outcome)
