"""What reconcilers load and render, remembered for the next pass over the same object.

A pass observes and plans again after it has written, and another follows when the cache has seen a change beneath the
object: the same specification, rendered with the same options, each time. Both functions are pure, and the costliest
step of a pass. What they return is shared, so nobody changes it.
"""

from __future__ import annotations

from collections.abc import Container
from functools import lru_cache
from typing import Any

import msgspec

from stator.model import Graph, load_objects
from stator.render import Manifest, RenderOptions, render_graph

Json = dict[str, Any]

# A graph and its two components take about 80 KB: enough for the objects that passes are over now, and for what soon
# follows while hundreds of graphs are new at once.
_REMEMBERED = 256


def load(live: Json, without: Container[str] = ()) -> Graph:
    """The graph or component in an object of the server, without its status and these annotations.

    Raises `InvalidInputError`.
    """
    metadata = {key: item for key, item in live["metadata"].items() if key != "resourceVersion"}
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {key: item for key, item in annotations.items() if key not in without}
    said = {key: item for key, item in live.items() if key != "status"}
    return _load(msgspec.json.encode({**said, "metadata": metadata}, order="deterministic"))


def render(graph: Graph, options: RenderOptions) -> Manifest:
    """What it renders to. Raises `InvalidInputError`."""
    return _render(_Wish(graph, options))


@lru_cache(_REMEMBERED)
def _load(encoded: bytes) -> Graph:
    [graph] = load_objects([msgspec.json.decode(encoded)]).graphs
    return graph


class _Wish:
    """A graph, the very one, and options as the key of what is rendered."""

    __slots__ = ("_key", "graph", "options")

    def __init__(self, graph: Graph, options: RenderOptions) -> None:
        self.graph, self.options = graph, options
        self._key = (id(graph), msgspec.json.encode(options, order="deterministic"))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Wish) and self._key == other._key


@lru_cache(_REMEMBERED)
def _render(wish: _Wish) -> Manifest:
    return render_graph(wish.graph, wish.options)
