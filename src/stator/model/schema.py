"""What a document must look like: JSON Schemas as data files, and their errors in the words of a Kubernetes user.

The schemas are the YAML files in `schemas/`, packaged as `schemas.json` by `tools/packaged.py`; `keywords.py` holds
what JSON Schema cannot say. An error reads `FIELD: must be WHAT, found WHAT`. Fields that the schema does not know are
none of its business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

import msgspec

from stator.errors import Problem
from stator.model.documents import Document
from stator.model.keywords import KEYWORDS, Breach
from stator.model.parse import TEMPLATE_REMEDY

if TYPE_CHECKING:  # a third of the time that `--help` takes would be this import
    import jsonschema_rs

_BASE = "stator://schemas/"
_PACKAGED = File(__file__).with_name("schemas.json")
_TEMPLATE = re.compile(r"\$\{|\{\{|<%")
_SHOWN = 40
_JSON_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
    (list, "list"),
    (dict, "object"),
)
_TYPE_WORDS = {
    "array": "a list",
    "object": "an object",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}


class _BreachError(ValueError):
    """How a keyword's function reports through the validator."""

    def __init__(self, breaches: list[Breach]) -> None:
        self.breaches = breaches
        super().__init__("; ".join(breach.what for breach in breaches))


def schema_problems(document: Document, value: Any, schema: str) -> list[Problem]:
    """Everything that `schema` (`v1beta1.yaml#/Kind`) does not allow in `value`, the document's value without nulls."""
    problems: list[Problem] = []
    for error in _validator(schema).iter_errors(value):
        path = tuple(error.instance_path)
        problems += (document.problem((*path, *breach.path), breach.what, breach.remedy) for breach in _breaches(error))
    return problems


def properties(version: str, kind: str) -> frozenset[str]:
    """The fields that the schema of an API version knows: of a kind's `spec`, or of `Component` and `Service`."""
    definitions = schemas()[f"{version}.yaml"]
    return frozenset(_properties(definitions, definitions[kind]))


def frozen_fields(schema: str) -> dict[str, Any]:
    """The fields of a kind's `spec` that cannot be changed (`v1alpha1.yaml#/Kind`), each with its default."""
    name, _, kind = schema.partition("#/")
    spec = schemas()[name][kind]["properties"]["spec"]
    return {field: spec["properties"][field].get("default") for field in spec.get("x-frozen", ())}


def _properties(definitions: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    own = schema.get("properties") or {}
    if "metadata" in own:
        yield from _properties(definitions, own["spec"])
        return
    yield from own
    for part in (schema, *(schema.get("allOf") or ())):
        if (target := part.get("$ref", "")).startswith("#/"):
            yield from _properties(definitions, definitions[target[2:]])
        elif part is not schema:
            yield from _properties(definitions, part)


@cache
def schemas() -> Mapping[str, Any]:
    """The schema files by name: definitions that refer to each other by `$ref`."""
    return msgspec.json.decode(_PACKAGED.read_bytes(), type=dict[str, Any])


@cache
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # noqa: PLC0415 (see TYPE_CHECKING above)

    registry = jsonschema_rs.Registry([(_BASE + name, content) for name, content in schemas().items()])
    return jsonschema_rs.Draft202012Validator(
        {"$ref": _BASE + schema},
        registry=registry,
        keywords={name: _keyword(function) for name, function in KEYWORDS.items()},
    )


def _keyword(function: Any) -> type:
    """The class the validator wants for a keyword."""

    class Keyword:
        def __init__(self, _parent: Any, value: Any, _path: Any) -> None:
            self.value = value

        def validate(self, instance: Any) -> None:
            if breaches := list(function(self.value, instance)):
                raise _BreachError(breaches)

    return Keyword


def _breaches(error: jsonschema_rs.ValidationError) -> Iterator[Breach]:
    """A validator's error in our words."""
    kind, details = error.kind.name, error.kind.as_dict()
    if isinstance(error.__cause__, _BreachError):
        yield from error.__cause__.breaches
    elif kind == "required":
        yield Breach((details["property"],), "is required")
    elif kind == "propertyNames":
        inner = details["error"]
        yield Breach((inner.instance,), f"the name must be {_described(_node(inner) or {})}")
    else:
        node = _node(error) or {}
        secret = bool(node.get("writeOnly"))
        yield Breach(
            (),
            f"must be {_described(node)}, found {_found(error.instance, secret=secret)}",
            _remedy(error.instance, node),
        )


def _node(error: jsonschema_rs.ValidationError) -> Mapping[str, Any] | None:
    """The schema object whose keyword failed."""
    location = error.absolute_keyword_location
    if not location:
        return None
    name, _, pointer = location.removeprefix(_BASE).partition("#")
    node = schemas()[name]
    for step in pointer.split("/")[1:-1]:
        node = node[int(step) if isinstance(node, list) else step.replace("~1", "/").replace("~0", "~")]
    return node if isinstance(node, dict) else None


def _described(schema: Mapping[str, Any]) -> str:
    """What a schema allows, in words that follow `must be`."""
    if title := schema.get("title"):
        return str(title)
    if values := schema.get("enum"):
        return f"one of {', '.join(values)}" if len(values) > 1 else str(values[0])
    types = schema.get("type", "valid")
    words = " or ".join(_TYPE_WORDS.get(name, name) for name in ([types] if isinstance(types, str) else types))
    return words + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}" if low != high else f" equal to {low}"
    if low is not None:
        return f" >= {low}"
    if schema.get("minLength"):
        return " that is not empty" if "maxLength" not in schema else f" of 1 to {schema['maxLength']} characters"
    for least, most, noun in (("minItems", "maxItems", "items"), ("minProperties", "maxProperties", "entries")):
        if most in schema:
            return f" of {schema.get(least, 0)} to {schema[most]} {noun}"
    return ""


def _found(value: Any, *, secret: bool) -> str:
    """A value as people would name it, shortened; only its type if it may be secret."""
    if value is None:
        return "null"
    word = next(word for kind, word in _JSON_TYPES if isinstance(value, kind))
    if isinstance(value, list | dict):
        return f"{'an' if word == 'object' else 'a'} {word} of {len(value)}" if value else f"an empty {word}"
    if secret:
        return f"{'an' if word == 'integer' else 'a'} {word}"
    if isinstance(value, str):
        return f'{word} "{value}"' if len(value) <= _SHOWN else f'{word} "{value[:_SHOWN]}…"'
    return f"{word} {str(value).lower()}"


def _remedy(value: Any, schema: Mapping[str, Any]) -> str:
    if isinstance(value, str) and _TEMPLATE.search(value):
        return TEMPLATE_REMEDY
    if schema.get("type") == "string" and isinstance(value, bool | int | float):
        return "put the value in quotes"
    if schema.get("type") in ("integer", "number", "boolean") and isinstance(value, str) and value:
        return "remove the quotes" if value.lstrip("-").isdigit() or value in ("true", "false") else ""
    return ""
