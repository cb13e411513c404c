"""`stator diff`: which pods an upgrade or an edit replaces, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from stator.admission import Installed, file_problems, update_problems
from stator.cli import options
from stator.cli.report import echo_refusals
from stator.errors import ExitCode, InvalidInputError, Problem
from stator.model import Graph, Inventory
from stator.model.load import load
from stator.render import Provider, RenderOptions, render_graph
from stator.upgrade import Side, compare_all
from stator.upgrade.report import diff_json, diff_text
from stator.versions import Version, with_versions_where_named


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
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
    before: str,
    after: str | None,
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

    A and B are files, directories, or - for standard input. Without B, A is compared with itself at other releases:
    --set moves components, --operator (with --from-operator for the one before) the operator. Nothing is asked of a
    cluster; what admission would refuse of the change is named on standard error. Exit code 0; with --exit-code 1 if
    any object differs.
    """
    chosen = options.parse_settings(settings)
    new = RenderOptions(operator=options.parse_operator(operator), repairs=not no_repairs, provider=provider)
    old = RenderOptions(
        operator=options.parse_operator(from_operator or operator),
        repairs=not (no_repairs or from_no_repairs),
        provider=provider,
    )
    if after is None and not chosen and old == new:
        raise InvalidInputError(
            Problem(
                what="there is nothing to compare",
                why="only one side is named",
                remedy="name a second file, or say what changes: --set worker=1.6.1, or --from-operator 1.5",
            )
        )
    first = load([before], namespace=namespace)
    second = first if after is None else load([after], namespace=namespace)
    sides = _sides(first, old, {}), _sides(second, new, chosen)
    graphs = compare_all(*sides)
    click.echo((diff_json if output == "json" else diff_text)(graphs), nl=False)
    echo_refusals(_refusals(*sides, provider))
    others = len(first.others) + (len(second.others) if after else 0)
    if others or not graphs:
        click.echo(f"{len(graphs)} graphs compared, {others} documents of other kinds were not", err=True)
    return ExitCode.FINDINGS if exit_code and not all(graph.same for graph in graphs) else ExitCode.OK


def _sides(inventory: Inventory, rendering: RenderOptions, chosen: Mapping[str, Version]) -> list[Side]:
    graphs = with_versions_where_named(inventory.graphs, chosen)
    return [Side(graph, render_graph(graph, rendering), rendering.operator) for graph in graphs]


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
