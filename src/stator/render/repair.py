"""Ask the compatibility rules about the merged main container, and put their repairs into it.

Two kinds of repair exist. A literal entry is appended last, where it may refer to anything and moves nothing. A
value at the lowest precedence becomes a ConfigMap that stands first in `envFrom`, so that every other source and
every `env` entry beats it (Kubernetes API, Container `envFrom` and `env`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stator.compat import AddEnv, AddEnvLowest, ContainerFacts, Finding, Repair, evaluate
from stator.errors import Position
from stator.render.container import MergedContainer, env_from_provenance, source_name
from stator.render.context import Context
from stator.render.environment import Entry, merge
from stator.render.manifest import Provenance, Setter

Json = dict[str, Any]


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """The main container's environment after repairs, the ConfigMaps it needs, and what the rules said."""

    env: tuple[Entry, ...]
    env_from: tuple[Json, ...]
    env_from_provenance: tuple[Provenance, ...]
    config_maps: tuple[Json, ...]
    findings: tuple[Finding, ...]
    rules: tuple[str, ...]
    facts: ContainerFacts


def repaired(context: Context, main: MergedContainer, labels: dict[str, str]) -> Repaired:
    """Evaluate the rules and apply their repairs. With repairs switched off the findings weigh what they weigh."""
    facts = _facts(context, main)
    verdict = evaluate(facts, repair=context.options.repairs)
    repairs = verdict.repairs
    lowest = _config_maps(context, repairs, labels)
    appended = [
        Entry({"name": repair.name, "value": repair.value}, Setter("repair", repair.rule, None, repair.value))
        for repair in repairs
        if isinstance(repair, AddEnv)
    ]
    return Repaired(
        env=merge((main.env, appended)) if appended else main.env,
        env_from=(*({"configMapRef": {"name": item["metadata"]["name"]}} for _, item in lowest), *main.env_from),
        env_from_provenance=(
            *(_lowest_provenance(context, rule, item) for rule, item in lowest),
            *env_from_provenance(context, main.env_from),
        ),
        config_maps=tuple(item for _, item in lowest),
        findings=verdict.findings,
        rules=tuple(dict.fromkeys(repair.rule for repair in repairs)),
        facts=facts,
    )


def _facts(context: Context, main: MergedContainer) -> ContainerFacts:
    def locate(*path: str | int) -> Position | None:
        if path[:1] == ("env",) and len(path) > 1:
            return next((entry.setter.position for entry in main.env if entry.name == path[1]), None)
        return context.at_container(*path) if path else context.at()

    return ContainerFacts(
        object=context.graph.ref,
        component=context.component.name,
        component_type=context.type,
        backend=context.backend,
        version=context.version,
        env=tuple(entry.body for entry in main.env),
        env_from=main.env_from,
        command_line=context.command_line,
        body=dict(main.body),
        locate=locate,
    )


def _config_maps(context: Context, repairs: Sequence[Repair], labels: dict[str, str]) -> list[tuple[str, Json]]:
    """One ConfigMap per rule that offers values at the lowest precedence, named after the workload and the rule."""
    # Roles with one template share the ConfigMap; with templates of their own they may need different values.
    role = f"-{context.role.name}" if "roles" in context.component.path else ""
    data: dict[str, dict[str, str]] = {}
    for repair in repairs:
        if isinstance(repair, AddEnvLowest):
            data.setdefault(repair.rule, {})[repair.name] = repair.value
    return [
        (
            rule,
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": f"{context.workload}{role}-{rule.lower()}",
                    "namespace": context.graph.namespace,
                    "labels": dict(labels),
                },
                "data": values,
            },
        )
        for rule, values in data.items()
    ]


def _lowest_provenance(context: Context, rule: str, config_map: Json) -> Provenance:
    name = source_name({"configMapRef": config_map["metadata"]})
    return Provenance(
        container=context.where,
        subject="env-from",
        name=name,
        setter=Setter("repair", rule, None, ", ".join(f"{key}={value}" for key, value in config_map["data"].items())),
    )
