"""`stator logs`: what the containers of a graph that runs (or ran) here have written."""

from __future__ import annotations

import click

from stator.cli.graphs import select
from stator.errors import InvalidInputError, Problem
from stator.local.lifecycle import clean_up_dead, follow_logs, list_graphs
from stator.local.state import GraphStatus, StateDirectory


@click.command()
@click.argument("components", nargs=-1, metavar="[COMPONENT]...")
@click.option("-g", "--graph", metavar="GRAPH", help="Which graph, if more than one runs here.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the graph stops.")
@click.option("-n", "--lines", type=click.IntRange(min=0), help="Begin with the last N lines of each container.")
def logs(*, components: tuple[str, ...], graph: str | None, follow: bool, lines: int | None) -> None:
    """Print the logs of all components (or only COMPONENT..., which may also name a pod).

    Where no graph runs, these are the logs of the one that was started last.
    """
    state = StateDirectory.default()
    clean_up_dead(state)
    chosen = _the_graph(list_graphs(state), graph)
    names = {name.lower(): name for pod in chosen.pods for name in (pod.component, pod.name)}
    if unknown := [component for component in components if component.lower() not in names]:
        raise InvalidInputError(
            *(
                Problem(
                    what=f"graph {chosen.name!r} has no component or pod {component!r}",
                    why=f"it has {', '.join(sorted({pod.component for pod in chosen.pods}))}",
                )
                for component in unknown
            )
        )
    selected = [names[component.lower()] for component in components]
    directory = state.graph(chosen.namespace, chosen.name)
    several = len([1 for pod in chosen.pods if not selected or {pod.component, pod.name} & set(selected)]) > 1
    for line in follow_logs(directory, select=selected, follow=follow, lines=lines):
        click.echo(f"{line.pod}: {line.text}" if several else line.text)


def _the_graph(known: tuple[GraphStatus, ...], name: str | None) -> GraphStatus:
    if name is not None:
        return select(known, (name,))[0]
    running = [graph for graph in known if graph.phase != "Stopped"]
    if len(running) == 1:
        return running[0]
    if not known:
        raise InvalidInputError(Problem(what="no graph was ever started here", remedy="stator up FILE"))
    if not running:
        return max(known, key=lambda graph: graph.started_at)
    names = ", ".join(f"{graph.namespace}/{graph.name}" for graph in running)
    raise InvalidInputError(Problem(what="several graphs run here", why=names, remedy="choose one with --graph"))
