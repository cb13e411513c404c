"""Finding a place again: from the line and column of a finding to the nodes of the document that stand there.

A node that an alias or a merge key leads to a second time is shared: writing to it would change two places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import yaml

from stator.model import Document, Path
from stator.model.documents import is_merge_key


class Spot(NamedTuple):
    """A value in a document: its key, if it has one, and the collections around it, outermost first.

    Each of `around` is a collection and the index of the entry that leads on.
    """

    path: Path
    key: yaml.ScalarNode | None
    value: yaml.Node
    around: tuple[tuple[yaml.CollectionNode, int], ...]


def spots_at(document: Document, line: int, column: int) -> list[Spot]:
    """What stands at a place (both counted from 1), outermost first: a list's entry begins where its first key does."""
    found = []
    for spot in _spots(document.root, (), (), set()):
        mark = (spot.key or spot.value).start_mark
        if (mark.line + 1, mark.column + 1) == (line, column):
            found.append(spot)
    return found


def around(spot: Spot) -> Iterator[Spot]:
    """The spot itself, then each collection it is in, innermost first."""
    yield spot
    path, steps = spot.path, spot.around
    while steps:
        node, _ = steps[-1]
        path, steps = path[:-1], steps[:-1]
        key = steps[-1][0].value[steps[-1][1]][0] if steps and isinstance(steps[-1][0], yaml.MappingNode) else None
        yield Spot(path, key, node, steps)


def shared(document: Document) -> frozenset[int]:
    """The ids of the nodes that stand in several places of the document."""
    times: Counter[int] = Counter()
    pending = [document.root] if document.root else []
    while pending:
        for child in children(pending.pop()):
            times[id(child)] += 1
            if times[id(child)] == 1:
                pending.append(child)
    return frozenset(node for node, number in times.items() if number > 1)


def children(node: yaml.Node) -> list[yaml.Node]:
    """The keys, values and entries right below a node."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _spots(
    node: yaml.Node | None, path: Path, steps: tuple[tuple[yaml.CollectionNode, int], ...], seen: set[int]
) -> Iterator[Spot]:
    """Everything below a node, each node once."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for index, (key, value) in enumerate(node.value):
            if not is_merge_key(key) and isinstance(key, yaml.ScalarNode):
                here = ((*path, str(key.value)), (*steps, (node, index)))
                yield Spot(here[0], key, value, here[1])
                yield from _spots(value, *here, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            here = ((*path, index), (*steps, (node, index)))
            yield Spot(here[0], None, item, here[1])
            yield from _spots(item, *here, seen)
