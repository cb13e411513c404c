"""Sources to an inventory: the one way anything gets into the engine.

Reading, parsing, checking and converting are other modules; here they are put in order, and all of their problems are
raised together.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, TextIO

from stator.errors import InvalidInputError, Position, Problem
from stator.model import alpha, beta
from stator.model.configuration import config_map, secret
from stator.model.documents import Document
from stator.model.identity import GRAPH_KINDS, Identity, identify, identity_problems, schema_of
from stator.model.parse import parse
from stator.model.preserved import preserved_problems
from stator.model.resources import Graph, Inventory, SecretData
from stator.model.schema import schema_problems
from stator.model.sources import Source, read_sources

_TREES = (dict, list)
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def load(sources: Sequence[str], *, namespace: str | None = None, stdin: TextIO | BinaryIO | None = None) -> Inventory:
    """Load manifests from files, directories and `-` (standard input, or `stdin` if given).

    `namespace` is where objects go that name none, and must not contradict those that do (as `kubectl -n`).

    Raises InvalidInputError with every problem of every source.
    """
    if not sources:
        remedy = "name a file, a directory, or `-` for standard input"
        raise InvalidInputError(Problem(what="nothing to load", remedy=remedy))
    _check_namespace(namespace)
    collected = _Collected(namespace)
    problems: list[Problem] = []
    with _cycle_collection_paused():
        for source in read_sources(sources, stdin):
            problems += [source] if isinstance(source, Problem) else _take_in(source, collected)
    if problems:
        raise InvalidInputError(*problems)
    return collected.inventory()


def load_source(source: Source, *, namespace: str | None = None) -> Inventory:
    """Load one file that has been read, for whoever goes through many and keeps none. Raises as `load` does."""
    _check_namespace(namespace)
    collected = _Collected(namespace)
    with _cycle_collection_paused():
        problems = _take_in(source, collected)
    if problems:
        raise InvalidInputError(*problems)
    return collected.inventory()


def _check_namespace(namespace: str | None) -> None:
    if namespace is not None and not _NAMESPACE.fullmatch(namespace):
        raise InvalidInputError(
            Problem(
                what=f"{namespace!r} is no namespace",
                why="a namespace is lower-case letters, digits and '-', at most 63 of them (RFC 1123 label)",
            )
        )


def load_objects(values: Iterable[Mapping[str, Any]]) -> Inventory:
    """Load objects as an API server returns them; their positions are field paths, in the version they came in.

    Raises InvalidInputError with every problem of every object.
    """
    collected = _Collected(None)
    problems: list[Problem] = []
    for value in values:
        problems += collected.add(Document(shown(value), value))
    if problems:
        raise InvalidInputError(*problems)
    return collected.inventory()


def shown(value: Mapping[str, Any]) -> str:
    """`Kind/namespace/name` of an object, as far as it has them: the place of its problems."""
    metadata = value.get("metadata") or {}
    return "/".join(str(part) for part in (value.get("kind"), metadata.get("namespace"), metadata.get("name")) if part)


def _take_in(source: Source, collected: _Collected) -> list[Problem]:
    """Parse a source and collect its documents; all that is wrong with it, by line.

    A source without any document is a problem: it is not what the user meant to name.
    """
    documents, problems = parse(source.name, source.content)
    if not (documents or problems):
        what, remedy = "holds no document", "name a file that has one"
        return [Problem(what=what, position=Position(source.name), remedy=remedy)]
    for document in documents:
        problems += collected.add(document)
    return sorted(problems, key=lambda problem: problem.position or Position(source.name))


class _Collected:
    """What the documents amount to."""

    def __init__(self, namespace: str | None) -> None:
        self.namespace = namespace
        self.seen: dict[Identity, Document] = {}
        self.graphs: list[Graph] = []
        self.config_maps: dict[tuple[str, str], Mapping[str, str]] = {}
        self.secrets: dict[tuple[str, str], SecretData] = {}
        self.others: list[Document] = []

    def add(self, document: Document) -> list[Problem]:
        """Take a document in; what is wrong with it is returned, and then nothing of it is kept."""
        if problems := identity_problems(document, self.namespace):
            return problems
        identity = identify(document, self.namespace)
        if identity and (first := self.seen.setdefault(identity, document)) is not document:
            problems.append(_repeated(identity, document, first))
        schema = schema_of(document)
        if schema is None or (identity is None and document.value["kind"] not in GRAPH_KINDS):
            self.others.append(document)
            return problems
        value = without_nulls(document.value)
        problems += schema_problems(document, value, schema)
        if not problems and document.value["kind"] in GRAPH_KINDS:
            problems += preserved_problems(document, value)
        if identity and not problems:
            self.take(document, value, identity)
        return problems

    def take(self, document: Document, value: Mapping[str, Any], identity: Identity) -> None:
        if identity.kind in GRAPH_KINDS:
            convert = alpha.graph if value["apiVersion"].endswith("/v1alpha1") else beta.graph
            self.graphs.append(convert(document, value, identity.namespace))
        elif identity.kind == "ConfigMap":
            self.config_maps[identity.namespace, identity.name] = config_map(value)
        else:
            self.secrets[identity.namespace, identity.name] = secret(value)

    def inventory(self) -> Inventory:
        return Inventory(
            graphs=tuple(self.graphs),
            config_maps=self.config_maps,
            secrets=self.secrets,
            others=tuple(self.others),
        )


def _repeated(identity: Identity, document: Document, first: Document) -> Problem:
    return Problem(
        what=f"{identity} stands here and in {first.locate(('metadata', 'name'))}",
        position=document.locate(("metadata", "name")),
        remedy="keep one of the two, or give it another name",
    )


def without_nulls(value: Any) -> Any:
    """The value without null fields, which the API server drops (structural schemas, "Nullable").

    A null list item stays, and is an error. Without nulls, as an API server sends them, nothing is copied.
    """
    return _stripped(value) if isinstance(value, _TREES) and _has_nulls(value) else value


def _has_nulls(value: Any) -> bool:
    """Whether a mapping in the value has a null field."""
    pending = [value]
    while pending:
        tree = pending.pop()
        items: Collection[Any] = tree.values() if isinstance(tree, dict) else tree
        if isinstance(tree, dict) and None in items:
            return True
        pending += [item for item in items if isinstance(item, _TREES)]
    return False


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stripped(item) for key, item in value.items() if item is not None}
    return [_stripped(item) for item in value] if isinstance(value, list) else value


@contextmanager
def _cycle_collection_paused() -> Iterator[None]:
    """Loading builds large trees of which nothing is garbage: looking for cycles in them takes longer than parsing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
