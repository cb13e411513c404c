"""Schema keywords for what JSON Schema cannot say about a Kubernetes object, or cannot say in words people understand.

Each is a function from the keyword's value and the instance to what is wrong. Instances of another type than the
keyword is about are left to `type`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from stator.model.documents import Path
from stator.model.resources import FRONTEND_SIDECAR, MAIN


class Breach(NamedTuple):
    """One breach of a keyword: where, relative to the instance, what it must be, and what to do about it."""

    path: Path
    what: str
    remedy: str = ""


def unique(key: str, items: Any) -> Iterator[Breach]:
    """No two list items have the same `key` (are the same, if `key` is empty): the list is a map in disguise."""
    first: dict[str, int] = {}
    for index, item in enumerate(items if isinstance(items, list) else ()):
        name = item if not key else item.get(key) if isinstance(item, dict) else None
        if isinstance(name, str) and first.setdefault(name, index) != index:
            path = (index, key) if key else (index,)
            yield Breach(path, f'repeats "{name}" of item {first[name]}', "give each its own name, or remove one")


def unique_ignoring_case(key: str, items: Any) -> Iterator[Breach]:
    """Names differ by more than case: objects are named after the lower-cased form."""
    first: dict[str, str] = {}
    for step, item in _entries(items):
        named = item.get(key) if isinstance(item, dict) else None
        name = named if isinstance(named, str) else step if isinstance(step, str) else None
        if name is not None and first.setdefault(name.lower(), name) is not name:
            path = (step, key) if named is not None else (step,)
            what = f'"{name}" and "{first[name.lower()]}" are the same name once lower-cased'
            yield Breach(path, what, "give each component its own name, or remove one")


def single(wanted: Mapping[str, str], items: Any) -> Iterator[Breach]:
    """At most one entry has the given field value."""
    ((field, value),) = wanted.items()
    matching = [step for step, item in _entries(items) if isinstance(item, dict) and item.get(field) == value]
    for step in matching[1:]:
        yield Breach((step, field), f"at most one may be {value}, and {_named(matching[0])} is", "remove all but one")


def one_at_most(fields: list[str], instance: Any) -> Iterator[Breach]:
    """No two of the fields are set; an empty text counts as not set, as in the Kubernetes API."""
    present = _present(fields, instance)
    if len(present) > 1:
        what = f"may have one of {_listed(fields)}, found {' and '.join(present)}"
        yield Breach((), what, "keep one of them")


def one_exactly(fields: list[str], instance: Any) -> Iterator[Breach]:
    """Exactly one of the fields is set."""
    if isinstance(instance, dict) and len(present := _present(fields, instance)) != 1:
        what = f"must have exactly one of {_listed(fields)}, found {' and '.join(present) or 'none'}"
        yield Breach((), what, "keep one of them" if present else "")


def container_names(_: bool, service: Any) -> Iterator[Breach]:  # noqa: FBT001 (the keyword's value)
    """No container of a v1alpha1 service has the name of one that a field of its own describes."""
    spec = service.get("extraPodSpec") if isinstance(service, dict) else None
    if not isinstance(spec, dict):
        return
    taken = {MAIN: "extraPodSpec.mainContainer"}
    if "frontendSidecar" in service:
        taken[FRONTEND_SIDECAR] = "frontendSidecar"
    containers = spec.get("containers", [])
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        name = container.get("name") if isinstance(container, dict) else None
        if isinstance(name, str) and (field := taken.get(name)):
            what = f'"{name}" is the name of the container that {field} describes'
            yield Breach(("extraPodSpec", "containers", index, "name"), what, f"write it as {field}, or rename it")


def base64_text(_: bool, encoded: Any) -> Iterator[Breach]:  # noqa: FBT001 (the keyword's value)
    """The text decodes; line breaks in it are allowed, as in Go's decoder."""
    if not isinstance(encoded, str):
        return
    try:
        base64.b64decode(encoded.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        yield Breach(
            (), "must be base64 text", "encode it with `base64 -w0`; a Secret takes plain text in `stringData`"
        )


KEYWORDS: dict[str, Callable[[Any, Any], Iterator[Breach]]] = {
    "x-unique": unique,
    "x-unique-ignoring-case": unique_ignoring_case,
    "x-single": single,
    "x-one-at-most": one_at_most,
    "x-one-exactly": one_exactly,
    "x-container-names": container_names,
    "x-base64": base64_text,
}


def _entries(items: Any) -> Iterator[tuple[int | str, Any]]:
    if isinstance(items, dict):
        yield from items.items()
    elif isinstance(items, list):
        yield from enumerate(items)


def _named(step: int | str) -> str:
    return f"item {step}" if isinstance(step, int) else f'"{step}"'


def _present(fields: list[str], instance: Any) -> list[str]:
    return [field for field in fields if isinstance(instance, dict) and instance.get(field) not in (None, "")]


def _listed(fields: list[str]) -> str:
    return ", ".join(fields[:-1]) + f" and {fields[-1]}"
