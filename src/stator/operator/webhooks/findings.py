"""What the compatibility rules say of a graph at admission: warnings, or reasons to refuse it where a user asked so.

The rules are those of `stator check`. A change is also looked at as a move from what is stored: what a new release
runs into is said when it is applied, not when its pods do not start.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from stator.compat import Finding, GraphFacts, MoveFacts, evaluate_graph, evaluate_move
from stator.errors import InvalidInputError, Problem
from stator.model import Graph
from stator.render import RenderOptions, render_graph

# A header holds about 4 KiB of warnings in all (Kubernetes documentation, "Dynamic Admission Control").
MOST_WARNINGS = 12
_LONGEST = 240


class Judgement(msgspec.Struct, frozen=True):
    """Findings as admission shows them."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


def judge(new: Graph, old: Graph | None, *, options: RenderOptions, reject: Collection[str]) -> Judgement:
    """What the rules say of a graph that can be rendered; nothing of one that cannot.

    `reject` holds rule ids and severities. A finding that the stored graph has already refuses no change.
    """
    facts = _facts(new, options)
    if facts is None:
        return Judgement()
    before = _facts(old, options) if old is not None else None
    found = _of_graph(facts)
    known = {_key(item) for item in _of_graph(before)} if before is not None else set()
    if before is not None:
        found += evaluate_move(MoveFacts(before=before[1], after=facts[1]))
    refused = [item for item in found if {item.rule, item.severity} & set(reject) and _key(item) not in known]
    shown = [item for item in found if item not in refused and item.severity != "info"]
    shown.sort(key=lambda item: (item.severity != "error", item.rule))
    warnings = [_text(item) for item in shown[:MOST_WARNINGS]]
    if len(shown) > MOST_WARNINGS:
        warnings.append(f"{len(shown) - MOST_WARNINGS} more findings: see stator check")
    return Judgement(tuple(_problem(item) for item in refused), tuple(dict.fromkeys(warnings)))


def _facts(graph: Graph, options: RenderOptions) -> tuple[tuple[Finding, ...], GraphFacts] | None:
    """What rendering found, and what the rules look at. ConfigMaps are not read: nothing here asks the server."""
    try:
        manifest = render_graph(graph, options)
    except InvalidInputError:
        return None
    containers = tuple(part.facts for part in manifest.components if part.facts is not None)
    facts = GraphFacts(graph=graph, containers=containers, operator=options.operator, config_maps={})
    return manifest.findings, facts


def _of_graph(facts: tuple[tuple[Finding, ...], GraphFacts]) -> list[Finding]:
    return [*facts[0], *evaluate_graph(facts[1])]


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.component, finding.message


def _text(finding: Finding) -> str:
    field = finding.location.field if finding.location else ""
    where = f" {field}" if field else ""
    end = f" (stator explain {finding.rule})"
    text = f"{finding.rule}{where}: {finding.message}"
    most = _LONGEST - len(end)
    return (text if len(text) <= most else f"{text[: most - 1]}…") + end


def _problem(finding: Finding) -> Problem:
    return Problem(
        what=f"{finding.rule}: {finding.message}",
        position=finding.location,
        why="this installation refuses such findings",
        remedy=finding.remedy or f"see stator explain {finding.rule}",
    )
