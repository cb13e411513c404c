"""The part of a live object that one field manager owns, read out of `metadata.managedFields`.

Server-side apply records for each manager which fields it set (structured-merge-diff, "FieldsV1"): `f:NAME` is a field,
`k:{…}` the element of a list with those key fields, `v:VALUE` a member of a set, `i:N` an element by position, `.` the
map or element itself. A path with nothing below it is owned with its whole value.

What was applied comes out again, except where the server wrote a value in another form (a quantity of `1000m` is kept
as `1`) or dropped an empty one. So equal digests prove that an apply would change nothing; unequal ones prove nothing.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from stator.kube.resources import Json

_SELF = "."
_IDENTITY = ("apiVersion", "kind")
_DIGEST_BYTES = 16


def extract(value: Json, manager: str, *, subresource: str = "") -> Json | None:
    """The object with only what `manager` has applied, and its identity; `None` when it has applied nothing."""
    fields = _fields(value, manager, subresource)
    if fields is None:
        return None
    owned = _extract(value, fields)
    result: Json = owned if isinstance(owned, dict) else {}
    for name in _IDENTITY:
        result[name] = value.get(name)
    metadata = dict(result.get("metadata") or {})
    for name in ("name", "namespace"):
        if name in value["metadata"]:
            metadata[name] = value["metadata"][name]
    result["metadata"] = metadata
    return result


def digest(value: Json) -> bytes:
    """16 bytes that are equal for equal objects, whatever the order of their keys; `null` is as good as absent."""
    encoded = msgspec.json.encode(value, order="deterministic")
    if b"null" in encoded:  # a rare word, and the copy without nulls costs more than the rest
        encoded = msgspec.json.encode(_without_null(value), order="deterministic")
    return hashlib.blake2b(encoded, digest_size=_DIGEST_BYTES).digest()


def owned_digest(value: Json, manager: str) -> bytes:
    """The digest of what a manager owns; empty when it owns nothing."""
    owned = extract(value, manager)
    return digest(owned) if owned is not None else b""


def _fields(value: Json, manager: str, subresource: str) -> Json | None:
    for entry in value["metadata"].get("managedFields") or ():
        mine = entry.get("manager") == manager and entry.get("operation") == "Apply"
        if mine and (entry.get("subresource") or "") == subresource:
            fields: Json = entry.get("fieldsV1") or {}
            return fields
    return None


class _Absent:
    """The value of a path that the live object does not have."""


_ABSENT = _Absent()


def _extract(value: Any, fields: Json) -> Any:
    if not fields:
        return value  # owned as a whole
    below = {path: inner for path, inner in fields.items() if path != _SELF}
    if not below:
        return {} if isinstance(value, dict) else [] if isinstance(value, list) else value
    if isinstance(value, dict):
        return _extract_map(value, below)
    if isinstance(value, list):
        return _extract_list(value, below)
    return _ABSENT


def _extract_map(value: Json, fields: Json) -> Json:
    result: Json = {}
    for path, inner in fields.items():
        name = path[2:]
        if path.startswith("f:") and name in value:
            if not inner:
                result[name] = value[name]
                continue
            owned = _extract(value[name], inner)
            if owned is not _ABSENT:
                result[name] = owned
    return result


def _extract_list(value: list[Any], fields: Json) -> list[Any]:
    """The owned elements in the order the live list has them."""
    positions = {int(path[2:]): inner for path, inner in fields.items() if path.startswith("i:")}
    members = {_canonical(msgspec.json.decode(path[2:])) for path in fields if path.startswith("v:")}
    keyed = _by_key(fields)
    result: list[Any] = []
    for position, element in enumerate(value):
        if position in positions:
            result.append(_extract(element, positions[position]))
        elif members and _canonical(element) in members:
            result.append(element)
        elif isinstance(element, dict):
            inner = next((found for names, by in keyed if (found := by.get(_values(element, names))) is not None), None)
            if inner is not None:
                result.append(_extract(element, inner))
    return result


def _by_key(fields: Json) -> list[tuple[tuple[str, ...], dict[tuple[Any, ...], Json]]]:
    """What is owned of keyed elements by the values of their key fields, for each set of key fields."""
    found: dict[tuple[str, ...], dict[tuple[Any, ...], Json]] = {}
    for path, inner in fields.items():
        if path.startswith("k:"):
            key = msgspec.json.decode(path[2:])
            found.setdefault(tuple(key), {})[tuple(key.values())] = inner
    return list(found.items())


def _values(element: Json, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The values of an element's key fields; keys are scalars, whatever else an element has there matches none."""
    values = tuple(element.get(name) for name in names)
    return values if not any(isinstance(value, dict | list) for value in values) else ()


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_null(inner) for inner in value]
    return value
