"""What is said about the cluster in files: its custom resource definitions, and the chart's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stator.compat import Definition, Platform, definition
from stator.errors import InvalidInputError, Position, Problem
from stator.model import Document
from stator.model.parse import parse
from stator.model.sources import read_sources

_KIND = "CustomResourceDefinition"


def platform(definitions: Sequence[str], values: str | None) -> Platform:
    """The platform that files of definitions, and a file of values, describe.

    Raises InvalidInputError for a file that cannot be read, and for definitions among which none is ours.
    """
    problems: list[Problem] = []
    documents = [document for name in definitions for document in _documents(name, problems)]
    found = [document for document in documents if _is_definition(document)]
    ours = by_kind(found)
    if definitions and not ours and not problems:
        what = f"{', '.join(definitions)}: there is no {_KIND} of nvidia.com"
        problems.append(Problem(what=what, remedy="name the files that define the Dynamo kinds"))
    chart = _values(values, problems) if values else None
    if problems:
        raise InvalidInputError(*problems)
    return Platform(definitions=ours, kinds=kinds(found), values=chart)


def by_kind(documents: Sequence[Document]) -> Mapping[str, Definition]:
    """Our definitions by the kind they define."""
    found = (definition(document) for document in documents)
    return {item.kind: item for item in found if item is not None}


def kinds(documents: Sequence[Document]) -> frozenset[str]:
    """Every kind that is defined, also by others."""
    specs = (document.value.get("spec") or {} for document in documents)
    return frozenset(str((spec.get("names") or {}).get("kind", "")) for spec in specs)


def _is_definition(document: Document) -> bool:
    value = document.value
    return isinstance(value, Mapping) and value.get("kind") == _KIND and isinstance(value.get("spec"), Mapping)


def _documents(name: str, problems: list[Problem]) -> list[Document]:
    found: list[Document] = []
    for source in read_sources([name], None):
        if isinstance(source, Problem):
            problems.append(source)
            continue
        documents, wrong = parse(source.name, source.content)
        problems += wrong
        found += documents
    return found


def _values(name: str, problems: list[Problem]) -> Document | None:
    """The one document of a file of values; an empty file changes no value."""
    documents = _documents(name, problems)
    if not documents:
        return Document(name, {})
    if len(documents) > 1 or not isinstance(documents[0].value, Mapping):
        what, remedy = "is no file of chart values", "name the file that is given to helm with --values"
        problems.append(Problem(what=what, position=Position(name), remedy=remedy))
        return None
    return documents[0]
