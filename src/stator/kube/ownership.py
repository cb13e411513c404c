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
    below = {path: inner for path, inner in fields.items() if path != _SELF}
    if not below:
        if _SELF not in fields:
            return value  # owned as a whole
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
            owned = _extract(value[name], inner)
            if owned is not _ABSENT:
                result[name] = owned
    return result


def _extract_list(value: list[Any], fields: Json) -> list[Any]:
    """The owned elements in the order the live list has them."""
    positions = {int(path[2:]): inner for path, inner in fields.items() if path.startswith("i:")}
    members = {_canonical(msgspec.json.decode(path[2:])) for path in fields if path.startswith("v:")}
    keyed = [(msgspec.json.decode(path[2:]), inner) for path, inner in fields.items() if path.startswith("k:")]
    result: list[Any] = []
    for position, element in enumerate(value):
        if position in positions:
            result.append(_extract(element, positions[position]))
        elif members and _canonical(element) in members:
            result.append(element)
        elif isinstance(element, dict):
            inner = next((inner for key, inner in keyed if _has(element, key)), None)
            if inner is not None:
                result.append(_extract(element, inner))
    return result


def _has(element: Json, key: Json) -> bool:
    return all(element.get(name) == value for name, value in key.items())


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_null(inner) for inner in value]
    return value
