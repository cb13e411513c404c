"""The kind of a container: its component's type and the two releases, which decide what it gets by default.

Few kinds occur in a process, however many graphs it renders.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stator.render.environment import Entry, shown
from stator.render.gates import Gate
from stator.render.manifest import Setter
from stator.render.probes import probe_text
from stator.versions import Version

Json = dict[str, Any]


class Kind(msgspec.Struct, frozen=True):
    """A kind, and the entries and probes that say they are its defaults. An unresolved `runtime` is None."""

    type: str
    runtime: Version | None
    operator: Version

    def has(self, gate: Gate) -> bool:
        """Whether a gate is on here."""
        return gate.on(self.runtime, self.operator)

    def why(self, gate: Gate) -> str:
        """Why it is on or off."""
        return gate.reason(self.runtime, self.operator)

    def literal(self, name: str, value: str, why: str = "") -> Entry:
        """A variable."""
        return Entry({"name": name, "value": value}, Setter("type-default", detail(self.type, why), None, value))

    def field(self, name: str, path: str) -> Entry:
        """A variable that the kubelet fills in from the pod's own object."""
        body = {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        return Entry(body, Setter("type-default", detail(self.type), None, shown(body)))

    def probe(self, body: Json, why: str = "") -> DefaultProbe:
        """A probe."""
        return DefaultProbe(body, Setter("type-default", detail(self.type, why), None, probe_text(body)))


class DefaultProbe(msgspec.Struct, frozen=True):
    """A probe and its history."""

    body: Json
    setter: Setter


def detail(component_type: str, why: str = "") -> str:
    """`worker default, runtime 1.5.1 >= 1.5.0`: a type default in the words of provenance."""
    words = f"{component_type or 'base'} default"
    return f"{words}, {why}" if why else words
