"""Text to documents: YAML or JSON, as kubectl reads it, every value with its place.

libyaml (through PyYAML's parser) composes the node tree, which keeps the positions; the plain values are built from
it here. What YAML allows and a Kubernetes object cannot hold, or what reads differently than it looks, is a problem:
duplicate keys, keys that are no text, aliases that blow up, deep nesting.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.reader import ReaderError

from stator.errors import Position, Problem
from stator.model.documents import Document, entry, is_merge_key
from stator.model.scalars import PLAIN, STRING_TAG, JsonScalar, ScalarError, plain, tagged

# Kubernetes objects are a dozen levels deep; the bound keeps hostile input away from the interpreter's stack.
MAX_DEPTH = 128
# Without aliases every value needs at least one character, so only expanding aliases can exceed both bounds.
MIN_EXPANSION_BOUND = 100_000

_DOCUMENT_START = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_TEMPLATE = re.compile(r"\$\{|\{\{|<%")
_ESCAPED_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
_JSON_ONLY = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
TEMPLATE_REMEDY = "substitute the template first (for example with envsubst or helm template), then load the result"
_TOO_DEEP = (f"nested deeper than {MAX_DEPTH} levels, or an alias that contains itself", "write the value out flat")
_BLOWN_UP = (
    "the aliases of this document expand to too many values",
    "write the values out instead of repeating aliases",
)
# `!vault`, `!Ref`, `!!python/object`: kubectl drops such a tag without a word, and what was meant with it.
_FOREIGN_TAG = re.compile(r"!.+|tag:(?!yaml\.org,2002:\w+$).*", re.DOTALL)
_TAG_REMEDY = "run the program that it is meant for first; or write the value without the tag"
_TAB_REMEDY = "indent with spaces: YAML does not allow tabs there"
_SEPARATOR_REMEDY = "separate documents by a line `---`"
_STRUCTURE_REMEDY = "check the indentation and the quotes at this place"


def parse(file: str, content: bytes) -> tuple[list[Document], list[Problem]]:
    """All documents of a source, and everything that is wrong with its text.

    A document that cannot be read does not hide the problems of the ones after it. Empty documents are left out.
    The items of a `List` are documents of their own.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"is not UTF-8 text: byte 0x{content[error.start]:02x}"
        return [], [Problem(what=what, position=Position(file, line), remedy="save the file as UTF-8")]
    if text.lstrip().startswith("{"):
        text = as_yaml(text)
    documents: list[Document] = []
    problems: list[Problem] = []
    start: int | None = 0
    while start is not None:
        start = _parse_from(file, text, start, documents, problems)
    return documents, problems


def as_yaml(text: str) -> str:
    """JSON text in the words of YAML, which does not know surrogate escapes and takes fewer characters as they are."""
    text = _ESCAPED_SURROGATES.sub(
        lambda escape: escape[1] + bytes.fromhex(escape[2] + escape[3]).decode("utf-16-be"), text
    )
    return _JSON_ONLY.sub(lambda character: f"\\u{ord(character[0]):04x}", text)


def _parse_from(file: str, text: str, start: int, documents: list[Document], problems: list[Problem]) -> int | None:
    """Parse from offset `start`; after an error, the offset of the next document start to go on from."""
    padded = "\n" * text.count("\n", 0, start) + text[start:]
    parser = _Parser(file, padded)
    bound = max(MIN_EXPANSION_BOUND, len(text))
    try:
        while parser.check_node():
            if (root := parser.get_node()) is None:
                break
            builder = _Builder(file, bound)
            value = builder.build(root)
            problems += builder.problems
            if value is not None:
                documents += _items(Document(file, value, root))
    except _UnreadableDocumentError as error:
        problem = error.problem
    except yaml.YAMLError as error:
        problem = _syntax_problem(file, padded, error)
    else:
        return None
    at = max(_offset(text, problem.position), start + 1)
    following = _DOCUMENT_START.search(text, at)
    end = following.start() if following else len(text)
    if _TEMPLATE.search(text, max(start, text.rfind("\n---", start, at)), end):
        problem = dataclasses.replace(problem, remedy=TEMPLATE_REMEDY)
    problems.append(problem)
    return end if following else None


def _offset(text: str, position: Position | None) -> int:
    """Offset of a place in the text."""
    if position is None:
        return 0
    at = 0
    for _ in range(position.line - 1):
        at = text.find("\n", at) + 1
    return at + max(position.column - 1, 0)


def _syntax_problem(file: str, text: str, error: yaml.YAMLError) -> Problem:
    """What libyaml says, at its place, with what is most likely to do."""
    if isinstance(error, ReaderError):
        before = text.encode()[: error.position].decode(errors="ignore")
        position = Position(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        why = f"the character U+{error.character:04X} is not allowed"
        return Problem(what="not readable as YAML", position=position, why=why, remedy="remove it")
    mark = error.problem_mark or error.context_mark if isinstance(error, yaml.MarkedYAMLError) else None
    position = Position(file, mark.line + 1, mark.column + 1) if mark else Position(file)
    why = ": ".join(part for part in (getattr(error, "context", ""), getattr(error, "problem", "")) if part)
    line = text.split("\n")[position.line - 1 : position.line] if mark else []
    tab = bool(line) and line[0].lstrip(" ").startswith("\t")
    remedy = _TAB_REMEDY if tab else _SEPARATOR_REMEDY if "<document start>" in why else _STRUCTURE_REMEDY
    return Problem(what="not readable as YAML", position=position, why=why, remedy=remedy)


class _UnreadableDocumentError(Exception):
    """Building or composing a document was given up."""

    def __init__(self, what: str, remedy: str, position: Position) -> None:
        self.problem = Problem(what=what, position=position, remedy=remedy)
        super().__init__(what)


class _Parser(yaml.CSafeLoader):
    """libyaml's composer without PyYAML's resolver: a node's tag is the explicit one, or says plain or quoted."""

    def __init__(self, file: str, text: str) -> None:
        super().__init__(text)
        self.file = file
        self.depth = 0

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: tuple[bool, bool]) -> str:  # noqa: ARG002 (the parser calls it so)
        """Tag of a node that carries none."""
        return STRING_TAG if kind is yaml.ScalarNode and not implicit[0] else PLAIN

    def descend_resolver(self, parent: yaml.Node | None, index: Any) -> None:  # noqa: ARG002 (the parser calls it so)
        """Called before each child is composed; stops before the C stack is at risk."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            mark = parent.start_mark if parent else None
            position = Position(self.file, mark.line + 1, mark.column + 1) if mark else Position(self.file)
            raise _UnreadableDocumentError(*_TOO_DEEP, position)

    def ascend_resolver(self) -> None:
        """Called after each child is composed."""
        self.depth -= 1


class _Builder:
    """Plain values of one document's nodes."""

    def __init__(self, file: str, bound: int) -> None:
        self.file = file
        self.bound = bound
        self.built = 0
        self.problems: list[Problem] = []

    def position(self, node: yaml.Node) -> Position:
        return Position(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def problem(self, what: str, node: yaml.Node, remedy: str) -> None:
        self.problems.append(Problem(what=what, position=self.position(node), remedy=remedy))

    def build(self, node: yaml.Node, depth: int = 0) -> Any:
        self.built += 1
        if self.built > self.bound:
            raise _UnreadableDocumentError(*_BLOWN_UP, self.position(node))
        if depth > MAX_DEPTH:
            raise _UnreadableDocumentError(*_TOO_DEEP, self.position(node))
        if node.tag not in (PLAIN, STRING_TAG) and _FOREIGN_TAG.fullmatch(node.tag):
            self.problem(f"the tag `{_written(node.tag)}` is for another program to resolve", node, _TAG_REMEDY)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, depth + 1) for item in node.value]
        return self.mapping(node.value, depth)

    def scalar(self, node: yaml.ScalarNode) -> JsonScalar:
        try:
            return plain(node.value) if node.tag == PLAIN else tagged(node.tag, node.value)
        except ScalarError as error:
            self.problem(str(error), node, "write another value, or put it in quotes if it is text")
            return None

    def mapping(self, entries: list[tuple[yaml.Node, yaml.Node]], depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        keys: dict[str, yaml.Node] = {}
        merged: list[yaml.Node] = []
        for key_node, value_node in entries:
            if is_merge_key(key_node):
                merged += value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                continue
            key = self.key(key_node)
            if key in keys:
                first = keys[key].start_mark.line + 1
                self.problem(f"the key `{key}` stands here and in line {first}", key_node, "keep one of the two")
            else:
                keys[key] = key_node
            value[key] = self.build(value_node, depth + 1)
        # The mapping's own keys win, then the earlier of the merged ones (YAML 1.1, "Merge Key").
        for source in merged:
            if not isinstance(source, yaml.MappingNode):
                self.problem("`<<` merges something that is no mapping", source, "name an anchored mapping")
                continue
            for key, merged_value in self.build(source, depth + 1).items():
                value.setdefault(key, merged_value)
        return value

    def key(self, node: yaml.Node) -> str:
        """The text of a key. A whole number stands for its digits, as in kubectl; anything else must be text."""
        if not isinstance(node, yaml.ScalarNode):
            self.problem("a key is a list or a mapping", node, f"write the key as text; or {TEMPLATE_REMEDY}")
            return ""
        key = self.scalar(node)
        if not isinstance(key, str) and str(key) != node.value:
            reads = json.dumps(key)
            self.problem(f"the key `{node.value}` reads as `{reads}`, not as text", node, "put the key in quotes")
        return str(node.value)


def _written(tag: str) -> str:
    """A tag as it stands in the text."""
    return tag.replace("tag:yaml.org,2002:", "!!")


def _items(document: Document) -> Iterator[Document]:
    """The document; or the items of a `List`, `ConfigMapList` and so on in its place, as kubectl takes them apart."""
    value, root = document.value, document.root
    if not (
        isinstance(value, dict) and str(value.get("kind")).endswith("List") and isinstance(value.get("items"), list)
    ):
        yield document
        return
    items = entry(root, "items")
    for item, node in zip(value["items"], items[1].value if items else (), strict=True):
        yield from _items(Document(document.file, item, node))
