"""One container: its defaults with the user's container laid over them.

The upstream operator's merge rules: a list of the user's replaces the default list as a whole, except `env`, which
merges by name; an empty value never overrides a default; a probe of the user's replaces the default probe as a
whole, handler and timings, since a probe with two handlers is refused by the API server. One differs: a command that
runs Dynamo by itself takes no default args, which upstream appends and Dynamo refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stator.errors import Problem
from stator.model import MAIN, RUNTIME_CONTAINER
from stator.render.context import Context, copied
from stator.render.defaults import Defaults, args_behind
from stator.render.environment import Entry, merge, shown
from stator.render.kind import detail
from stator.render.manifest import Provenance, Setter
from stator.render.probes import HANDLERS, PROBES, probe_text

Json = dict[str, Any]

# The graph speaks to its components: to the main container, and to the one that runs Dynamo beside a native engine.
_WITH_GRAPH_ENV = (MAIN, RUNTIME_CONTAINER)


class MergedContainer(msgspec.Struct, frozen=True, kw_only=True):
    """A merged container before any repair.

    `body` has everything but `env` and `envFrom`, which are `env` and `env_from` until repairs have been applied.
    `provenance` is that of flags and probes.
    """

    body: Json
    env: tuple[Entry, ...]
    env_from: tuple[Json, ...]
    provenance: tuple[Provenance, ...]


def merged_container(context: Context, defaults: Defaults, problems: list[Problem]) -> MergedContainer:
    """Merge the context's container; adds to `problems` what cannot be rendered."""
    user = context.user_container
    body: Json = copied({key: value for key, value in user.items() if key not in {"env", "envFrom"}})
    body["name"] = context.container
    provenance: list[Provenance] = []
    for field, default in (("command", defaults.command), ("args", args_behind(user, defaults.args))):
        provenance.extend(_argv(context, user, field, default))
        if default and not body.get(field):
            body[field] = list(default)
    for field, items in (("ports", defaults.ports), ("volumeMounts", defaults.mounts)):
        if items and not body.get(field):
            body[field] = [dict(item) for item in items]
    for field in PROBES:
        provenance.extend(_probe(context, field, defaults, body, problems))
    return MergedContainer(
        body=body,
        env=merge(_env_layers(context, user, defaults.env)),
        env_from=tuple(copied(user.get("envFrom") or ())),
        provenance=tuple(provenance),
    )


def _env_layers(context: Context, user: Mapping[str, Any], defaults: Sequence[Entry]) -> tuple[Sequence[Entry], ...]:
    """The layers below the repairs, lowest first."""
    infrastructure = [
        Entry(body, Setter("infrastructure", "operator configuration", None, shown(body)))
        for body in context.options.infrastructure_env
    ]
    graph = [
        Entry(body, Setter("graph", "spec.env", context.graph.locate("spec", "env", index), shown(body)))
        for index, body in enumerate(context.graph.env)
        if context.container in _WITH_GRAPH_ENV
    ]
    own = user.get("env") or ()
    where = context.container_path if own else ()
    component = [
        Entry(
            body,
            Setter("component", context.component.name, context.graph.locate(*where, "env", index), shown(body)),
        )
        for index, body in enumerate(own)
    ]
    return infrastructure, defaults, graph, component


def env_from_provenance(context: Context, sources: Sequence[Mapping[str, Any]]) -> list[Provenance]:
    """Who set each of the user's `envFrom` sources."""
    return [
        Provenance(
            container=context.where,
            subject="env-from",
            name=source_name(source),
            setter=Setter(
                "component",
                context.component.name,
                context.at_container("envFrom", index),
                f"prefix {source['prefix']}" if source.get("prefix") else "",
            ),
        )
        for index, source in enumerate(sources)
    ]


def source_name(source: Mapping[str, Any]) -> str:
    """`secretRef hf-token`: what an `envFrom` source is called."""
    for kind in ("secretRef", "configMapRef"):
        if reference := source.get(kind):
            return f"{kind} {reference.get('name', '')}"
    return "?"


def _argv(context: Context, user: Mapping[str, Any], field: str, default: Sequence[str]) -> list[Provenance]:
    """Who set `command` or `args`, where a default was used or replaced.

    The user's own words are not repeated, as they may carry a credential; the position leads to them.
    """
    if not default:
        return []
    given = Setter("type-default", detail(context.type), None, " ".join(default))
    if not user.get(field):
        return [Provenance(container=context.where, subject="flag", name=field, setter=given)]
    mine = Setter("component", context.component.name, context.at_container(field))
    return [Provenance(container=context.where, subject="flag", name=field, setter=mine, replaced=(given,))]


def _probe(context: Context, field: str, defaults: Defaults, body: Json, problems: list[Problem]) -> list[Provenance]:
    """Put the default probe where the user has none, and say who set it."""
    default = defaults.probes.get(field)
    given = (default.setter,) if default else ()
    user = body.get(field)
    if user is not None:
        position = context.at_container(field)
        if not any(user.get(handler) for handler in HANDLERS):
            problems.append(
                Problem(
                    what=f"component {context.component.name}: {field} has no handler",
                    position=position,
                    why="a probe of yours replaces the injected one as a whole, it is not merged with it",
                    remedy=f"add one of {', '.join(HANDLERS)}"
                    + (f"; the injected probe is: {given[0].value}" if given else ""),
                )
            )
        setter = Setter("component", context.component.name, position, probe_text(user))
        return [
            Provenance(
                container=context.where,
                subject="probe",
                name=field,
                setter=setter,
                replaced=given,
            )
        ]
    if default is None:
        return []
    body[field] = copied(default.body)
    return [Provenance(container=context.where, subject="probe", name=field, setter=default.setter)]
