"""A parsed document that still knows on which line each of its values stands."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import yaml

from stator.errors import Position, Problem

Path = tuple[str | int, ...]

_PLAIN_STEP = re.compile(r"[\w-]+")
# The tag of an unquoted scalar, which `stator.model.parse` leaves empty, or the explicit one.
_MERGE_TAGS = frozenset({"", "tag:yaml.org,2002:merge"})


class Document(msgspec.Struct, frozen=True):
    """One document of a source: its plain JSON value, and the parsed node tree that holds the positions.

    `file` is the name to show (`-` for standard input). An object read from an API server has no node tree; its
    `file` is `Kind/namespace/name`, and its positions are field paths.
    """

    file: str
    value: Any
    root: yaml.Node | None = None

    def __repr__(self) -> str:
        """The place alone: the value may be a Secret's."""
        return f"Document({self.locate(())})"

    def locate(self, path: Path) -> Position:
        """Position of the value at `path`, or of its nearest parent that exists.

        The walk follows the node tree only when it is asked, so loading pays nothing for positions that nobody needs.
        """
        if self.root is None:
            return Position(self.file, field=field_path(path))
        node, mark = self.root, self.root.start_mark
        for step in path:
            found = entry(node, step)
            if found is None:
                break
            mark, node = found[0].start_mark, found[1]
        return Position(self.file, mark.line + 1, mark.column + 1)

    def problem(self, path: Path, what: str, remedy: str = "") -> Problem:
        """A problem with the value at `path`. Its words name the field where its position is a line, which does not."""
        position = self.locate(path)
        named = what if position.field or not path else f"{field_path(path)}: {what}"
        return Problem(what=named, position=position, remedy=remedy)


def field_path(path: Path) -> str:
    """`spec.components[1].replicas`; a key that is no identifier is quoted, as in `metadata.labels["a.b/c"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_STEP.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def is_merge_key(key: yaml.Node) -> bool:
    """Whether a mapping's key is YAML 1.1's `<<`, which takes over another mapping's entries."""
    return key.value == "<<" and key.tag in _MERGE_TAGS


def entry(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """What stands at `step` of a mapping or a list: the node to point at (the key, if there is one) and the value.

    A mapping's own keys come before the ones merged into it.
    """
    if isinstance(node, yaml.SequenceNode):
        inside = isinstance(step, int) and step < len(node.value)
        return (node.value[step], node.value[step]) if inside else None
    if not isinstance(node, yaml.MappingNode):
        return None
    found = next(((key, value) for key, value in node.value if key.value == step and not is_merge_key(key)), None)
    if found:
        return found
    sources = (value for key, value in node.value if is_merge_key(key))
    merged = (
        source for value in sources for source in (value.value if isinstance(value, yaml.SequenceNode) else [value])
    )
    return next((found for source in merged if (found := entry(source, step))), None)
