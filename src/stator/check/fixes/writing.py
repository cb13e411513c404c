"""An edit as replacements in a document's text, and as what the document's value is to be afterwards.

The two are made apart from each other: whoever applies them parses the new text and compares, so that a place this
module misjudges is a refusal and never a broken file.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import yaml

from stator.check.fixes.spots import Spot, around, children, shared, spots_at
from stator.compat.edits import (
    Edit,
    InsertEnv,
    RemoveEnv,
    RemoveField,
    RemoveWord,
    RenameEnv,
    RenameField,
    ReplaceWord,
    SetEnv,
)
from stator.errors import Position
from stator.model import Document, Path
from stator.model.documents import entry

_BLOCK_STYLES = ("|", ">")


class RefusedError(Exception):
    """The edit cannot be made in place; the text says why, to follow "because"."""


class MisfitError(RefusedError):
    """What stands at the place is not what the edit is about."""


class Replacement(NamedTuple):
    """The characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


class Change(NamedTuple):
    """What to do to the text, and what the document's value has to be then."""

    replacements: tuple[Replacement, ...]
    expected: Any


def change(text: str, document: Document, position: Position, edit: Edit) -> Change:
    """The edit at a place of one of the file's documents.

    Raises MisfitError if nothing at the place fits the edit, RefusedError if something does and is not to be touched.
    """
    twice = shared(document)
    refused: RefusedError = MisfitError("there is nothing at its place that it fits")
    for spot in spots_at(document, position.line, position.column):
        if any(id(node) in twice for node in (spot.value, *(node for node, _ in spot.around))):
            refused = RefusedError("an alias or a merge key uses this part of the file in several places")
            continue
        place = _Place(text, document, spot)
        try:
            replacements, path, alter = _made(edit, place)
        except MisfitError:
            continue
        except RefusedError as error:
            refused = error
            continue
        value = copy.deepcopy(document.value)
        alter(_at(value, path[:-1]), path[-1])
        return Change(tuple(replacements), value)
    raise refused


# What changes the parent of a path in a copy of the document's value.
_Alter = Callable[[Any, Any], None]
_Made = tuple[list[Replacement], Path, _Alter]


class _Place(NamedTuple):
    text: str
    document: Document
    spot: Spot

    @property
    def json(self) -> bool:
        return self.text.lstrip().startswith("{")


@singledispatch
def _made(edit: Edit, place: _Place) -> _Made:
    raise NotImplementedError(edit, place)


@_made.register
def _set_env(edit: SetEnv, place: _Place) -> _Made:
    _, value = _env(place, edit.name)
    path = (*place.spot.path, "value")
    return [_scalar(place, value, edit.value)], path, lambda parent, key: parent.__setitem__(key, edit.value)


@_made.register
def _rename_env(edit: RenameEnv, place: _Place) -> _Made:
    name, value = _env(place, edit.name, literal=bool(edit.value))
    made = [_word(place, name, edit.name, edit.to)]
    if edit.value and value is not None:
        made.append(_scalar(place, value, edit.value))

    def alter(parent: Any, key: Any) -> None:
        parent[key]["name"] = edit.to
        if edit.value:
            parent[key]["value"] = edit.value

    return made, place.spot.path, alter


@_made.register
def _remove_env(edit: RemoveEnv, place: _Place) -> _Made:
    _env(place, edit.name, literal=False)
    if f"$({edit.name})" in place.text:
        raise RefusedError(f"something refers to it as $({edit.name})")
    return _without_item(place)


@_made.register
def _insert_env(edit: InsertEnv, place: _Place) -> _Made:
    container = next((spot for spot in around(place.spot) if _is_container(spot)), None)
    if container is None:
        raise MisfitError("no container is around its place")
    listed = entry(container.value, "env")
    path = (*container.path, "env")

    def alter(parent: Any, key: Any) -> None:
        parent.setdefault(key, []).append({"name": edit.name, "value": edit.value})

    if listed is None:
        return [_new_env(place, container, edit)], path, alter
    if not isinstance(listed[1], yaml.SequenceNode) or id(listed[1]) in shared(place.document):
        raise RefusedError("the list of variables is written in another place")
    return [_appended(place, listed[1], edit)], path, alter


@_made.register
def _replace_word(edit: ReplaceWord, place: _Place) -> _Made:
    if not isinstance(place.spot.value, yaml.ScalarNode) or place.spot.key is not None:
        raise MisfitError("there is no word at its place")

    def alter(parent: Any, key: Any) -> None:
        parent[key] = _boundary(edit.word).sub(lambda _: edit.to, parent[key])

    return [_word(place, place.spot.value, edit.word, edit.to)], place.spot.path, alter


@_made.register
def _remove_word(edit: RemoveWord, place: _Place) -> _Made:
    node, index = place.spot.around[-1]
    word = place.spot.value
    if not isinstance(node, yaml.SequenceNode) or not isinstance(word, yaml.ScalarNode):
        raise MisfitError("there is no word at its place")
    if word.value != edit.word and not word.value.startswith(f"{edit.word}="):
        raise RefusedError("the word stands in a script or among others")
    following = node.value[index + 1] if index + 1 < len(node.value) else None
    with_value = edit.with_value and "=" not in word.value and isinstance(following, yaml.ScalarNode)
    number = 2 if with_value and following is not None and not str(following.value).startswith("-") else 1
    return _without_item(place, number)


@_made.register
def _rename_field(edit: RenameField, place: _Place) -> _Made:
    key = place.spot.key
    if key is None or key.value != edit.name:
        raise MisfitError("there is no such field at its place")

    def alter(parent: Any, name: Any) -> None:
        items = [(edit.to if each == name else each, value) for each, value in parent.items()]
        parent.clear()
        parent.update(items)

    return [_word(place, key, edit.name, edit.to)], place.spot.path, alter


@_made.register
def _remove_field(edit: RemoveField, place: _Place) -> _Made:
    if place.spot.key is None or place.spot.key.value != edit.name:
        raise MisfitError("there is no such field at its place")
    return _without_field(place)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _env(place: _Place, name: str, *, literal: bool = True) -> tuple[yaml.ScalarNode, yaml.ScalarNode | None]:
    """The nodes of an entry's name and value at the place. Raises RefusedError if there is none of this name."""
    named = entry(place.spot.value, "name")
    written = named[1] if named else None
    if place.spot.key is not None or not isinstance(written, yaml.ScalarNode) or written.value != name:
        raise MisfitError(f"there is no entry {name} at its place")
    value = entry(place.spot.value, "value")
    text = value[1] if value else None
    if isinstance(text, yaml.ScalarNode):
        return written, text
    if literal:
        raise RefusedError("its value is not written out")
    return written, None


def _is_container(spot: Spot) -> bool:
    """Whether the spot is a main container: an entry of `containers`, or v1alpha1's `mainContainer`."""
    if not isinstance(spot.value, yaml.MappingNode) or not spot.path:
        return False
    name = entry(spot.value, "name")
    listed = spot.path[-2:-1] == ("containers",) and name is not None and name[1].value == "main"
    return listed or spot.path[-1] == "mainContainer"


def _raw(place: _Place, node: yaml.Node) -> str:
    raw = place.text[node.start_mark.index : node.end_mark.index]
    if raw[:1] in ("&", "*", "!"):
        raise RefusedError("an anchor, an alias or a tag stands there")
    return raw


def _scalar(place: _Place, node: yaml.Node | None, value: str) -> Replacement:
    """Another text in the place of a scalar, in its quotes if it has some."""
    if not isinstance(node, yaml.ScalarNode) or node.style in _BLOCK_STYLES or not _raw(place, node):
        raise RefusedError("its value is a block of lines, or empty")
    quotes = "'" if node.style == "'" else '"' if node.style == '"' or place.json else ""
    return Replacement(node.start_mark.index, node.end_mark.index, _quoted(value, quotes))


def _quoted(value: str, quotes: str = "") -> str:
    """A text as a YAML scalar. Without given quotes single ones, if that is readable, because JSON has double ones."""
    if quotes == "'" or (not quotes and '"' in value and "'" not in value and value.isprintable()):
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value, ensure_ascii=False)


def _boundary(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])")


def _word(place: _Place, node: yaml.Node, word: str, to: str) -> Replacement:
    """One word of a scalar, however it is quoted, exchanged where it stands."""
    raw = _raw(place, node)
    found = list(_boundary(word).finditer(raw))
    if len(found) != 1:
        raise RefusedError(f"{word} stands there {len(found)} times" if found else f"{word} is not there as it is read")
    start = node.start_mark.index + found[0].start()
    return Replacement(start, start + len(word), to)


def _end(place: _Place, node: yaml.Node) -> int:
    """Where a node's content ends. The end mark of a block collection is where whatever follows it begins."""
    last = _last(node)
    if last is not None and isinstance(node, yaml.CollectionNode) and not node.flow_style:
        return _end(place, last)
    return node.start_mark.index + len(place.text[node.start_mark.index : node.end_mark.index].rstrip())


def _last(node: yaml.Node) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode) and node.value:
        last = node.value[-1][1]
        return last if isinstance(last, yaml.Node) else None
    return node.value[-1] if isinstance(node, yaml.SequenceNode) and node.value else None


def _line_start(text: str, index: int) -> int:
    return max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1


def _next_line(text: str, index: int) -> int:
    """Where the line after the one of `index` begins, the end of the text if there is none."""
    found = re.compile(r"\r\n|\n|\r").search(text, index)
    return found.end() if found else len(text)


def _newline(text: str) -> str:
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"


def _dash(text: str, item: yaml.Node) -> int:
    """Where the dash of a block list's entry stands; it has to be the first on its line."""
    start = _line_start(text, item.start_mark.index)
    line = re.compile(r" *- +").match(text, start)
    if line is None or line.end() != item.start_mark.index:
        raise RefusedError("the entry does not begin on a line of its own")
    return start + line[0].index("-")


def _without_item(place: _Place, number: int = 1) -> _Made:
    """Remove the entry at the place, and `number` of them in all; the list's field goes with its only entry."""
    node, index = place.spot.around[-1]
    if not isinstance(node, yaml.SequenceNode):
        raise RefusedError("it is no entry of a list")
    if len(node.value) == number:
        parent = list(around(place.spot))[1]
        return _without_field(_Place(place.text, place.document, parent))

    def alter(parent: Any, key: Any) -> None:
        del parent[key : key + number]

    items = node.value[index : index + number]
    if node.flow_style:
        return [_cut(place, node.value, index, number)], place.spot.path, alter
    _no_anchor(place, items)
    start = _line_start(place.text, _dash(place.text, items[0]))
    return [Replacement(start, _next_line(place.text, _end(place, items[-1])), "")], place.spot.path, alter


def _without_field(place: _Place) -> _Made:
    """Remove the field at the place with all lines below it."""
    key = place.spot.key
    node, index = place.spot.around[-1]
    if key is None or not isinstance(node, yaml.MappingNode) or len(node.value) == 1:
        raise RefusedError("it is all there is in its place")

    def alter(parent: Any, name: Any) -> None:
        del parent[name]

    if node.flow_style:
        pairs = [_Pair(each, value) for each, value in node.value]
        return [_cut(place, pairs, index, 1)], place.spot.path, alter
    start = _line_start(place.text, key.start_mark.index)
    if place.text[start : key.start_mark.index].strip():
        raise RefusedError("the field does not begin on a line of its own")
    _no_anchor(place, [place.spot.value])
    end = max(_end(place, place.spot.value), key.end_mark.index)
    return [Replacement(start, _next_line(place.text, end), "")], place.spot.path, alter


class _Pair:
    """An entry of a flow mapping, with the marks of a node."""

    def __init__(self, key: yaml.Node, value: yaml.Node) -> None:
        self.start_mark = key.start_mark
        self.end_mark = value.end_mark


def _cut(place: _Place, items: list[Any], index: int, number: int) -> Replacement:
    """Entries of a flow collection with the comma that goes with them."""
    if index + number < len(items):
        return Replacement(items[index].start_mark.index, items[index + number].start_mark.index, "")
    if "#" in place.text[items[index - 1].end_mark.index : items[-1].end_mark.index]:
        raise RefusedError("a comment stands between the entries")
    return Replacement(items[index - 1].end_mark.index, items[-1].end_mark.index, "")


def _no_anchor(place: _Place, nodes: list[yaml.Node]) -> None:
    """Refuse to remove an anchor: what it names may be used elsewhere."""
    for node in nodes:
        pending = [node]
        while pending:
            found = pending.pop()
            _raw(place, found)
            pending += children(found)


def _appended(place: _Place, listed: yaml.SequenceNode, edit: InsertEnv) -> Replacement:
    """A new entry after the last of a list."""
    if listed.flow_style:
        item = json.dumps({"name": edit.name, "value": edit.value}, ensure_ascii=False)
        last = listed.value[-1].end_mark.index if listed.value else listed.start_mark.index + 1
        return Replacement(last, last, f", {item}" if listed.value else item)
    dash = _dash(place.text, listed.value[-1])
    indent = dash - _line_start(place.text, dash)
    return _below(place, _end(place, listed), _lines(edit, indent))


def _new_env(place: _Place, container: Spot, edit: InsertEnv) -> Replacement:
    """A list of variables as the last field of a container."""
    node = container.value
    if not isinstance(node, yaml.MappingNode) or not node.value:
        raise RefusedError("the container is empty")
    if node.flow_style:
        item = json.dumps([{"name": edit.name, "value": edit.value}], ensure_ascii=False)
        last = node.value[-1][1].end_mark.index
        key = '"env"' if place.json else "env"
        return Replacement(last, last, f", {key}: {item}")
    column = node.value[0][0].start_mark.column
    return _below(place, _end(place, node), [f"{' ' * column}env:", *_lines(edit, column)])


def _lines(edit: InsertEnv, indent: int) -> list[str]:
    return [f"{' ' * indent}- name: {edit.name}", f"{' ' * indent}  value: {_quoted(edit.value)}"]


def _below(place: _Place, index: int, lines: list[str]) -> Replacement:
    """Whole lines after the line of `index`."""
    at, newline = _next_line(place.text, index), _newline(place.text)
    first = "" if place.text[:at].endswith(("\n", "\r")) else newline
    return Replacement(at, at, first + "".join(f"{line}{newline}" for line in lines))
