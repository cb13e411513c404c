"""Containers beside `main` that Dynamo knows: a frontend, and the runtime of a native engine.

A frontend sidecar is a frontend of its own release: its image decides its gates, not the worker's override. With a
`runtime` init container the main container is a plain engine, which gets nothing, and the runtime registers for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stator.errors import Problem
from stator.model import MAIN, RUNTIME_CONTAINER, Component
from stator.render import names
from stator.render.changes import Changes
from stator.render.container import env_from_provenance, merged_container
from stator.render.context import Context
from stator.render.defaults import Defaults, defaults_of, runtime_defaults
from stator.render.environment import Entry, merge
from stator.render.manifest import Provenance, RenderOptions
from stator.versions import Version, resolve

Json = dict[str, Any]

_RUNTIME_SINCE = Version(1, 6, 0)
_NOT_WITH_RUNTIME = ("checkpoint", "gpuMemoryService", "failover")


class Sidecar(msgspec.Struct, frozen=True):
    """A rendered container and its history."""

    body: Json
    provenance: tuple[Provenance, ...]


def runtime_container(component: Component, options: RenderOptions) -> Mapping[str, Any] | None:
    """The init container that runs Dynamo for this component, if it has one; operators know it from 1.6.0 on."""
    if options.operator < _RUNTIME_SINCE or component.type not in names.WORKER_TYPES:
        return None
    return component.beside or None


def sidecars(context: Context, mounts: Sequence[Json], made: Changes, problems: list[Problem]) -> dict[str, Sidecar]:
    """The component's known sidecars by name. `mounts` are the main container's, without shared memory.

    `made` is what features add to the container that runs Dynamo. Adds to `problems` what cannot be.
    """
    found: dict[str, Sidecar] = {}
    if (name := context.component.other.get("frontendSidecar")) is not None:
        own = msgspec.structs.replace(context, container=name)
        if own.user_container and name != MAIN:
            found[name] = _frontend(own, mounts, problems)
        else:
            problems.append(_no_such_container(context, name))
    if context.runs_native_engine:
        problems.extend(_runtime_problems(context))
        own = msgspec.structs.replace(context, container=RUNTIME_CONTAINER)
        found[RUNTIME_CONTAINER] = _rendered(own, runtime_defaults(own), made.mounts, made.env, problems)
    return found


def _frontend(context: Context, mounts: Sequence[Json], problems: list[Problem]) -> Sidecar:
    component = msgspec.structs.replace(context.component, type="frontend", runtime_version_override=None)
    own = msgspec.structs.replace(
        context,
        component=component,
        version=resolve(None, context.user_container.get("image")),
        generation="",
        runs_native_engine=False,
    )
    mounted = {mount.get("name") for mount in context.user_container.get("volumeMounts") or ()}
    lacking = [mount for mount in mounts if mount.get("name") not in mounted]
    return _rendered(own, defaults_of(own), lacking, (), problems)


def _rendered(
    context: Context, defaults: Defaults, mounts: Sequence[Json], env: Sequence[Entry], problems: list[Problem]
) -> Sidecar:
    merged = merged_container(context, defaults, problems)
    body = merged.body
    entries = merge((merged.env, env)) if env else merged.env
    if entries:
        body["env"] = [entry.written() for entry in entries]
    if merged.env_from:
        body["envFrom"] = list(merged.env_from)
    own = body.get("volumeMounts") or []
    # Two mounts at one place are refused by the API server; the user's own stays.
    taken = {mount.get("mountPath") for mount in own}
    if mounted := [*own, *(dict(mount) for mount in mounts if mount.get("mountPath") not in taken)]:
        body["volumeMounts"] = mounted
    where = context.where
    history = (
        *(entry.provenance(where) for entry in entries),
        *env_from_provenance(context, merged.env_from),
        *merged.provenance,
    )
    return Sidecar(body, history)


def _no_such_container(context: Context, name: str) -> Problem:
    sidecar_names = (item.get("name", "") for item in context.component.pod_spec.get("containers") or ())
    others = ", ".join(other for other in sidecar_names if other != MAIN)
    return Problem(
        what=f'component {context.component.name}: the frontend sidecar "{name}" is none of its sidecars',
        position=context.at("frontendSidecar"),
        why=f"they are {others}" if others else "it has none",
        remedy="name a container of the pod template, or add one",
    )


def _runtime_problems(context: Context) -> list[Problem]:
    """What the API refuses together with a runtime container (admission, "sidecar mode")."""
    experimental = context.component.other.get("experimental") or {}
    clashes: list[tuple[str, ...]] = [("multinode",)] if context.role.nodes > 1 else []
    clashes += [("experimental", field) for field in _NOT_WITH_RUNTIME if experimental.get(field)]
    return [
        Problem(
            what=f'component {context.component.name}: {path[-1]} does not go with a "{RUNTIME_CONTAINER}" container',
            position=context.at(*path),
            why="the engine is not Dynamo's own there",
            remedy="run the Dynamo worker in the main container",
        )
        for path in clashes
    ]
