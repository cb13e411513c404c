"""What a matrix looks like while it runs: the grid redrawn in place on a terminal, a line for each event elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Protocol, Self

import click

from stator.matrix.cells import Cell
from stator.matrix.reports.grid import cells, grids, mark, summary
from stator.matrix.results import CellResult, MatrixRun, Verdict
from stator.matrix.running.pool import Watcher

COLOURS: dict[Verdict, str] = {
    "pass": "green",
    "known bad": "cyan",
    "fail": "red",
    "unexpected pass": "magenta",
    "no evidence": "yellow",
}


class View(Watcher, Protocol):
    """A watcher that is entered before the first cell and left after the last."""

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Show no more."""
        ...


def view(run: MatrixRun, total: int) -> View:
    """The view that fits standard output. `total` is how many cells this run is about to have."""
    return _Live(run, total) if sys.stdout.isatty() else _Lines(run, total)


def plan_text(run: MatrixRun) -> str:
    """The cells in their order."""
    lines = [f"{number}. {cell.title}" for number, cell in enumerate(run.plan, start=1)]
    return "\n".join([*lines, cells(len(lines))]) + "\n"


class Pace:
    """How far a run is, and when it will be over: what the cells so far took, spread over those that are left."""

    def __init__(self, total: int, *, clock: Any = time.monotonic) -> None:
        self.total, self.done = total, 0
        self._clock, self._began = clock, clock()

    def text(self) -> str:
        """`3/9, about 2 min left`."""
        if not self.done or self.done >= self.total:
            return f"{self.done}/{self.total}"
        left = (self._clock() - self._began) / self.done * (self.total - self.done)
        about = f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} min"  # noqa: PLR2004 - seconds, then minutes
        return f"{self.done}/{self.total}, about {about} left"


class _Lines:
    """One line when a cell ends; a log of a CI job reads as a history."""

    def __init__(self, run: MatrixRun, total: int) -> None:
        self._run, self._pace = run, Pace(total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def started(self, cell: Cell) -> None:
        """Nothing: the line comes with the result."""

    def doing(self, cell: Cell, what: str) -> None:
        """Nothing."""

    def finished(self, result: CellResult) -> None:
        """The result, and how far the run is."""
        self._pace.done += 1
        why = f": {result.why}" if result.why else ""
        click.echo(f"[{self._pace.text()}] {result.seconds:6.1f} s  {mark(result)}  {result.cell.title}{why}"[:400])


class _Live:
    """The grids, coloured, with what each running cell does now; rich is imported for a terminal only."""

    def __init__(self, run: MatrixRun, total: int) -> None:
        from rich.live import Live  # noqa: PLC0415 - a tenth of a second that only a terminal pays

        self._run, self._pace = run, Pace(total)
        self._now: dict[str, str] = {}
        self._lock = threading.Lock()
        self._live = Live(get_renderable=self._drawn, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def started(self, cell: Cell) -> None:
        """The cell is in progress."""
        self.doing(cell, "starting")

    def doing(self, cell: Cell, what: str) -> None:
        """What it does now."""
        with self._lock:
            self._now[cell.id] = what

    def finished(self, result: CellResult) -> None:
        """Its result takes the place of that."""
        with self._lock:
            self._now.pop(result.cell.id, None)
            self._run = self._run.with_result(result)
            self._pace.done += 1

    def _drawn(self) -> Any:
        from rich.console import Group  # noqa: PLC0415 - as above
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        with self._lock:
            run, doing = self._run, dict(self._now)
        tables = []
        for grid in grids(run):
            table = Table("frontend \\ worker", *map(str, grid.workers), title=grid.title, title_justify="left")
            for frontend, results in grid.rows(run):
                words = [Text("") if result is None else _word(run, result, doing) for result in results]
                table.add_row(str(frontend), *words)
            tables.append(table)
        return Group(*tables, Text(f"{self._pace.text()}   {summary(run)}"))


def _word(run: MatrixRun, result: CellResult, doing: dict[str, str]) -> Any:
    from rich.text import Text  # noqa: PLC0415 - as above

    cell = result.cell
    if cell.id in doing:
        return Text(doing[cell.id], style="bold")
    if cell.id not in run.results:
        return Text("…", style="dim")
    return Text(f"{mark(result)} {result.seconds:.0f} s", style=COLOURS[result.verdict])
