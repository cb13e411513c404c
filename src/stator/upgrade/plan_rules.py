"""What the rules say about one step of a plan: findings that come with it, and defaults that it crosses.

Between two steps a graph is a mix that neither its old nor its new manifest shows, so the rules about whole graphs are
asked about every mix. The rules about windows are not: a plan looks at every pair that meets, also while a step runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from stator.compat import Finding, GraphFacts, MoveFacts, evaluate_graph, evaluate_move, rules
from stator.upgrade.change import Side

_WINDOWS = frozenset(
    (
        "frontend-worker-window",
        "operator-runtime-window",
        "prefill-decode-versions",
        "rollout-window",
        "unreadable-version",
    )
)


def brought(before: Side, after: Side) -> Iterator[Finding]:
    """What the rules about graphs and moves have to say of the step and had not to say before it, in rule order."""
    old, new = _facts(before), _facts(after)
    asked = [rule for rule in rules() if rule.predicate not in _WINDOWS]
    known = {(finding.rule, finding.component) for finding in evaluate_graph(old, rules=asked)}
    for finding in evaluate_graph(new, rules=asked):
        if (finding.rule, finding.component) not in known:
            yield finding
    yield from evaluate_move(MoveFacts(before=old, after=new), rules=asked)


def _facts(side: Side) -> GraphFacts:
    containers = tuple(part.facts for part in side.manifest.components if part.facts is not None)
    return GraphFacts(graph=side.graph, containers=containers, operator=side.operator)
