"""`stator diff`: which pods an upgrade or an edit replaces, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from stator.admission import Installed, file_problems, update_problems
from stator.cli import options
from stator.cli.report import echo_refusals
from stator.errors import ExitCode, InvalidInputError, Problem
from stator.model import Graph
from stator.model.load import load
from stator.render import Provider, RenderOptions, render_graph
from stator.upgrade import Side, compare_all
from stator.upgrade.report import diff_json, diff_text
from stator.versions import Version, with_versions_where_named


@click.command()
@click.argument("sources", nargs=-1, metavar="[A] [B]")
@options.cluster
@options.namespace
@options.settings
@options.operator
@options.from_operator
@options.provider
@options.no_repairs
@click.option("--from-no-repairs", is_flag=True, help="A is rendered as an operator without repairs would.")
@options.text_or_json
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything differs.")
def diff(  # noqa: PLR0913 - one argument per option
    *,
    sources: tuple[str, ...],
    cluster: bool,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    settings: tuple[str, ...],
    operator: str,
    from_operator: str | None,
    provider: Provider,
    no_repairs: bool,
    from_no_repairs: bool,
    output: str,
    exit_code: bool,
) -> int:
    """Compare what A renders to with what B does: which pods roll, which stay, and why.

    A and B are files, directories, or - for standard input. With --cluster, A is what the configured cluster holds, and
    the one source that is named is B, as if it were applied. Without B, A is compared with itself at other releases:
    --set moves components, --operator (with --from-operator for the one before) the operator. What admission would
    refuse of the change is named on standard error. Exit code 0; with --exit-code 1 if any object differs.
    """
    if len(sources) > (1 if cluster else 2):
        raise click.UsageError("--cluster is one side, name at most one other" if cluster else "name at most two sides")
    files = [load([source], namespace=namespace) for source in sources]
    alone = len(files) + cluster == 1
    chosen = options.parse_settings(settings)
    new = RenderOptions(operator=options.parse_operator(operator), repairs=not no_repairs, provider=provider)
    old = RenderOptions(
        operator=options.parse_operator(from_operator or operator),
        repairs=not (no_repairs or from_no_repairs),
        provider=provider,
    )
    if alone and not chosen and old == new:
        raise InvalidInputError(
            Problem(
                what="there is nothing to compare",
                why="only one side is named",
                remedy="name a second file, or say what changes: --set worker=1.6.1, or --from-operator 1.5",
            )
        )
    versions = [inventory.graphs for inventory in files]
    if cluster:
        from stator.check.cluster import read_graphs  # noqa: PLC0415 - a diff of files need not import a client

        live = read_graphs(namespace=namespace, kubeconfig=kubeconfig, context=context)
        applied = {graph.ref for graphs in versions for graph in graphs}
        versions.insert(0, tuple(graph for graph in live if alone or graph.ref in applied))
    sides = _sides(versions[0], old, {}), _sides(versions[-1], new, chosen)
    graphs = compare_all(*sides)
    click.echo((diff_json if output == "json" else diff_text)(graphs), nl=False)
    echo_refusals(_refusals(*sides, provider))
    others = sum(len(inventory.others) for inventory in files)
    if others or not graphs:
        click.echo(f"{len(graphs)} graphs compared, {others} documents of other kinds were not", err=True)
    return ExitCode.FINDINGS if exit_code and not all(graph.same for graph in graphs) else ExitCode.OK


def _sides(graphs: Sequence[Graph], rendering: RenderOptions, chosen: Mapping[str, Version]) -> list[Side]:
    at_releases = with_versions_where_named(graphs, chosen)
    return [Side(graph, render_graph(graph, rendering), rendering.operator) for graph in at_releases]


def _refusals(before: Sequence[Side], after: Sequence[Side], provider: Provider) -> list[tuple[Graph, Problem]]:
    """What admission would refuse of each change; of a graph that is new, what it would refuse of the graph."""
    installed = Installed(grove=True if provider == "grove" else None)
    old = {side.manifest.graph: side.graph for side in before}
    return [
        (side.graph, problem)
        for side in after
        for problem in (
            update_problems(old[side.manifest.graph], side.graph, installed=installed)
            if side.manifest.graph in old
            else file_problems(side.graph, installed=installed)
        )
    ]
