"""Grove and topology: gang minimum, priority, packing, locality of KV transfers, raw overrides.

What only Grove does is refused where something else runs the pods for certain. What the typed fields look like
(`clusterTopologyName`, `packDomain`, weights) the schema says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stator.admission.subject import Breach, Subject, experimental
from stator.model import Component, Path

_ON_GROVE = "it is a field of Grove, which does not run this graph's pods"
_GRAPH: Path = ("spec", "topologyConstraint")
_POLICY: Path = ("spec", "experimental", "kvTransferPolicy")
# Kubernetes documentation, "Labels and Selectors": an optional DNS prefix, and a name of at most 63 characters.
_LABEL_KEY = re.compile(
    r"(?:(?=[^/]{1,253}/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


def grove_only(subject: Subject) -> Iterator[Breach]:
    """Fields that only Grove knows."""
    if subject.on_grove is not False:
        return
    remedy = "leave it out, or run the graph on Grove"
    for component in subject.graph.components:
        if component.other.get("minAvailable") is not None:
            yield _on_grove((*component.path, "minAvailable"), f"component {component.name}: minAvailable", remedy)
        if (experimental(component, "grove") or {}).get("forceScalingGroup"):
            path = (*component.path, "experimental", "grove", "forceScalingGroup")
            yield _on_grove(path, f"component {component.name}: forceScalingGroup", remedy)
        if component.other.get("providerOverride") is not None:
            path = (*component.path, "providerOverride")
            yield _on_grove(path, f"component {component.name}: providerOverride", remedy)
    for field in ("priorityClassName", "providerOverride"):
        if subject.graph.other.get(field) is not None:
            yield _on_grove(("spec", field), f"spec.{field}", remedy)


def _on_grove(path: Path, field: str, remedy: str) -> Breach:
    return Breach(rule="grove-only", path=path, what=f"{field} needs Grove", why=_ON_GROVE, remedy=remedy)


def min_available(subject: Subject) -> Iterator[Breach]:
    """A gang's minimum is not more than the gang; a component that is scaled to nothing has no gang."""
    for component in subject.graph.components:
        least, replicas = component.other.get("minAvailable"), component.replicas
        replicas = 1 if replicas is None else replicas
        if least is not None and replicas and least > replicas:
            yield Breach(
                rule="min-available",
                path=(*component.path, "minAvailable"),
                what=f"component {component.name}: minAvailable {least} is more than its replicas, {replicas}",
                remedy="lower minAvailable, or raise replicas",
            )


def topology(subject: Subject) -> Iterator[Breach]:
    """The topology of a graph, and the levels that its components and itself are packed into."""
    graph = subject.graph
    own: Mapping[str, Any] = graph.other.get("topologyConstraint") or {}
    packed = [
        (component, component.other["topologyConstraint"]["packDomain"])
        for component in graph.components
        if component.other.get("topologyConstraint")
    ]
    if packed and not own and graph.kind == "DynamoGraphDeployment":
        yield Breach(
            rule="topology-graph",
            path=_GRAPH,
            what="spec.topologyConstraint is required",
            why=f"component {packed[0][0].name} is packed, and the graph says in which topology",
            remedy="set spec.topologyConstraint.clusterTopologyName",
        )
    if own and not packed and not own.get("packDomain"):
        yield Breach(
            rule="topology-domain",
            path=(*_GRAPH, "packDomain"),
            what="spec.topologyConstraint.packDomain is required",
            why="no component is packed either, so the topology has no effect",
            remedy="set it, or pack a component",
        )
    if not own:
        return
    domains = yield from _known_topology(subject, own["clusterTopologyName"], (*_GRAPH, "clusterTopologyName"))
    if domains is not None:
        yield from _packing(domains, own.get("packDomain"), packed)


def _known_topology(subject: Subject, name: str, path: Path) -> Any:
    """The topology's domains, None if nobody knows them; a generator that yields the breach if it is not there."""
    known = subject.installed.topologies
    if known is None or subject.on_grove is False:
        return None
    if name not in known:
        yield Breach(
            rule="topology-unknown",
            path=path,
            what=f'the cluster has no topology "{name}"',
            why=f"it has {', '.join(sorted(known))}" if known else "it has none",
            remedy="name one that is there, or create it first",
        )
        return None
    return known[name]


def _packing(
    domains: tuple[str, ...], graph_domain: str | None, packed: list[tuple[Component, str]]
) -> Iterator[Breach]:
    places = [(_GRAPH, "spec", graph_domain)] if graph_domain else []
    places += [
        ((*component.path, "topologyConstraint"), f"component {component.name}", domain)
        for component, domain in packed
    ]  # fmt: skip
    for path, whose, domain in places:
        if domain not in domains:
            yield _unknown_domain((*path, "packDomain"), whose, domain, domains)
        elif path != _GRAPH and graph_domain in domains and domains.index(domain) < domains.index(graph_domain):
            yield Breach(
                rule="topology-wider",
                path=(*path, "packDomain"),
                what=f'{whose}: the domain "{domain}" is wider than the graph\'s, "{graph_domain}"',
                why=f"from the widest to the narrowest they are {', '.join(domains)}",
                remedy="pack the component as tight as the graph, or tighter",
            )


def _unknown_domain(path: Path, whose: str, domain: str, domains: tuple[str, ...]) -> Breach:
    return Breach(
        rule="topology-domain-unknown",
        path=path,
        what=f'{whose}: the topology has no domain "{domain}"',
        why=f"it has {', '.join(domains)}",
        remedy="name one of them",
    )


def kv_transfer(subject: Subject) -> Iterator[Breach]:
    """Where the partners of a KV transfer have to be."""
    policy = (subject.graph.other.get("experimental") or {}).get("kvTransferPolicy") or {}
    key, name = policy.get("labelKey"), policy.get("clusterTopologyName")
    if key and not _LABEL_KEY.fullmatch(key):
        yield Breach(
            rule="kv-label-key",
            path=(*_POLICY, "labelKey"),
            what=f'kvTransferPolicy: "{key}" is no label key',
            why="a label key is a name of at most 63 characters, after a DNS prefix and a slash if there is one",
            remedy="use the key of a node label, such as topology.kubernetes.io/zone",
        )
    if not name:
        return
    path = (*_POLICY, "clusterTopologyName")
    if subject.on_grove is False:
        yield Breach(
            rule="kv-topology",
            path=path,
            what="kvTransferPolicy.clusterTopologyName needs Grove",
            why="a topology is an object of Grove, which does not run this graph's pods",
            remedy="name the nodes' label in labelKey instead",
        )
    domains = yield from _known_topology(subject, name, path)
    if domains is not None and policy["domain"] not in domains:
        yield _unknown_domain((*_POLICY, "domain"), "kvTransferPolicy", policy["domain"], domains)


def provider_override(subject: Subject) -> Iterator[Breach]:
    """Raw values laid over an object of Grove: which object, and which of its fields."""
    graph = subject.graph
    typed = "topologyConstraint" in graph.other
    if (override := graph.other.get("providerOverride")) is not None:
        path: Path = ("spec", "providerOverride")
        yield from _target(path, "spec", override, "PodCliqueSet")
        value = override["value"]
        if not _is_only(value, "spec", "template", "topologyConstraint"):
            yield _value(path, "spec", "spec.template.topologyConstraint")
        elif typed:
            yield _twice(path, "spec")
    for component in graph.components:
        if (override := component.other.get("providerOverride")) is None:
            continue
        path, whose = (*component.path, "providerOverride"), f"component {component.name}"
        grouped = component.other.get("multinode") is not None
        grouped |= bool((experimental(component, "grove") or {}).get("forceScalingGroup"))
        yield from _target(path, whose, override, "PodCliqueScalingGroupConfig" if grouped else "PodCliqueTemplateSpec")
        value = override["value"]
        if not value or not set(value) <= {"topologyConstraint", "minAvailable"}:
            yield _value(path, whose, "topologyConstraint and minAvailable")
        if "topologyConstraint" in value and (typed or "topologyConstraint" in component.other):
            yield _twice(path, whose)
        yield from _raw_minimum(path, component, value)


def _is_only(value: Any, *steps: str) -> bool:
    """Whether a value holds nothing but the field at the end of these steps."""
    for step in steps:
        if not isinstance(value, Mapping) or set(value) != {step}:
            return False
        value = value[step]
    return True


def _target(path: Path, whose: str, override: Mapping[str, Any], allowed: str) -> Iterator[Breach]:
    if (target := override.get("target")) not in (None, "", allowed):
        yield Breach(
            rule="override-target",
            path=(*path, "target"),
            what=f'{whose}: providerOverride cannot go to "{target}"',
            remedy=f"use {allowed}, or leave target out",
        )


def _value(path: Path, whose: str, allowed: str) -> Breach:
    return Breach(
        rule="override-value",
        path=(*path, "value"),
        what=f"{whose}: providerOverride may set {allowed} only",
        remedy="leave everything else out",
    )


def _twice(path: Path, whose: str) -> Breach:
    return Breach(
        rule="override-topology",
        path=(*path, "value"),
        what=f"{whose}: providerOverride sets a topologyConstraint, and the graph has a typed one",
        remedy="keep one of the two",
    )


def _raw_minimum(path: Path, component: Component, value: Mapping[str, Any]) -> Iterator[Breach]:
    """The bounds of the typed field hold for the raw one."""
    if "minAvailable" not in value:
        return
    least, replicas = value["minAvailable"], 1 if component.replicas is None else component.replicas
    if type(least) is not int or least < 1 or (replicas and least > replicas):
        yield Breach(
            rule="override-minimum",
            path=(*path, "value", "minAvailable"),
            what=f"component {component.name}: minAvailable must be an integer from 1 to its replicas, {replicas}",
            remedy="write a number in these bounds",
            given=least,
        )
