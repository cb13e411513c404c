"""Merging environment layers into one list: one entry per name, the highest layer wins, `$(VAR)` keeps resolving.

Layers, lowest first: infrastructure, type defaults, graph `spec.env`, component, repair. An entry replaces the one
of the same name in a lower layer as a whole (a `value` drops a `valueFrom` and the reverse). Within one list the
last of two entries of a name wins, as it does in the kubelet.

Order matters, since the kubelet expands `$(NAME)` from entries that stand *before* it (Kubernetes API, EnvVar
`value`). The upstream operator sorts by name, which breaks references at random; here layers follow one another
and each keeps its own order, with two rules:

1. an entry stands where the first entry of its name stood, so what refers to that name keeps resolving;
2. what an entry refers to is put before it, unless its own list defines that name only after it (the author then
   meant the value from `envFrom`, or the literal text).

References that form a circle across layers cannot all resolve; the lower slot goes last. No default refers to
anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from stator.render.context import copied
from stator.render.manifest import Provenance, Setter

EnvVar = Mapping[str, Any]

# Kubernetes expansion: `$$` is an escaped dollar, so `$$(NAME)` is no reference.
_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")


class Entry(msgspec.Struct, frozen=True):
    """One core `EnvVar`, who set it, and whom it beat (lowest first)."""

    body: EnvVar
    setter: Setter
    replaced: tuple[Setter, ...] = ()

    @property
    def name(self) -> str:
        """The variable's name."""
        return self.body["name"]  # type: ignore[no-any-return]

    def written(self) -> dict[str, Any]:
        """The entry as a container has it, sharing nothing with where it came from."""
        source = self.body.get("valueFrom")
        return {**self.body, "valueFrom": copied(source)} if source else {**self.body}

    def provenance(self, container: str) -> Provenance:
        """The entry's history, as part of `container`."""
        return Provenance(
            container=container, subject="env", name=self.name, setter=self.setter, replaced=self.replaced
        )


def shown(body: EnvVar) -> str:
    """The text that stands for an entry's value: the literal, or its source (`secretKeyRef hf/token`)."""
    source = body.get("valueFrom")
    if not source:
        return str(body.get("value") or "")
    kind, reference = next(iter(source.items()))
    if kind in {"secretKeyRef", "configMapKeyRef"}:
        return f"{kind} {reference.get('name', '')}/{reference.get('key', '')}"
    if kind == "fileKeyRef":
        return f"{kind} {reference.get('volumeName', '')}/{reference.get('path', '')}/{reference.get('key', '')}"
    return f"{kind} {reference.get('fieldPath') or reference.get('resource') or ''}".rstrip()


def merge(layers: Iterable[Sequence[Entry]]) -> tuple[Entry, ...]:
    """Merge layers given lowest first; see the module for the rules."""
    layers = tuple(layers)
    slots: dict[str, Entry] = {}
    for layer in layers:
        for entry in layer:
            name = entry.name
            beaten = slots.get(name)
            # Assigning to a key a dict already has keeps the key's place: rule 1.
            slots[name] = (
                msgspec.structs.replace(entry, replaced=(*beaten.replaced, beaten.setter)) if beaten else entry
            )
    if not any("$(" in str(entry.body.get("value")) for entry in slots.values()):
        return tuple(slots.values())
    return _needed_first(slots, _needs(layers, slots))


def _needs(layers: Sequence[Sequence[Entry]], slots: Mapping[str, Entry]) -> dict[str, list[str]]:
    """For each entry that won and refers to others: the names that have to stand before it (rule 2)."""
    needs: dict[str, list[str]] = {}
    for layer in layers:
        seen: set[str] = set()
        defined: set[str] = set()
        for entry in layer:
            if (references := _references(entry.body)) and slots[entry.name].body is entry.body:
                defined = defined or {other.name for other in layer}
                needs[entry.name] = [
                    name for name in references if name in slots and (name in seen or name not in defined)
                ]
            seen.add(entry.name)
    return needs


def _references(body: EnvVar) -> list[str]:
    value = body.get("value")
    if not isinstance(value, str) or "$(" not in value:
        return []
    return [name for name in _REFERENCE.findall(value) if name]


def _needed_first(slots: Mapping[str, Entry], needs: Mapping[str, Sequence[str]]) -> tuple[Entry, ...]:
    """Slot order, with every entry's needs before it: depth first, on a stack of its own, circles left as they are."""
    ordered: dict[str, Entry] = {}
    for start, entry in slots.items():
        if start not in needs:
            ordered.setdefault(start, entry)
            continue
        stack, opened = [(start, iter(needs[start]))], {start}
        while stack:
            name, rest = stack[-1]
            missing = next((n for n in rest if n not in ordered and n not in opened), None)
            if missing is None:
                ordered.setdefault(name, slots[name])
                stack.pop()
            else:
                stack.append((missing, iter(needs.get(missing, ()))))
                opened.add(missing)
    return tuple(ordered.values())
