"""`stator matrix`: every pair of releases, run for real on this machine or through an operator in a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from stator.cli import matrix_view, options
from stator.cli.interrupts import as_interrupt
from stator.cli.report import required_graphs
from stator.errors import ExitCode
from stator.local.config import LocalConfig, load_config
from stator.local.preparation import Preparation
from stator.local.runtimes import default_cache
from stator.local.state import StateDirectory
from stator.matrix.campaign import (
    Conduct,
    Wanted,
    carry_on,
    check_runnable,
    conduct,
    make_runtimes,
    plan_run,
    sole_run,
)
from stator.matrix.cells import Canary
from stator.matrix.releases import load_releases
from stator.matrix.reports.grid import grids
from stator.matrix.reports.html import to_html
from stator.matrix.reports.json import to_json
from stator.matrix.reports.junit import to_junit
from stator.matrix.reports.markdown import to_markdown
from stator.matrix.reports.text import to_text
from stator.matrix.results import MatrixRun, read
from stator.matrix.running.cell import Rig
from stator.matrix.running.place import ThisMachine
from stator.matrix.scenarios import read_scenarios
from stator.model.load import load
from stator.render import RenderOptions

_CANARIES: Mapping[str, tuple[Canary, ...]] = {
    "default": ("default",),
    "on": ("on",),
    "off": ("off",),
    "both": ("on", "off"),
}
_REPAIRS: Mapping[str, tuple[bool, ...]] = {"on": (True,), "off": (False,), "both": (True, False)}
_WRITERS: Mapping[str, Callable[[MatrixRun], str]] = {
    "html": to_html,
    "junit": to_junit,
    "markdown": to_markdown,
    "json": to_json,
}


@click.command()
@options.sources
@options.namespace
@options.operator
@options.cluster
@click.option("--baseline", metavar="VERSION", help="Newest release: X.Y is its selected patch. [default: the newest]")
@click.option("--window", type=click.IntRange(min=0), default=2, show_default=True, help="Minor lines before it.")
@click.option("--all-pairs", is_flag=True, help="Older releases with each other too, not only with the baseline.")
@click.option("--releases", type=click.Path(path_type=Path), help="File of the selected patches, else the shipped one.")
@click.option("--canary", type=click.Choice(list(_CANARIES)), default="default", show_default=True)
@click.option("--repairs", type=click.Choice(list(_REPAIRS)), default="on", show_default=True)
@click.option("--engine", type=click.Choice(["mocker"]), help="Put the mocker in the place of GPU engines.")
@click.option("--config", type=click.Path(path_type=Path), help="stator.toml to use, else the one beside SOURCES.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Cells at once, at most. [default: one per CPU; with --cluster 1]"
)
@click.option("--timeout", type=click.FloatRange(min=1), default=300, show_default=True, help="Seconds until Ready.")
@click.option("--results", type=click.Path(path_type=Path), help="File that grows by each cell, and holds the JSON.")
@click.option("--resume", is_flag=True, help="Go on with the run in the results file: only cells without a result.")
@click.option("--failed", is_flag=True, help="As --resume, and again what failed or gave no evidence.")
@click.option("--plan", "only_plan", is_flag=True, help="Only say which cells there would be.")
@click.option("--report", is_flag=True, help="Run nothing: only write reports of the results file.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page to this file.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML to this file.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write Markdown to this file.")
@click.option("--json", type=click.Path(path_type=Path), help="Write JSON to this file.")
@click.option("--offline", is_flag=True, help="Use only what was downloaded before.")
def matrix(**given: Any) -> int:
    """Run the graphs in SOURCES at every pair of releases, and check what they answer.

    Same-version pairs run first, so that a failure of a mixed pair can be put down to the mix. A cell that was not run
    is no evidence, never a pass. Exit code 1 if a cell failed (one that goes without a repair it needs has to), 3 if
    one gave no evidence. With --cluster each cell is a namespace in which the operator that is there runs the graph.
    """
    state = StateDirectory(StateDirectory.default().path / "matrix")
    results = given["results"] or state.path / "results.json"
    if given["cluster"]:
        _refuse_local(given)
    how = Preparation(
        render=RenderOptions(operator=options.parse_operator(given["operator"])),
        config=LocalConfig() if given["cluster"] else load_config(given["config"], given["sources"]),
        state=state,
        cache=default_cache(),
        mocker=given["engine"] == "mocker",
        offline=given["offline"],
    )
    wanted = _wanted(given, how)
    run = plan_run(wanted, how.render, mocker=how.mocker, cluster=given["cluster"])
    if not given["cluster"]:
        check_runnable(run, wanted, how)
    if given["only_plan"]:
        click.echo(matrix_view.plan_text(run), nl=False)
        return ExitCode.OK
    if given["report"]:
        run = read(results) or run
    else:
        with sole_run(state, "matrix"), as_interrupt():
            run = _run(run, wanted, how, given, results)
    click.echo(to_text(run), nl=False)
    for name, writer in _WRITERS.items():
        if given[name]:
            given[name].write_text(writer(run), encoding="utf-8")
    return exit_code(run)


def _wanted(given: Mapping[str, Any], how: Preparation) -> Wanted:
    releases = load_releases(given["releases"])
    baseline = releases.baseline(given["baseline"]) if given["baseline"] else releases.newest
    inventory = load(given["sources"], namespace=given["namespace"])
    required_graphs(inventory, given["sources"])
    return Wanted(
        scenarios=read_scenarios(inventory, how.render),
        window=releases.window(baseline, given["window"]),
        canaries=_CANARIES[given["canary"]],
        repairs=_REPAIRS[given["repairs"]],
        every=given["all_pairs"],
    )


def _refuse_local(given: Mapping[str, Any]) -> None:
    """What is about this machine means nothing in a cluster."""
    if wrong := [f"--{name}" for name in ("engine", "config", "offline") if given[name]]:
        raise click.UsageError(f"{', '.join(wrong)}: for graphs on this machine, not with --cluster")


def _run(run: MatrixRun, wanted: Wanted, how: Preparation, given: Mapping[str, Any], results: Path) -> MatrixRun:
    if given["resume"] or given["failed"]:
        run = carry_on(run, results)
    cells = run.to_do(failed=given["failed"])
    jobs = given["jobs"] or (1 if given["cluster"] else os.cpu_count() or 1)
    conduct_ = Conduct(results=results, jobs=jobs, failed=given["failed"])
    left: list[str] = []
    try:
        if given["cluster"]:
            from stator.matrix.cluster.opening import in_cluster  # noqa: PLC0415 - cells here need no client

            where = (given["kubeconfig"], given["context"])
            with in_cluster(run, wanted, how, where, timeout=given["timeout"], progress=_progress) as (run, place):
                left = place.left
                with _watched(run, conduct_) as watcher:
                    return conduct(run, wanted, place, conduct_, watcher, {})
        missing = make_runtimes(wanted, cells, how, progress=_progress)
        with _watched(run, conduct_) as watcher:
            here = ThisMachine(Rig(how, timeout=given["timeout"]))
            return conduct(run, wanted, here, conduct_, watcher, missing)
    except KeyboardInterrupt:
        ended = f"these namespaces could not be removed: {', '.join(left)}" if left else "nothing runs any more"
        click.echo(f"interrupted; {ended}. Go on with --resume (results in {results})", err=True)
        raise


def _progress(line: str) -> None:
    click.echo(f"  {line}", err=True)


@contextmanager
def _watched(run: MatrixRun, conduct_: Conduct) -> Iterator[matrix_view.View]:
    view = matrix_view.view(run, len(run.to_do(failed=conduct_.failed)))
    with view:
        yield view


def exit_code(run: MatrixRun) -> ExitCode:
    """1 for a failure, also one that should have been there and was not; else 3 for what is not known; else 0."""
    counts = run.count()
    if counts.get("fail") or counts.get("unexpected pass"):
        return ExitCode.FINDINGS
    return ExitCode.UNDECIDED if counts.get("no evidence") or not grids(run) else ExitCode.OK
