"""Objects as an API server sends them to a webhook: what is wrong, and what deserves a warning.

The schema's problems ratchet too: what was wrong with the stored object, and still is, refuses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stator.admission.admit import problems, update_problems
from stator.admission.subject import Installed
from stator.admission.warnings import warnings
from stator.errors import InvalidInputError, Problem
from stator.model import Document, Graph, load_objects
from stator.model.identity import GRAPH_KINDS
from stator.model.load import shown, without_nulls
from stator.model.schema import frozen_fields, schema_problems
from stator.render import RenderOptions

Json = Mapping[str, Any]

# Kinds whose rules are all in their schema.
_BY_SCHEMA = ("DynamoModel", "DynamoGraphDeploymentScalingAdapter")


class Review(msgspec.Struct, frozen=True):
    """The answer: refused if there is any problem."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def review(
    new: Json,
    old: Json | None = None,
    *,
    installed: Installed = Installed(),  # noqa: B008 (immutable)
    options: RenderOptions = RenderOptions(),  # noqa: B008 (immutable)
    user: str | None = None,
    trusted: frozenset[str] = frozenset(),
) -> Review:
    """Review an object that is made (`old` is None) or changed. Both must be in the same API version.

    DynamoGraphDeployment, DynamoComponentDeployment, DynamoModel, DynamoGraphDeploymentScalingAdapter; an object of
    another kind is admitted as it is. While an object is no graph by its schema, before or after, what is frozen
    cannot be compared: only the schema's own problems count.
    """
    if new["kind"] in _BY_SCHEMA:
        return Review(_by_schema(new, old))
    if new["kind"] not in GRAPH_KINDS:
        return Review()
    graph, wrong = _loaded(new)
    before, known = (None, ()) if old is None else _loaded(old)
    if graph is None:
        return Review(tuple(problem for problem in wrong if problem not in known))
    how: dict[str, Any] = {"installed": installed, "options": options, "user": user, "trusted": trusted}
    if before is not None:
        found = update_problems(before, graph, **how)
    else:
        # A stored object that is no graph by today's schema is mended by this change: there is nothing to compare with.
        found = problems(graph, occasion="create" if old is None else "update", **how)
    return Review(found, warnings(graph))


def _loaded(value: Json) -> tuple[Graph | None, tuple[Problem, ...]]:
    try:
        return load_objects([value]).graphs[0], ()
    except InvalidInputError as error:
        return None, error.problems


def _by_schema(new: Json, old: Json | None) -> tuple[Problem, ...]:
    """What the schema of the object's kind refuses, and changes of what it says is frozen."""
    name = f"{new['apiVersion'].rpartition('/')[2]}.yaml#/{new['kind']}"
    document = Document(shown(new), new)
    found = schema_problems(document, without_nulls(new), name)
    if old is None:
        return tuple(found)
    was = schema_problems(document, without_nulls(old), name)
    frozen = (
        Problem(
            what="cannot change",
            position=document.locate(("spec", field)),
            remedy="make the object anew under another name",
        )
        for field, default in frozen_fields(name).items()
        if (old.get("spec") or {}).get(field, default) != (new.get("spec") or {}).get(field, default)
    )
    return (*(problem for problem in found if problem not in was), *frozen)
