"""What changes for a container that goes from one release to another, where nothing in the manifest does."""

from __future__ import annotations

from collections.abc import Iterator

from stator.compat.facts import ContainerFacts, MoveFacts
from stator.compat.given import given
from stator.compat.outcome import Outcome
from stator.compat.predicates.wire import routes_by_kv, serves_embeddings
from stator.compat.rule import Rule
from stator.versions import Version

_KINDS = {"embedding": serves_embeddings, "kv-router": routes_by_kv}


def crosses(facts: MoveFacts, rule: Rule) -> Iterator[Outcome]:
    """Containers that go over a boundary at which a default changes: outcome `crosses`, or `back` on the way down.

    A rule without `back` says the same both ways.
    `looks_for`: `boundaries`; `unless_variables` and `unless_flags`, with which the default does not count; `kind`,
    the sort of container it matters to.
    """
    for after in facts.after.containers:
        before = next((old for old in facts.before.containers if old.component == after.component), None)
        if before is None or not rule.covers(after.backend, after.component_type, None):
            continue
        one, other = before.version.core, after.version.core
        if one is None or other is None or _decided(after, facts, rule):
            continue
        if (kind := rule.looks_for.get("kind")) and not _KINDS[kind](after):
            continue
        for text in rule.looks_for["boundaries"]:
            boundary = Version.parse(text)
            if (one < boundary) != (other < boundary):
                yield Outcome(
                    key="back" if other < one and "back" in rule.outcomes else "crosses",
                    component=after.component,
                    values={"before": str(one), "after": str(other), "boundary": text},
                    versions={"before": str(one), "after": str(other)},
                )
                break


def _decided(container: ContainerFacts, facts: MoveFacts, rule: Rule) -> bool:
    """Whether the user settled it: what the operator sets does not count."""
    component = facts.after.component(container)
    names = {entry["name"] for entry in (*facts.after.graph.env, *(component.main.get("env") or ()))}
    modules = tuple(run.module for run in container.command_line.invocations)
    flags = given(container, modules, rule.looks_for.get("unless_flags", ()))
    return bool(names & set(rule.looks_for.get("unless_variables", ()))) or any(flags)
