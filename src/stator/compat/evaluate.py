"""Runs rules over containers, graphs, fleets and moves, and turns their outcomes into findings and repairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from stator.compat.edits import Edit, InsertEnv
from stator.compat.facts import ContainerFacts, FleetFacts, GraphFacts, MoveFacts
from stator.compat.findings import AddEnv, Finding, Repair, Severity, Verdict
from stator.compat.outcome import Certainty, Outcome
from stator.compat.platform import PlatformFacts
from stator.compat.predicates import (
    CONTAINER_PREDICATES,
    FLEET_PREDICATES,
    GRAPH_PREDICATES,
    MOVE_PREDICATES,
    PLATFORM_PREDICATES,
)
from stator.compat.rule import SEVERITIES, Rule, Scope
from stator.compat.rule import rules as all_rules
from stator.errors import Position
from stator.versions import Version

_AT_MOST: dict[Certainty, Severity] = {"certain": "error", "possible": "warning", "remote": "info"}


def evaluate(facts: ContainerFacts, *, rules: Sequence[Rule] | None = None, repair: bool = True) -> Verdict:
    """What the rules (all of them by default) have to say about a container, in rule order.

    With `repair` off nothing is repaired, and the findings weigh what they weigh without it: what could not
    be certain stays a warning or an info, what could is an error.
    """
    findings: list[Finding] = []
    repairs: list[Repair] = []
    said: set[tuple[str, Position | None]] = set()
    modules = tuple(run.module for run in facts.command_line.invocations)
    kind = (facts.backend, facts.component_type, facts.version.core, modules)
    for rule, names in _covering(*kind) if rules is None else _those_covering(rules, *kind):
        if names and names.isdisjoint(facts.given):
            continue
        for outcome in CONTAINER_PREDICATES[rule.predicate](facts, rule):
            repaired = repair and bool(outcome.repairs)
            finding = _of_container(facts, rule, outcome, repaired=repaired)
            if any((other, finding.location) in said for other in rule.yields_to):
                continue
            said.add((rule.id, finding.location))
            findings.append(finding)
            repairs.extend(outcome.repairs if repaired else ())
    return Verdict(tuple(findings), tuple(repairs))


def evaluate_graph(facts: GraphFacts, *, rules: Sequence[Rule] | None = None) -> tuple[Finding, ...]:
    """What the rules that look at a whole graph have to say, in rule order; containers are left to `evaluate`."""
    return tuple(
        _of_graph(facts, rule, outcome)
        for rule in _of("graph", rules)
        for outcome in GRAPH_PREDICATES[rule.predicate](facts, rule)
    )


def evaluate_fleet(facts: FleetFacts, *, rules: Sequence[Rule] | None = None) -> tuple[Finding, ...]:
    """What the rules that look at several graphs have to say, in rule order. Empty for no graph."""
    return tuple(
        _stated(rule, outcome, outcome.object, outcome.position)
        for rule in _of("fleet", rules)
        for outcome in FLEET_PREDICATES[rule.predicate](facts, rule)
    )


def evaluate_move(facts: MoveFacts, *, rules: Sequence[Rule] | None = None) -> tuple[Finding, ...]:
    """What the rules about going from one release to another have to say, in rule order."""
    return tuple(
        _of_graph(facts.after, rule, outcome)
        for rule in _of("move", rules)
        for outcome in MOVE_PREDICATES[rule.predicate](facts, rule)
    )


def evaluate_platform(facts: PlatformFacts, *, rules: Sequence[Rule] | None = None) -> tuple[Finding, ...]:
    """What the rules about the cluster itself have to say, in rule order."""
    return tuple(
        _stated(rule, outcome, outcome.object or "platform", outcome.position)
        for rule in _of("platform", rules)
        for outcome in PLATFORM_PREDICATES[rule.predicate](facts, rule)
    )


@lru_cache(512)
def _covering(
    backend: str, role: str, release: Version | None, modules: tuple[str, ...]
) -> tuple[tuple[Rule, frozenset[str]], ...]:
    """All rules for such a container, each with its names: there are few kinds of containers, and many rules."""
    return _those_covering(all_rules(), backend, role, release, modules)


def _those_covering(
    rules: Sequence[Rule], backend: str, role: str, release: Version | None, modules: tuple[str, ...]
) -> tuple[tuple[Rule, frozenset[str]], ...]:
    return tuple(
        (rule, rule.names)
        for rule in _of("container", rules)
        if rule.covers(backend, role, release) and rule.looks_at(modules)
    )


def _of(scope: Scope, rules: Sequence[Rule] | None) -> Iterable[Rule]:
    return (rule for rule in (all_rules() if rules is None else rules) if rule.scope == scope)


def _of_container(facts: ContainerFacts, rule: Rule, outcome: Outcome, *, repaired: bool) -> Finding:
    runtime = str(facts.version.core or "unresolved")
    words = rule.outcomes[outcome.key].filled(runtime=runtime, **outcome.values)
    return Finding(
        rule=rule.id,
        severity="info" if repaired else _severity(words.severity, outcome),
        message=words.message,
        object=facts.object,
        component=facts.component,
        location=facts.locate(*outcome.where) or facts.locate(),
        versions={"runtime": runtime},
        remedy=words.remedy,
        fix=words.fix,
        repair=words.repair if repaired else "",
        edit=outcome.edit or _by_hand(outcome.repairs),
        safe=words.safe,
        undecided=words.undecided,
    )


def _by_hand(repairs: Sequence[Repair]) -> Edit | None:
    """What a user can write to have what a repair gives. Below `envFrom` nothing can be written: an entry wins."""
    entries = [InsertEnv(name=item.name, value=item.value) for item in repairs if isinstance(item, AddEnv)]
    return entries[0] if len(entries) == 1 else None


def _of_graph(facts: GraphFacts, rule: Rule, outcome: Outcome) -> Finding:
    container = next((found for found in facts.containers if found.component == outcome.component), None)
    location = outcome.position
    if location is None and container is not None:
        location = container.locate(*outcome.where) or container.locate()
    return _stated(rule, outcome, facts.graph.ref, location or facts.graph.locate("metadata", "name"))


def _stated(rule: Rule, outcome: Outcome, ref: str, location: Position | None) -> Finding:
    words = rule.outcomes[outcome.key].filled(**outcome.values)
    return Finding(
        rule=rule.id,
        severity=_severity(words.severity, outcome),
        message=words.message,
        object=ref,
        component=outcome.component,
        location=location,
        versions=outcome.versions,
        remedy=words.remedy,
        fix=words.fix,
        edit=outcome.edit,
        safe=words.safe,
        undecided=words.undecided,
    )


def _severity(worst: Severity, outcome: Outcome) -> Severity:
    return min(worst, _AT_MOST[outcome.certainty], key=SEVERITIES.index)
