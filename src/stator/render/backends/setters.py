"""The pieces that frameworks change pods with; each names the layer `backend` as who set it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stator.render.changes import Changes
from stator.render.context import Context
from stator.render.environment import Entry, shown
from stator.render.manifest import Provenance, Setter

Json = dict[str, Any]


def literal(name: str, value: str, detail: str) -> Entry:
    """An environment entry of a framework."""
    return Entry({"name": name, "value": value}, Setter("backend", detail, None, value))


def field(name: str, path: str, detail: str) -> Entry:
    """An environment entry that the kubelet fills in from the pod's own object."""
    body = {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
    return Entry(body, Setter("backend", detail, None, shown(body)))


def set_by(context: Context, detail: str, subject: str, name: str, value: str) -> Provenance:
    """The history of a flag or a probe that a framework set."""
    return Provenance(
        container=context.where,
        subject="probe" if subject == "probe" else "flag",
        name=name,
        setter=Setter("backend", detail, None, value),
    )


def without_probes(context: Context, body: Json, fields: Sequence[str], detail: str) -> Changes:
    """Take probes away from a worker: only the leader serves, so nobody answers them."""
    present = [name for name in fields if body.get(name)]
    return Changes(
        probes=dict.fromkeys(present),
        provenance=tuple(set_by(context, detail, "probe", name, "removed") for name in present),
    )
