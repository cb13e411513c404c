"""Runs rules over one container and turns their outcomes into findings and repairs."""

from __future__ import annotations

from collections.abc import Sequence

from stator.compat.facts import ContainerFacts
from stator.compat.findings import Finding, Repair, Severity, Verdict
from stator.compat.outcome import Certainty, Outcome
from stator.compat.predicates import PREDICATES
from stator.compat.rule import Rule
from stator.compat.rule import rules as all_rules

_ORDER: tuple[Severity, ...] = ("info", "warning", "error")
_AT_MOST: dict[Certainty, Severity] = {"certain": "error", "possible": "warning", "remote": "info"}


def evaluate(facts: ContainerFacts, *, rules: Sequence[Rule] | None = None, repair: bool = True) -> Verdict:
    """What the rules (all of them by default) have to say about a container, in rule order.

    With `repair` off nothing is repaired, and the findings weigh what they weigh without it: what could not
    be certain stays a warning or an info, what could is an error.
    """
    findings: list[Finding] = []
    repairs: list[Repair] = []
    for rule in all_rules() if rules is None else rules:
        if not rule.covers(facts.backend, facts.component_type, facts.version.core):
            continue
        for outcome in PREDICATES[rule.predicate](facts, rule):
            repaired = repair and bool(outcome.repairs)
            findings.append(_finding(facts, rule, outcome, repaired=repaired))
            repairs.extend(outcome.repairs if repaired else ())
    return Verdict(tuple(findings), tuple(repairs))


def _finding(facts: ContainerFacts, rule: Rule, outcome: Outcome, *, repaired: bool) -> Finding:
    runtime = str(facts.version.core or "unresolved")
    words = rule.outcomes[outcome.key].filled(runtime=runtime, **outcome.values)
    severity: Severity = "info" if repaired else min(words.severity, _AT_MOST[outcome.certainty], key=_ORDER.index)
    return Finding(
        rule=rule.id,
        severity=severity,
        message=words.message,
        object=facts.object,
        component=facts.component,
        location=facts.locate(*outcome.where) or facts.locate(),
        versions={"runtime": runtime},
        remedy=words.remedy,
        fix=words.fix,
        repair=words.repair if repaired else "",
    )
