"""Variables for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from stator.explain.variables import Unread, Variable, Variables, VariableSource

SCHEMA_VERSION = 1


def variables_text(components: Sequence[Variables]) -> str:
    """One block per component: name, value and winner on a line, below it what that shadows."""
    return "".join(f"{line}\n" for component in components for line in _component(component))


def variables_json(components: Sequence[Variables]) -> str:
    """The same as a JSON document, indented by two, with a newline at the end."""
    document = {"schema_version": SCHEMA_VERSION, "components": [_json(component) for component in components]}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _component(component: Variables) -> Iterator[str]:
    yield f"{component.graph} {component.component}"
    for variable in component.variables:
        yield f"  {variable.name}={variable.source.value}  {_who(variable.source)}"
        if variable.resolved:
            yield f"    is {variable.resolved}"
        if variable.problem:
            yield f"    problem: {variable.problem}"
        for loser in variable.shadows:
            yield f"    shadows {loser.value!r}  {_who(loser)}"
    for item in component.unread:
        what = f"any variable that starts with {item.prefix}" if item.prefix else "any variable without an entry above"
        where = f" at {item.position}" if item.position else ""
        yield f"  not read: {item.source}{where}, which may set {what}"


def _who(source: VariableSource) -> str:
    words = f"({source.layer}: {source.detail})" if source.detail else f"({source.layer})"
    return f"{words} at {source.position}" if source.position else words


def _json(component: Variables) -> dict[str, Any]:
    return {
        "graph": component.graph,
        "component": component.component,
        "variables": [_variable(variable) for variable in component.variables],
        "unread": [_unread(item) for item in component.unread],
    }


def _variable(variable: Variable) -> dict[str, Any]:
    return {
        "name": variable.name,
        **_source(variable.source),
        "resolved": variable.resolved or None,
        "problem": variable.problem or None,
        "shadows": [_source(loser) for loser in variable.shadows],
    }


def _source(source: VariableSource) -> dict[str, Any]:
    position = str(source.position) if source.position else None
    return {"layer": source.layer, "detail": source.detail, "value": source.value, "position": position}


def _unread(item: Unread) -> dict[str, Any]:
    position = str(item.position) if item.position else None
    return {"source": item.source, "prefix": item.prefix, "position": position}
