"""What a feature adds to one pod, as a value: rendering applies it, so every feature works the same way."""

from __future__ import annotations

from typing import Any

import msgspec

from stator.render.environment import Entry
from stator.render.manifest import NotRendered, Provenance

Json = dict[str, Any]


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to the main container and its pod. What is empty stays as it is.

    `env` goes last and wins. `probes` are the main container's by field, None takes one away. `config_maps` are
    shared by the whole graph, `objects` are the component's own. `missing` is what the feature needs and could not get.
    """

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[Entry, ...] = ()
    probes: dict[str, Json | None] = {}
    mounts: tuple[Json, ...] = ()
    volumes: tuple[Json, ...] = ()
    init_containers: tuple[Json, ...] = ()
    config_maps: tuple[Json, ...] = ()
    objects: tuple[Json, ...] = ()
    provenance: tuple[Provenance, ...] = ()
    missing: tuple[NotRendered, ...] = ()


NOTHING = Changes()


def together(*parts: Changes) -> Changes:
    """Several changes as one; of two commands the last counts."""
    merged, *others = [part for part in parts if part != NOTHING] or [NOTHING]
    for part in others:
        merged = Changes(
            command=part.command or merged.command,
            args=part.args or merged.args,
            env=(*merged.env, *part.env),
            probes=merged.probes | part.probes,
            mounts=(*merged.mounts, *part.mounts),
            volumes=(*merged.volumes, *part.volumes),
            init_containers=(*merged.init_containers, *part.init_containers),
            config_maps=(*merged.config_maps, *part.config_maps),
            objects=(*merged.objects, *part.objects),
            provenance=(*merged.provenance, *part.provenance),
            missing=(*merged.missing, *part.missing),
        )
    return merged
