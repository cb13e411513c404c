"""A document written anew in another API version, with the comments, order and spelling of the text it came from.

Every value of the new document that came from one of the old is written the way it was: the same quotes, the same
flow style where that was one line, its comments above and beside it, the old order of keys. What has no counterpart
is written plainly. A comment whose place is gone goes to the nearest place above that is still there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from stator.model import Document, Path
from stator.model.parse import parse

# Where a value of the new document stood in the old one; the old one may have nothing there.
Lineage = Callable[[Path], Path]

_FIRST = ("apiVersion", "kind", "metadata", "name", "type", "componentType", "subComponentType")
_PLAIN = re.compile(r"[A-Za-z/][-A-Za-z0-9_./]*(?:[:=@][-A-Za-z0-9_./]+)*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"})
_COMMENT = re.compile(r"#.*")
_INDENT = 2


class _Place(NamedTuple):
    """A value of the old document: where its entry (its key, its dash) starts, and its node."""

    line: int
    column: int
    node: yaml.Node


class _Comments(NamedTuple):
    above: dict[Path, list[str]]
    beside: dict[Path, list[str]]
    below: list[str]


def rewrite(text: str, document: Document, value: Mapping[str, Any], lineage: Lineage) -> str:
    """`value` as YAML text, in the manner of `text`, which is all that `document` was parsed from."""
    places = dict(_places(document.root, ()))
    return _Writer(text, places, _comments(text, places), lineage).document(value)


def _places(node: yaml.Node | None, path: Path) -> Iterator[tuple[Path, _Place]]:
    """Every entry below a node, in the order of the text. What an alias repeats has the place where it is written."""
    if isinstance(node, yaml.MappingNode):
        for key, item in node.value:
            here = (*path, str(key.value))
            yield here, _Place(key.start_mark.line, key.start_mark.column, item)
            yield from _places(item, here)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            here = (*path, index)
            yield here, _Place(item.start_mark.line, item.start_mark.column, item)
            yield from _places(item, here)


def _comments(text: str, places: Mapping[Path, _Place]) -> _Comments:
    """The comments of a text, each with the entry below it, or the last one on its line."""
    found = _Comments({}, {}, [])
    entries = list(places.items())
    for line, column, comment in _scan(text):
        if text.splitlines()[line][:column].strip():
            before = [path for path, place in entries if (place.line, place.column) <= (line, column)]
            if before:
                found.beside.setdefault(_of_one_line(before[-1], places), []).append(comment)
            else:
                found.above.setdefault(entries[0][0], []).append(comment)
            continue
        following = next((path for path, place in entries if place.line > line), None)
        (found.below if following is None else found.above.setdefault(following, [])).append(comment)
    return found


def _of_one_line(path: Path, places: Mapping[Path, _Place]) -> Path:
    """The outermost entry around one that is written on one line: `a: {b: c}  # d` is a comment on `a`."""
    for length in range(1, len(path)):
        place = places.get(path[:length])
        if place and _is_inline(place.node) and place.node.start_mark.line == place.node.end_mark.line:
            return path[:length]
    return path


def _scan(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, column and text of every comment: what stands between two tokens and is no space."""
    end = 0
    for token in yaml.scan(text, Loader=yaml.CSafeLoader):
        start = token.start_mark
        for match in _COMMENT.finditer(text, end, max(end, start.index)):
            line = text.count("\n", 0, match.start())
            yield line, match.start() - (text.rfind("\n", 0, match.start()) + 1), match[0].rstrip()
        end = max(end, token.end_mark.index)
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            end = start.index + len(text[start.index : end].rstrip())
    for match in _COMMENT.finditer(text, end):
        line = text.count("\n", 0, match.start())
        yield line, match.start() - (text.rfind("\n", 0, match.start()) + 1), match[0].rstrip()


class _Writer:
    def __init__(self, text: str, places: Mapping[Path, _Place], comments: _Comments, lineage: Lineage) -> None:
        self.text = text
        self.places = places
        self.comments = comments
        self.lineage = lineage
        self.lines: list[str] = []

    def document(self, value: Mapping[str, Any]) -> str:
        self.adopt({source for path in _paths(value, ()) if (source := self.lineage(path)) in self.places})
        self.mapping(value, (), 0)
        return "\n".join([*self.lines, *self.comments.below]) + "\n"

    def adopt(self, written: set[Path]) -> None:
        """Move each comment whose place will not be written to the nearest one above that will be."""
        for kind in (self.comments.beside, self.comments.above):
            for path in [path for path in kind if path not in written]:
                parents = (path[:length] for length in range(len(path) - 1, 0, -1))
                heir = next((parent for parent in parents if parent in written), ("apiVersion",))
                self.comments.above.setdefault(heir, []).extend(kind.pop(path))

    def mapping(self, value: Mapping[str, Any], path: Path, indent: int, first: str = "") -> None:
        """A block mapping; `first` is what the first line starts with (a dash) in the place of spaces."""
        for key in sorted(value, key=lambda key: self.rank(key, value[key], (*path, key))):
            self.entry(f"{_scalar(key)}:", value[key], (*path, key), indent, first)
            first = ""

    def sequence(self, value: list[Any], path: Path, indent: int) -> None:
        for index, item in enumerate(value):
            here = (*path, index)
            if isinstance(item, dict) and item and self.raw(item, here) is None:
                self.above(here, indent)
                self.mapping(item, here, indent + _INDENT, f"{' ' * indent}- ")
            else:
                self.entry("-", item, here, indent)

    def entry(self, head: str, value: Any, path: Path, indent: int, first: str = "") -> None:
        """One line, or a head with a block below it."""
        if first:
            above = self.comments.above.pop(self.lineage(path), [])
            # A comment cannot stand between a dash and its first key: it goes before the dash.
            self.lines += [f"{first[:-2]}{comment}" for comment in above]
        else:
            self.above(path, indent)
        start = first or " " * indent
        beside = "".join(f"  {comment}" for comment in self.comments.beside.pop(self.lineage(path), []))
        raw = self.raw(value, path)
        if raw is not None:
            self.lines.append(f"{start}{head} {raw}{beside}")
        elif isinstance(value, dict) and value:
            self.lines.append(f"{start}{head}{beside}")
            self.mapping(value, path, indent + _INDENT)
        elif isinstance(value, list) and value:
            self.lines.append(f"{start}{head}{beside}")
            self.sequence(value, path, indent + _INDENT)
        elif isinstance(value, str) and _is_block(value):
            self.lines.append(f"{start}{head} |{'' if value.endswith(chr(10)) else '-'}{beside}")
            self.lines += [
                f"{' ' * (indent + _INDENT)}{line}" if line else "" for line in value.rstrip("\n").split("\n")
            ]
        else:
            self.lines.append(f"{start}{head} {_scalar(value)}{beside}")

    def above(self, path: Path, indent: int) -> None:
        self.lines += [f"{' ' * indent}{comment}" for comment in self.comments.above.pop(self.lineage(path), [])]

    def rank(self, key: str, value: Any, path: Path) -> tuple[int, int, int]:
        """Identity first, then the old order; what is new last."""
        if key in _FIRST:
            return 0, _FIRST.index(key), 0
        lines = [
            (place.line, place.column)
            for each in _paths(value, path)
            if (place := self.places.get(self.lineage(each))) is not None
        ]
        return (1, *min(lines)) if lines else (2, 0, 0)

    def raw(self, value: Any, path: Path) -> str | None:
        """The old spelling, where that was one line and means the same standing alone."""
        place = self.places.get(self.lineage(path))
        if place is None or not _is_inline(place.node):
            return None
        text = self.text[place.node.start_mark.index : place.node.end_mark.index].rstrip()
        if not text or "\n" in text or text[0] in "&*!":
            return None
        documents, problems = parse("", f"value: {text}".encode())
        return text if not problems and [item.value for item in documents] == [{"value": value}] else None


def _paths(value: Any, path: Path) -> Iterator[Path]:
    """A path and all below it."""
    if path:
        yield path
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, (*path, index))


def _is_inline(node: yaml.Node) -> bool:
    if isinstance(node, yaml.ScalarNode):
        return node.style not in ("|", ">")
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _is_block(text: str) -> bool:
    """Whether a text of several lines can be a literal block: nothing of it would be lost there."""
    lines = text.rstrip("\n").split("\n")
    return (
        text.rstrip("\n") + "\n" in (text, text + "\n")
        and "\n" in text.rstrip("\n")
        and not lines[0].startswith(" ")
        and bool(lines[0])
        and text.replace("\n", "").isprintable()
    )


def _scalar(value: Any) -> str:
    """A scalar, or an empty collection, on one line."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return "'" + value.replace("'", "''") + "'" if value.isprintable() else json.dumps(value)
