"""Where the cells of a run run: what `campaign` asks of this machine and of a cluster alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from stator.matrix.cells import Cell
from stator.matrix.results import CellResult, MatrixRun
from stator.matrix.running.cell import Rig, run_cell
from stator.matrix.running.memory import available
from stator.matrix.scenarios import Scenario


class Room(msgspec.Struct, frozen=True):
    """How many bytes there are for cells, and how many a cell of each scenario was measured to take."""

    available: int
    sizes: Mapping[str, int]


class Place(Protocol):
    """Cells are run from threads of their own; `interrupt` comes from another one and makes all of them end."""

    def run(self, scenario: Scenario, cell: Cell, *, say: Callable[[str], None]) -> CellResult:
        """Run one cell to its end and leave nothing of it; as `stator.matrix.running.cell.run_cell`."""
        ...

    def interrupt(self) -> None:
        """Let every cell end without a result."""

    def room(self, run: MatrixRun) -> Room:
        """What cells may take, given the results so far."""
        ...


class ThisMachine:
    """Cells as local graphs, as many beside each other as memory holds."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig

    def run(self, scenario: Scenario, cell: Cell, *, say: Callable[[str], None]) -> CellResult:
        """Run one cell here."""
        return run_cell(scenario, cell, self._rig, say=say)

    def interrupt(self) -> None:
        """Stop every graph; returns when nothing runs."""
        self._rig.interrupt()

    def room(self, run: MatrixRun) -> Room:
        """The memory that is free now, and what cells were measured to take of it."""
        sizes: dict[str, int] = {}
        for result in run.results.values():
            if result.memory:
                sizes[result.cell.scenario] = max(sizes.get(result.cell.scenario, 0), result.memory)
        return Room(available(), sizes)
