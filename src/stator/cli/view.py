"""A graph's state as lines of text, and the view that follows it while it starts.

On a terminal the lines are redrawn in place (rich, imported only then); elsewhere each change is one line, so that a
log of a CI job reads as a history.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

import click

from stator.local.lifecycle import follow_logs
from stator.local.state import GraphStatus, PodStatus, StateDirectory

MARKS = {"Ready": ("●", "green"), "NotReady": ("◌", "yellow"), "Failed": ("✗", "red")}
FAILED = {"Canary", "CrashLoopBackOff", "RuntimeMissing"}
LAST_LINES = 5


def pod_line(pod: PodStatus) -> str:
    """One pod: mark, name, version, state, and why it is not Ready."""
    kind = "Ready" if pod.ready else "Failed" if pod.reason in FAILED else "NotReady"
    mark, colour = MARKS[kind]
    restarts = f", {pod.restarts} restart{'' if pod.restarts == 1 else 's'}" if pod.restarts else ""
    state = "Ready" if pod.ready else pod.reason
    rule = f" [{pod.rule}]" if pod.rule else ""
    why = f": {pod.message}" if pod.message and not pod.ready else ""
    return f"  {click.style(mark, fg=colour)} {pod.name}  {pod.version}  {state}{restarts}{rule}{why}"


def graph_lines(status: GraphStatus, *, detail: bool = False) -> list[str]:
    """The graph, its pods, its addresses; with `detail` also version sources, rules, repairs and differences."""
    why = f": {status.message}" if status.message else ""
    lines = [f"{status.namespace}/{status.name}  {click.style(status.phase, bold=True)}{why}"]
    lines += [pod_line(pod) for pod in status.pods]
    if detail:
        for component in status.components:
            lines.append(f"  {component.name}: {component.version}")
            lines += [f"    {note}" for note in component.notes]
    lines += [
        f"  http://{service.address}  {service.name}:{service.port_name}  {service.ready}/{service.total} Ready"
        for service in status.services
        if service.frontend or detail
    ]
    if detail and (status.adaptations or status.ignored):
        lines.append(
            f"  {len(status.adaptations)} differences from a cluster, {len(status.ignored)} fields ignored"
            " (all of them: stator status -o json)"
        )
    return lines


def trouble_lines(state: StateDirectory, status: GraphStatus) -> list[str]:
    """For each pod that fails: the last lines it wrote, and the command that shows more."""
    directory = state.graph(status.namespace, status.name)
    lines = []
    for pod in status.pods:
        if pod.ready or pod.reason not in FAILED:
            continue
        lines.append(f"  the last lines of {pod.name}:")
        lines += [f"    {line.text}" for line in follow_logs(directory, select=(pod.name,), lines=LAST_LINES)]
        lines.append(f"  more: stator logs {pod.component} --graph {status.namespace}/{status.name}")
    return lines


Statuses = tuple[GraphStatus, ...]


def follow(statuses: Iterable[Statuses], *, until: Callable[[Statuses], bool]) -> Iterator[Statuses]:
    """Show each state of the graphs until `until` holds, and pass each one on."""
    shower = _live if sys.stdout.isatty() else _plain
    yield from shower(statuses, until)


def _plain(statuses: Iterable[Statuses], until: Callable[[Statuses], bool]) -> Iterator[Statuses]:
    said: dict[str, tuple[object, ...]] = {}
    for graphs in statuses:
        for pod in (pod for status in graphs for pod in status.pods):
            # A probe's message quotes the answer, and that may hold a running clock: it is no change by itself.
            state = (pod.ready, pod.reason, pod.rule, pod.restarts, pod.message.partition(" (")[0])
            if said.get(pod.name) != state:
                said[pod.name] = state
                click.echo(pod_line(pod))
        yield graphs
        if until(graphs):
            return


def _live(statuses: Iterable[Statuses], until: Callable[[Statuses], bool]) -> Iterator[Statuses]:
    from rich.live import Live  # noqa: PLC0415 - a tenth of a second that only a terminal pays
    from rich.text import Text  # noqa: PLC0415

    with Live(auto_refresh=False, transient=True) as live:
        for graphs in statuses:
            lines = [line for status in graphs for line in graph_lines(status)]
            live.update(Text.from_ansi("\n".join(lines)), refresh=True)
            yield graphs
            if until(graphs):
                return
