"""One self-contained page: nothing is fetched, so it can be attached to a release, mailed, or kept for years.

Every planned cell has a section: verdict and why, the timeline of each pod, each check, each worker's check of itself,
and where it did not pass the raw request and response and the last lines of the logs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from html import escape
from pathlib import Path

from stator.matrix.checks import CheckResult
from stator.matrix.reports.grid import Grid, grids, mark, place, summary, troubles
from stator.matrix.results import CellResult, MatrixRun, PodTimeline, Verdict, blame

_CLASSES: dict[Verdict, str] = {
    "pass": "pass",
    "known bad": "known",
    "fail": "fail",
    "unexpected pass": "fail",
    "no evidence": "none",
}
_LONGEST_BODY = 20_000

_STYLE = Path(__file__).parent / "page.css"


def to_html(run: MatrixRun) -> str:
    """The whole page."""
    began = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(run.started_at))
    head = (
        f"<p>{began}, releases {escape(', '.join(run.window))}, operator {escape(run.operator)}, "
        f"stator {escape(run.stator)}; {escape(place(run))}.</p>"
        f"<p><strong>{escape(summary(run))}.</strong> A cell that was not run is no evidence, never a pass.</p>"
    )
    body = [
        "<h1>Version matrix</h1>",
        head,
        *(part for grid in grids(run) for part in _grid(run, grid)),
        *_troubles(run),
        "<h2>Cells</h2>",
        *(part for cell in run.plan for part in _cell(run, run.result(cell))),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Version matrix</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE.read_text(encoding='utf-8')}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _grid(run: MatrixRun, grid: Grid) -> Iterator[str]:
    yield f"<h2>{escape(grid.title)}</h2><table><tr><th>frontend \\ worker</th>"
    yield "".join(f"<th>{worker}</th>" for worker in grid.workers) + "</tr>"
    for frontend, results in grid.rows(run):
        yield f"<tr><th>{frontend}</th>{''.join(_square(result) for result in results)}</tr>"
    yield "</table>"


def _square(result: CellResult | None) -> str:
    if result is None:
        return "<td></td>"
    seconds = f" <small>{result.seconds:.0f} s</small>" if result.seconds else ""
    link = f'<a href="#{escape(result.cell.id)}">{escape(mark(result))}{seconds}</a>'
    return f'<td class="{_CLASSES[result.verdict]}">{link}</td>'


def _troubles(run: MatrixRun) -> Iterator[str]:
    found = troubles(run)
    if found:
        yield "<h2>What is no pass</h2><ul>"
    for result, whose in found:
        yield (
            f'<li><a href="#{escape(result.cell.id)}" class="{_CLASSES[result.verdict]}">{escape(mark(result))}</a> '
            f"{escape(result.cell.title)}<br><small>{escape(result.why[:600])}"
            f"{f'<br>{escape(whose)}' if whose else ''}</small></li>"
        )
    if found:
        yield "</ul>"


def _cell(run: MatrixRun, result: CellResult) -> Iterator[str]:
    opened = "" if result.verdict == "pass" else " open"
    yield f'<details id="{escape(result.cell.id)}"{opened}><summary><span class="{_CLASSES[result.verdict]}">'
    yield f"{escape(mark(result))}</span> {escape(result.cell.title)}</summary>"
    if result.why:
        yield f"<p>{escape(result.why)}</p>"
    if whose := blame(run, result.cell):
        yield f"<p>{escape(whose)}</p>"
    if result.broken_by:
        yield f"<p>It goes without the repair of {escape(', '.join(result.broken_by))}, so it has to fail.</p>"
    yield from _readiness(result)
    yield from _asked(result)
    if result.runtimes:
        yield "<h3>Runtimes</h3><ul>"
        yield "".join(f"<li>{escape(part)}: {escape(what)}</li>" for part, what in result.runtimes.items()) + "</ul>"
    for log in result.logs:
        yield f"<details><summary>last lines of {escape(log.pod)} {escape(log.container)}</summary>"
        yield f"<pre>{escape(chr(10).join(log.lines))}</pre></details>"
    yield "</details>"


def _readiness(result: CellResult) -> Iterator[str]:
    if result.pods:
        yield "<h3>Readiness</h3>"
    moments = [transition.after for pod in result.pods for transition in pod.transitions]
    for pod in result.pods:
        yield from _timeline(pod, max([*moments, result.seconds, 0.1]))


def _asked(result: CellResult) -> Iterator[str]:
    if result.checks:
        yield f"<h3>Checks</h3><ul>{''.join(part for check in result.checks for part in _check(check))}</ul>"
    if result.contracts:
        yield "<h3>Workers' own health checks</h3><ul>"
        for contract in result.contracts:
            yield f"<li>{escape(contract.pod)} ({escape(contract.handler)}): <b>{escape(contract.fit)}</b>, "
            yield f"{escape(contract.why)}</li>"
        yield "</ul>"


def _timeline(pod: PodTimeline, end: float) -> Iterator[str]:
    """A bar of the cell's whole time: until when not Ready, from when Ready."""
    restarts = f", {pod.restarts} restarts" if pod.restarts else ""
    words = ", ".join(f"{each.after:.1f} s {each.reason or 'Ready'}" for each in pod.transitions)
    yield f"<div>{escape(pod.name)} <small>{escape(pod.version)}{restarts}: {escape(words)}</small></div>"
    yield '<div class="bar">'
    starts = [each.after for each in pod.transitions]
    for each, begin, stop in zip(pod.transitions, starts, [*starts[1:], end], strict=True):
        kind = "up" if each.ready else "dead" if each.reason in {"Canary", "CrashLoopBackOff"} else "down"
        share = max(stop - begin, 0) / end * 100
        yield f'<i class="{kind}" style="width:{share:.2f}%" title="{escape(each.reason or "Ready")}"></i>'
    yield "</div>"


def _check(check: CheckResult) -> Iterator[str]:
    if check.passed:
        took = f"<small>{check.seconds * 1000:.0f} ms</small>"
        yield f'<li><span class="pass">pass</span> {escape(check.name)} {took}</li>'
        return
    yield f'<li><span class="fail">fail</span> {escape(check.name)}: {escape("; ".join(check.violations))}'
    if exchange := check.exchange:
        request = exchange.request
        yield "<details><summary>request and response</summary>"
        yield f"<pre>{escape(f'{request.method} {request.path}')}\n{escape(request.body)}</pre>"
        cut = "" if len(exchange.body) <= _LONGEST_BODY else f"\n… {len(exchange.body) - _LONGEST_BODY} characters more"
        status = f"{exchange.status or exchange.error} {exchange.content_type}"
        yield f"<pre>{escape(status)}\n{escape(exchange.body[:_LONGEST_BODY])}{cut}</pre></details>"
    yield "</li>"
