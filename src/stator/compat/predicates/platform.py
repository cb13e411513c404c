"""What the cluster a graph goes to makes of it: its definitions, its chart and its Kubernetes release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stator.compat.environment import setting
from stator.compat.facts import GraphFacts
from stator.compat.outcome import Outcome
from stator.compat.platform import PlatformFacts
from stator.compat.predicates.fields import component_at
from stator.compat.rule import Rule
from stator.model.documents import field_path
from stator.model.unknown import unknown_fields
from stator.versions import Version, VersionRange, resolve


def pruned_field(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Objects the installed definitions do not take as they are: outcomes `pruned`, `not-served`, `not-converted`.

    Fields that no API knows are left to the rule about them.
    """
    del rule
    found = facts.platform.definitions.get(facts.graph.kind)
    if found is None:
        return
    document = facts.graph.origin.document
    version = facts.graph.api_version.rpartition("/")[2]
    place = document.locate(("apiVersion",))
    if version not in found.versions:
        served = ", ".join(sorted(found.versions)) or "none"
        yield Outcome(key="not-served", position=place, values={"version": version, "served": served})
        return
    if len(found.versions) > 1 and not found.converted:
        yield Outcome(key="not-converted", position=place, values={"version": version})
    unknown = {field.path for field in unknown_fields(document)}
    for path in found.pruned(version, document.value):
        if path not in unknown:
            values = {"field": field_path(path), "version": version}
            yield Outcome(
                key="pruned", component=component_at(facts, path), position=document.locate(path), values=values
            )


def service_not_installed(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Parts that talk through a service the chart's values leave out: outcome `absent`.

    `looks_for`: `services`, each with the operator range in which the chart does not bring it by itself, the
    `variables` and their texts that need it, and the paths in the values that `provide` it.
    """
    if facts.platform.values is None:
        return
    for name, service in rule.looks_for["services"].items():
        provided = any(facts.platform.value(*path) for path in service["provide"])
        if provided or facts.operator not in VersionRange.parse(service["operators"]):
            continue
        for container in facts.containers:
            for variable in service["variables"]:
                if (setting(container, variable).text or "").strip() == service["text"]:
                    yield Outcome(
                        key="absent",
                        component=container.component,
                        where=("env", variable),
                        values={"variable": variable, "text": service["text"], "service": name, "do": service["do"]},
                    )


def topology_binding(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Topology constraints under an operator that knows Grove's topologies by another name: outcome `renamed`.

    `looks_for`: `operators`, and the `kind` by which newer definitions are known.
    """
    old = facts.operator in VersionRange.parse(rule.looks_for["operators"])
    if not old or rule.looks_for["kind"] not in facts.platform.kinds:
        return
    parts = [(facts.graph.other, ("spec",)), *((part.other, part.path) for part in facts.graph.components)]
    for other, path in parts:
        if other.get("topologyConstraint"):
            position = facts.graph.locate(*path, "topologyConstraint")
            component = component_at(facts, path)
            yield Outcome(
                key="renamed", component=component, position=position, values={"kind": rule.looks_for["kind"]}
            )


def chart_values(facts: PlatformFacts, rule: Rule) -> Iterator[Outcome]:
    """Values that the chart of this release refuses or ignores: outcomes by the keys of `looks_for`.`values`.

    Each has the `operators` it is about, the `path`, and `unless`, a path and the value with which it is fine. A value
    counts if it is set, one that is false only with `also_false`.
    """
    document = facts.platform.values
    for key, row in rule.looks_for["values"].items() if document else ():
        value = facts.platform.value(*row["path"])
        if value is None or (value is False and not row.get("also_false")):
            continue
        fine = "unless" in row and facts.platform.value(*row["unless"]["path"]) == row["unless"]["value"]
        if document and not fine and facts.operator in VersionRange.parse(row["operators"]):
            yield Outcome(key=key, position=document.locate(tuple(row["path"])))


def pinned_operator(facts: PlatformFacts, rule: Rule) -> Iterator[Outcome]:
    """An operator image the values pin at another release than the chart's: outcome `pinned`. `looks_for`: `path`."""
    path = tuple(rule.looks_for["path"])
    tag = facts.platform.value(*path)
    core = resolve(None, f"operator:{tag}").core if isinstance(tag, str) and tag else None
    if facts.platform.values and core is not None and core != facts.operator:
        values = {"tag": str(tag), "operator": str(facts.operator)}
        yield Outcome(key="pinned", position=facts.platform.values.locate(path), values=values)


def removed_kind(facts: PlatformFacts, rule: Rule) -> Iterator[Outcome]:
    """Objects of a kind that the operator no longer has: outcome `removed`. `looks_for`: `kinds`, by first release."""
    kinds: Mapping[str, Any] = rule.looks_for["kinds"]
    for document in facts.objects:
        kind = document.value.get("kind")
        if kind in kinds and facts.operator >= Version.parse(kinds[kind]["since"]):
            values = {"kind": kind, "since": kinds[kind]["since"], "instead": kinds[kind]["instead"]}
            yield Outcome(key="removed", object=str(kind), position=document.locate(("kind",)), values=values)


def stored_version(facts: PlatformFacts, rule: Rule) -> Iterator[Outcome]:
    """Objects that lie in a version an older operator cannot read: outcome `stored`.

    `looks_for`: `version`, and `operators`, those that do not store it.
    """
    if facts.operator not in VersionRange.parse(rule.looks_for["operators"]):
        return
    for found in facts.platform.definitions.values():
        if rule.looks_for["version"] in found.stored:
            values = {"kind": found.kind, "version": rule.looks_for["version"], "operator": str(facts.operator)}
            yield Outcome(key="stored", object=found.kind, position=found.position, values=values)


def kubernetes_release(facts: PlatformFacts, rule: Rule) -> Iterator[Outcome]:
    """A pair of operator and Kubernetes that does not work: outcome `pair`. `looks_for`: `operators`, `kubernetes`."""
    release = facts.platform.kubernetes
    operators, servers = (VersionRange.parse(rule.looks_for[name]) for name in ("operators", "kubernetes"))
    if release is not None and facts.operator in operators and release in servers:
        yield Outcome(key="pair", values={"operator": str(facts.operator), "kubernetes": str(release)})
