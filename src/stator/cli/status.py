"""`stator status`: what runs here, at which versions, where those came from, and why something is not Ready."""

from __future__ import annotations

import click
import msgspec

from stator.cli.graphs import select
from stator.cli.view import graph_lines, trouble_lines
from stator.errors import ExitCode
from stator.local.lifecycle import clean_up_dead, list_graphs
from stator.local.state import StateDirectory


@click.command()
@click.argument("graphs", nargs=-1, metavar="[GRAPH]...")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--all", "everything", is_flag=True, help="Stopped graphs too.")
def status(*, graphs: tuple[str, ...], output: str, everything: bool) -> int:
    """Show the graphs that run on this machine (or only GRAPH...).

    JSON holds everything: components with version sources and rules, pods, services, and each difference from
    what a cluster would run. Exit code 1 if a shown graph is not Ready.
    """
    state = StateDirectory.default()
    clean_up_dead(state)
    known = list_graphs(state)
    shown = select(known, graphs) if graphs else [graph for graph in known if everything or graph.phase != "Stopped"]
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode({"schema_version": 1, "graphs": shown}), indent=2))
    elif shown:
        parts = ([*graph_lines(graph, detail=True), *trouble_lines(state, graph)] for graph in shown)
        click.echo("\n\n".join("\n".join(lines) for lines in parts))
    else:
        click.echo("nothing runs here; start a graph with: stator up FILE")
    return ExitCode.OK if all(graph.phase == "Ready" for graph in shown) else ExitCode.FINDINGS
