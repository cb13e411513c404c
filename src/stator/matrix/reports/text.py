"""The grid as plain text, for a terminal and for a log."""

from __future__ import annotations

from stator.matrix.reports.grid import Grid, grids, mark, summary, troubles
from stator.matrix.results import MatrixRun


def to_text(run: MatrixRun) -> str:
    """Every table, then what is no pass and why, then the counts."""
    tables = ["\n".join(_table(run, grid)) for grid in grids(run)]
    notes = []
    for result, whose in troubles(run):
        notes.append(f"{mark(result)}  {result.cell.title}\n  {result.why}")
        if whose:
            notes[-1] += f"\n  {whose}"
    return "\n\n".join([*tables, *(["\n".join(notes)] if notes else []), summary(run)]) + "\n"


def _table(run: MatrixRun, grid: Grid) -> list[str]:
    head = ["frontend \\ worker", *(str(version) for version in grid.workers)]
    rows = [
        [str(frontend), *(mark(result) if result else "" for result in results)] for frontend, results in grid.rows(run)
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    padded = [[word.ljust(width) for word, width in zip(row, widths, strict=True)] for row in (head, *rows)]
    return [grid.title, *(f"  {'  '.join(row)}".rstrip() for row in padded)]
