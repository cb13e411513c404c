"""The grid: for each scenario and variant, a frontend's releases down and a worker's across."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from stator.matrix.cells import Cell, Pair, Variant
from stator.matrix.results import CellResult, MatrixRun, Verdict, blame
from stator.versions import Version

MARKS: Mapping[Verdict, str] = {
    "pass": "pass",
    "known bad": "fails as known",
    "fail": "FAIL",
    "unexpected pass": "passes, though known bad",
    "no evidence": "no evidence",
}


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """One table. `cells` holds what was planned; a pair that was not has no entry."""

    scenario: str
    variant: Variant
    frontends: tuple[Version, ...]
    workers: tuple[Version, ...]
    cells: Mapping[Pair, Cell]

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.scenario}, {self.variant}" if str(self.variant) else self.scenario

    def rows(self, run: MatrixRun) -> tuple[tuple[Version, tuple[CellResult | None, ...]], ...]:
        """Each frontend with the results beside it, one for each of `workers`; None where nothing was planned."""
        return tuple(
            (
                frontend,
                tuple(
                    run.result(cell) if (cell := self.cells.get(Pair(frontend, worker))) else None
                    for worker in self.workers
                ),
            )
            for frontend in self.frontends
        )


def grids(run: MatrixRun) -> tuple[Grid, ...]:
    """The tables of a run, in the order of its plan, newest release first."""
    return tuple(_grid(run, scenario, variant) for scenario, variant in _tables(run))


def _tables(run: MatrixRun) -> Iterator[tuple[str, Variant]]:
    yield from dict.fromkeys((cell.scenario, cell.variant) for cell in run.plan)


def _grid(run: MatrixRun, scenario: str, variant: Variant) -> Grid:
    cells = {cell.pair: cell for cell in run.plan if (cell.scenario, cell.variant) == (scenario, variant)}
    return Grid(
        scenario=scenario,
        variant=variant,
        frontends=tuple(sorted({pair.frontend for pair in cells}, reverse=True)),
        workers=tuple(sorted({pair.worker for pair in cells}, reverse=True)),
        cells=cells,
    )


def mark(result: CellResult) -> str:
    """A result in a word or two, with the rules that expected it, or the checks that failed."""
    if result.verdict in {"known bad", "unexpected pass"}:
        details = result.broken_by
    else:
        details = result.failed_checks or _unasked(result)
    return f"{MARKS[result.verdict]} ({', '.join(details)})" if details else MARKS[result.verdict]


def _unasked(result: CellResult) -> tuple[str, ...]:
    """How far a failed cell got that no check was asked of."""
    if result.verdict != "fail":
        return ()
    return ("not Ready",) if result.ready_after is None else ("model not listed",)


def summary(run: MatrixRun) -> str:
    """One line with every count; what was not run is among them."""
    counts = run.count()
    parts = [f"{number} {MARKS[verdict].lower()}" for verdict, number in counts.items()]
    return f"{cells(len(run.plan))}: {', '.join(parts)}"


def cells(number: int) -> str:
    """`1 cell`, `35 cells`."""
    return f"{number} cell{'' if number == 1 else 's'}"


def place(run: MatrixRun) -> str:
    """Where the cells ran, for people."""
    machine = run.machine
    if run.cluster:
        return f"through the operator of a Kubernetes {run.cluster.kubernetes} cluster, context {run.cluster.context}"
    return f"on one machine ({machine.system}, {machine.cpus} CPUs, {machine.memory / 1e9:.0f} GB, no GPU)"


def troubles(run: MatrixRun) -> tuple[tuple[CellResult, str], ...]:
    """The results that are no pass, each with who is to blame (empty where nobody asks)."""
    results = [run.result(cell) for cell in run.plan]
    return tuple((result, blame(run, result.cell)) for result in results if result.verdict != "pass")
