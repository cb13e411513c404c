"""`stator down`: stop graphs and leave nothing behind but their logs."""

from __future__ import annotations

import click

from stator.cli.graphs import select
from stator.local.lifecycle import clean_up_dead, list_graphs, stop
from stator.local.state import StateDirectory


@click.command()
@click.argument("graphs", nargs=-1, metavar="[GRAPH]...")
def down(*, graphs: tuple[str, ...]) -> None:
    """Stop all graphs that run here (or only GRAPH...), each pod with its own grace period.

    The logs stay until the graph is started again.
    """
    state = StateDirectory.default()
    ended = clean_up_dead(state)
    known = list_graphs(state)
    chosen = select(known, graphs) if graphs else [graph for graph in known if graph.phase != "Stopped"]
    for name in ended:
        click.echo(f"{name}: its supervisor was killed; ended what it left behind", err=True)
    if not chosen and not ended:
        click.echo("nothing runs here")
    for graph in chosen:
        stop(state.graph(graph.namespace, graph.name))
        click.echo(f"{graph.namespace}/{graph.name} stopped")
