"""What a framework changes in one pod, as a value: rendering applies it, so every framework works the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stator.render.context import Context
from stator.render.environment import Entry, shown
from stator.render.manifest import NotRendered, Provenance, Setter

Json = dict[str, Any]


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to the main container and its pod. What is empty stays as it is.

    `env` goes last and wins. `probes` are the main container's by field, None takes one away. `config_maps` are
    shared by the whole graph. `missing` is what the framework needs and could not get.
    """

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[Entry, ...] = ()
    probes: dict[str, Json | None] = {}
    mounts: tuple[Json, ...] = ()
    volumes: tuple[Json, ...] = ()
    init_containers: tuple[Json, ...] = ()
    config_maps: tuple[Json, ...] = ()
    provenance: tuple[Provenance, ...] = ()
    missing: tuple[NotRendered, ...] = ()


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


def together(*parts: Changes) -> Changes:
    """Several changes as one; of two commands the last counts."""
    merged = Changes()
    for part in parts:
        merged = Changes(
            command=part.command or merged.command,
            args=part.args or merged.args,
            env=(*merged.env, *part.env),
            probes=merged.probes | part.probes,
            mounts=(*merged.mounts, *part.mounts),
            volumes=(*merged.volumes, *part.volumes),
            init_containers=(*merged.init_containers, *part.init_containers),
            config_maps=(*merged.config_maps, *part.config_maps),
            provenance=(*merged.provenance, *part.provenance),
            missing=(*merged.missing, *part.missing),
        )
    return merged
