"""`stator up`: run graphs on this machine, watch them become Ready, and ask them something."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from stator.cli import options
from stator.cli.interrupts import as_interrupt, deferred
from stator.cli.report import echo_findings, refusals, required_graphs
from stator.cli.view import follow, graph_lines, trouble_lines
from stator.errors import ExitCode
from stator.local.config import load_config
from stator.local.lifecycle import clean_up_dead, start, stop, watch
from stator.local.preparation import Preparation, prepare
from stator.local.routable import ask, models
from stator.local.runtimes import default_cache
from stator.local.state import GraphDirectory, GraphStatus, StateDirectory
from stator.model.load import load
from stator.render import RenderOptions

# How long a frontend may take to list a model after every pod is Ready (measured: below 2 s on all supported pairs).
ROUTABLE_PATIENCE = 30.0
ROUTABLE_POLL = 0.05

WATCH_INTERVAL = 0.1


@click.command()
@options.sources
@options.namespace
@options.operator
@options.no_repairs
@click.option("--set", "settings", multiple=True, metavar="COMPONENT=VERSION", help="Run a component at this release.")
@click.option("--engine", type=click.Choice(["mocker"]), help="Put the mocker in the place of GPU engines.")
@click.option("--config", type=click.Path(path_type=Path), help="stator.toml to use, else the one beside SOURCES.")
@click.option("--detach", is_flag=True, help="Return when every graph is Ready, and leave it running.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=900,
    show_default=True,
    metavar="SECONDS",
    help="With --detach or --ask: how long to wait for Ready.",
)
@click.option("--ask", "question", metavar="TEXT", help="When Ready, send TEXT to each frontend and print the answer.")
@click.option("--offline", is_flag=True, help="Use only what was downloaded before.")
def up(  # noqa: PLR0913 - one parameter per option, by name
    *,
    sources: tuple[str, ...],
    namespace: str | None,
    operator: str,
    no_repairs: bool,
    settings: tuple[str, ...],
    engine: str | None,
    config: Path | None,
    detach: bool,
    timeout: float,
    question: str | None,
    offline: bool,
) -> int:
    """Run the graphs in SOURCES on this machine, without a cluster.

    Each container runs as a process in an environment with the published runtime of its image's version, under the
    kubelet's rules for environment, probes, restarts and termination. Stop with Ctrl-C, or later with `stator down`.
    """
    state = StateDirectory.default()
    for name in clean_up_dead(state):
        click.echo(f"{name}: its supervisor was killed; ended what it left behind", err=True)
    how = Preparation(
        render=RenderOptions(operator=options.parse_operator(operator), repairs=not no_repairs),
        config=load_config(config, sources),
        state=state,
        cache=default_cache(),
        settings=options.parse_settings(settings),
        mocker=engine == "mocker",
        offline=offline,
    )
    inventory = load(sources, namespace=namespace)
    required_graphs(inventory, sources)
    prepared = prepare(inventory, how, progress=lambda line: click.echo(f"  {line}", err=True))
    echo_findings([manifest for manifest, _ in prepared], inventory, refusals(inventory.graphs))
    started: list[GraphDirectory] = []
    with as_interrupt():
        try:
            for _, plan in prepared:
                # An interrupt between the start and the note of it would leave a graph that nobody stops.
                with deferred():
                    started.append(start(plan))
            return _attend(started, detach=detach, timeout=timeout, question=question)
        except BaseException:
            with deferred(forget=True):
                _stop(started)
            raise


def _attend(graphs: Sequence[GraphDirectory], *, detach: bool, timeout: float, question: str | None) -> int:
    """Follow the graphs until they are Ready (then leave them, with `detach`) or stopped."""
    limit = timeout if detach else None
    ready = _until(graphs, _all_ready, timeout=limit)
    unanswered = [status for status in ready if not _answers(status, question)] if _all_ready(ready) else [*ready]
    answered = not unanswered
    for status in ready:
        click.echo("\n".join([*graph_lines(status), *trouble_lines(StateDirectory.default(), status)]))
    if detach:
        if not answered:
            click.echo("not Ready; it goes on running. Look at it with: stator status, stator logs", err=True)
        return ExitCode.OK if answered else ExitCode.FINDINGS
    if ready and not _all_stopped(ready):
        click.echo("running; stop it with Ctrl-C")
        ready = _until(graphs, _all_stopped, timeout=None)
    return ExitCode.OK if answered else ExitCode.FINDINGS


def _until(
    graphs: Sequence[GraphDirectory], done: Callable[[Sequence[GraphStatus]], bool], *, timeout: float | None
) -> tuple[GraphStatus, ...]:
    """Show the graphs until `done`, all stopped, or the time is over; their last statuses."""
    last: tuple[GraphStatus, ...] = ()
    for last in follow(watch(graphs, timeout=timeout, interval=WATCH_INTERVAL), until=done):  # noqa: B007 - the last one is the result
        pass
    return last


def _answers(status: GraphStatus, question: str | None) -> bool:
    """Whether requests reach a model through the graph's frontend; what it answers is printed.

    A frontend is Ready before it knows a model, so a Ready graph is asked until it lists one.
    """
    if status.frontend is None:
        return True
    address = status.frontend.address
    deadline = time.monotonic() + ROUTABLE_PATIENCE
    while not (found := models(address)).ok and time.monotonic() < deadline:
        time.sleep(ROUTABLE_POLL)
    if found.ok and question is not None:
        found = ask(address, text=question)
    name = f"{status.namespace}/{status.name}"
    if not found.ok:
        click.echo(f"{name}: Ready, but requests do not reach a model: {found.missing}", err=True)
        return False
    click.echo(f"{name} serves {', '.join(found.models)} on http://{address}")
    if answer := found.answer:
        size = f", {answer.dimensions} dimensions" if answer.dimensions else ""
        click.echo(f"{answer.model} answers in {answer.seconds:.2f} s ({answer.kind}{size}): {answer.text}")
    return True


def _all_ready(statuses: Sequence[GraphStatus]) -> bool:
    return bool(statuses) and all(status.phase == "Ready" for status in statuses)


def _all_stopped(statuses: Sequence[GraphStatus]) -> bool:
    return bool(statuses) and all(status.phase == "Stopped" for status in statuses)


def _stop(graphs: Sequence[GraphDirectory]) -> None:
    """Stop all of them at once: each takes as long as its own grace."""
    if not graphs:
        return
    click.echo(f"stopping {', '.join(graph.id for graph in graphs)}", err=True)
    with ThreadPoolExecutor(len(graphs)) as pool:
        list(pool.map(stop, graphs))
