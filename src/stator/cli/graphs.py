"""Naming a graph that runs here: its name, or `namespace/name` where the name alone is not enough."""

from __future__ import annotations

from collections.abc import Sequence

from stator.errors import InvalidInputError, Problem
from stator.local.state import GraphStatus


def select(known: Sequence[GraphStatus], names: Sequence[str]) -> list[GraphStatus]:
    """The graphs called `names`. Raises InvalidInputError naming every name that fits none or several."""
    chosen: list[GraphStatus] = []
    problems = []
    for name in names:
        fitting = [graph for graph in known if name in (graph.name, f"{graph.namespace}/{graph.name}")]
        if len(fitting) == 1:
            chosen.append(fitting[0])
        elif fitting:
            where = ", ".join(f"{graph.namespace}/{graph.name}" for graph in fitting)
            problems.append(Problem(what=f"graph {name!r} is not unique", why=where, remedy="write namespace/name"))
        else:
            names_here = ", ".join(graph.name for graph in known) or "none"
            problems.append(Problem(what=f"no graph {name!r}", why=f"known here: {names_here}"))
    if problems:
        raise InvalidInputError(*problems)
    return chosen
