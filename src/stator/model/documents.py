"""A parsed document that still knows on which line each of its values stands."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from stator.errors import Position

Path = tuple[str | int, ...]


class Document(msgspec.Struct, frozen=True):
    """One document of a source: its plain JSON value, and the parsed node tree that holds the positions.

    `file` is the name to show (`-` for standard input).
    """

    file: str
    value: Any
    root: yaml.Node

    def locate(self, path: Path) -> Position:
        """Position of the value at `path`, or of its nearest parent that exists.

        The walk follows the node tree only when it is asked, so loading pays nothing for positions that nobody needs.
        """
        node, mark = self.root, self.root.start_mark
        for step in path:
            if isinstance(node, yaml.MappingNode):
                found = next(((key, value) for key, value in node.value if key.value == step), None)
                if found is None:
                    break
                mark, node = found[0].start_mark, found[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                mark = node.start_mark
            else:
                break
        return Position(self.file, mark.line + 1, mark.column + 1)
