"""The part of a live object that one field manager owns, read out of `metadata.managedFields`.

Server-side apply records for each manager which fields it set (structured-merge-diff, "FieldsV1"): `f:NAME` is a field,
`k:{…}` the element of a list with those key fields, `v:VALUE` a member of a set, `i:N` an element by position, `.` the
map or element itself. A path with nothing below it is owned with its whole value.

What was applied comes out again, except where the server wrote a value in another form (a quantity of `1000m` is kept
as `1`) or dropped an empty one. So equal digests prove that an apply would change nothing; unequal ones prove nothing.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import msgspec

from stator.kube.resources import Json

_SELF = "."
_IDENTITY = ("apiVersion", "kind")
_DIGEST_BYTES = 16
# Names of containers, variables and ports are in nearly every object, and stay; the uids of owners are in one each.
_KEYS = 512


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
    if isinstance(value, dict):
        return _extract_map(value, fields)
    if isinstance(value, list):
        return _extract_list(value, fields)
    return value if fields.keys() == {_SELF} else _ABSENT


def _extract_map(value: Json, fields: Json) -> Json:
    result: Json = {}
    for path, inner in fields.items():
        name = path[2:]
        if name in value and path[0] == "f":
            if not inner:  # most fields are leaves, which cost no call
                result[name] = value[name]
            elif (owned := _extract(value[name], inner)) is not _ABSENT:
                result[name] = owned
    return result


def _extract_list(value: list[Any], fields: Json) -> list[Any]:
    """The owned elements in the order the live list has them."""
    keyed, members, positions = _by_form(fields)
    result: list[Any] = []
    for position, element in enumerate(value):
        if position in positions:
            result.append(_extract(element, positions[position]))
        elif members and _canonical(element) in members:
            result.append(element)
        elif isinstance(element, dict):
            inner = _of_element(element, keyed)
            if inner is not None:
                result.append(_extract_map(element, inner) if inner else element)
    return result


# What is owned of keyed elements, by the values of their key fields, for each set of key fields.
_Keyed = dict[tuple[str, ...], dict[tuple[Any, ...], Json]]


def _by_form(fields: Json) -> tuple[_Keyed, set[bytes], dict[int, Json]]:
    """What is owned of a list: elements by key, members by value, elements by position."""
    keyed: _Keyed = {}
    members: set[bytes] = set()
    positions: dict[int, Json] = {}
    for path, inner in fields.items():
        form = path[0]
        if form == "k":
            names, values = _key(path)
            keyed.setdefault(names, {})[values] = inner
        elif form == "v":
            members.add(_canonical(msgspec.json.decode(path[2:])))
        elif form == "i":
            positions[int(path[2:])] = inner
    return keyed, members, positions


@lru_cache(_KEYS)
def _key(path: str) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The names and the values of the key fields in `k:{…}`: the same few are in nearly every object."""
    key = msgspec.json.decode(path[2:])
    return tuple(key), tuple(key.values())


def _of_element(element: Json, keyed: _Keyed) -> Json | None:
    """What is owned of an element, if anything."""
    for names, by_values in keyed.items():
        try:
            inner = by_values.get(tuple(map(element.get, names)))
        except TypeError:  # keys are scalars: a list or a map in their place is not hashable, and matches none
            continue
        if inner is not None:
            return inner
    return None


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_null(inner) for inner in value]
    return value
