"""Markdown: for a release note, and the page of the last full run in the documentation."""

from __future__ import annotations

import time

from stator.matrix.canary import Contract
from stator.matrix.reports.grid import Grid, grids, mark, place, summary, troubles
from stator.matrix.results import CellResult, MatrixRun

_LONGEST = 400
_MINUTE = 60


def to_markdown(run: MatrixRun) -> str:
    """One page: what was run, on what, the tables, what is no pass, and how workers' own checks did."""
    parts = ["# Compatibility", _introduction(run)]
    parts += [_table(run, grid) for grid in grids(run)]
    if found := troubles(run):
        parts.append("## What is no pass")
        parts.append("\n".join(_trouble(result, whose) for result, whose in found))
    parts += [_contracts(run), _starts(run)]
    return "\n\n".join(part for part in parts if part) + "\n"


def day(at: float) -> str:
    """A date in UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def _introduction(run: MatrixRun) -> str:
    releases = ", ".join(run.window)
    engines = ", ".join(f"{name}: `{engine}`" for name, engine in run.engines.items())
    lines = [
        f"`stator matrix` on {day(run.started_at)}: releases {releases}, rendered as by operator {run.operator}.",
        "",
        f"{summary(run)}. A cell that was not run is no evidence, never a pass.",
        "",
        f"Real processes of the published runtimes, {place(run)}. Engines: {engines}.",
    ]
    if run.finished_at:
        lines[-1] += f" It took {_duration(run.finished_at - run.started_at)}."
    return "\n".join(lines)


def _table(run: MatrixRun, grid: Grid) -> str:
    head = ["frontend \\ worker", *(str(worker) for worker in grid.workers)]
    rows = [
        [str(frontend), *(_escape(mark(result)) if result else "" for result in results)]
        for frontend, results in grid.rows(run)
    ]
    lines = [head, ["---"] * len(head), *rows]
    checks = next((result.checks for _, results in grid.rows(run) for result in results if result), ())
    asked = f"\n\nChecked: {', '.join(check.name for check in checks)}." if checks else ""
    return f"## {grid.title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + asked


def _trouble(result: CellResult, whose: str) -> str:
    why = " ".join(result.why.split())
    shown = why if len(why) <= _LONGEST else why[:_LONGEST] + "…"
    rules = "".join(f" [{rule}](rules/{rule}.md)" for rule in result.broken_by)
    blamed = f" {whose[0].upper()}{whose[1:]}." if whose else ""
    return (
        f"* **{mark(result).partition(' (')[0]}**{rules}: {result.cell.title}.{blamed} `{shown.replace('`', chr(39))}`"
    )


def _contracts(run: MatrixRun) -> str:
    """Does the request a worker checks itself with fit its handler: one line for each kind of worker and release."""
    rows = dict.fromkeys(
        (
            result.cell.scenario,
            str(result.cell.variant) or "default",
            contract.version,
            contract.handler,
            contract.fit,
            _origin(contract),
        )
        for cell in run.plan
        for result in [run.result(cell)]
        for contract in result.contracts
    )
    if not rows:
        return ""
    head = ("scenario", "variant", "worker", "handler", "fit", "request")
    lines = [head, ("---",) * len(head), *rows]
    return "## A worker's check of itself\n\n" + "\n".join(f"| {' | '.join(map(_escape, line))} |" for line in lines)


def _origin(contract: Contract) -> str:
    if contract.fit == "not probed":
        return "none"
    return "set from outside" if contract.payload else "the runtime's own"


def _starts(run: MatrixRun) -> str:
    """What a cell costs."""
    rows = []
    for name in dict.fromkeys(cell.scenario for cell in run.plan):
        results = [run.result(cell) for cell in run.plan if cell.scenario == name]
        ready = [result.ready_after for result in results if result.ready_after is not None]
        seconds = [result.seconds for result in results if result.seconds]
        if ready and seconds:
            memory = max(result.memory for result in results) / 1e9
            rows.append(
                (
                    name,
                    f"{min(ready):.1f} to {max(ready):.1f}",
                    f"{min(seconds):.1f} to {max(seconds):.1f}",
                    f"{memory:.1f}",
                )
            )
    if not rows:
        return ""
    head = ("scenario", "seconds until Ready", "seconds of a cell", "memory of a cell, GB")
    lines = [head, ("---",) * len(head), *rows]
    return "## What a cell takes\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 2 * _MINUTE else f"{seconds / _MINUTE:.0f} minutes"


def _span(numbers: list[float]) -> str:
    return f"{min(numbers):.1f} to {max(numbers):.1f}"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
