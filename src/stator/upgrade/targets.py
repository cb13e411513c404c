"""`--set` over several graphs: each graph takes the settings that fit it, and every setting has to fit one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stator.errors import InvalidInputError, Problem
from stator.model import Graph
from stator.versions import Version, with_versions


def at_versions(graphs: Sequence[Graph], settings: Mapping[str, Version]) -> tuple[Graph, ...]:
    """The graphs with components (or whole types) at other releases. Raises InvalidInputError for what fits nowhere."""
    lost = [key for key in settings if not any(_fits(graph, key) for graph in graphs)]
    if lost:
        names = ", ".join(f"{part.name} ({part.type})" for graph in graphs for part in graph.components) or "none"
        raise InvalidInputError(
            *(
                Problem(what=f"there is no component {key!r} to set to {settings[key]}", why=f"there are {names}")
                for key in lost
            )
        )
    return tuple(
        with_versions(graph, {key: version for key, version in settings.items() if _fits(graph, key)})
        for graph in graphs
    )


def _fits(graph: Graph, key: str) -> bool:
    return any(key.lower() in (part.name.lower(), part.type) for part in graph.components)
