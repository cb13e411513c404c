"""The skew windows within a graph, and while it moves from one release to another."""

from __future__ import annotations

from collections.abc import Iterator

from stator.compat.facts import ContainerFacts, GraphFacts, MoveFacts
from stator.compat.outcome import Outcome
from stator.compat.roles import WORKERS, workers
from stator.compat.rule import Rule
from stator.versions import Version, frontend_worker, operator_runtime, prefill_decode


def frontend_worker_window(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Workers too far from a frontend of their graph: outcome `outside`."""
    del rule
    for frontend in facts.of_type("frontend"):
        for worker in facts.of_type(*WORKERS):
            skew = frontend_worker(frontend.version.core, worker.version.core)
            if skew.state == "outside":
                yield _outside(worker, skew.words, frontend=frontend.version.core, worker=worker.version.core)


def operator_runtime_window(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Components the operator does not serve: outcomes `outside` and `forward`."""
    del rule
    for container in facts.containers:
        skew = operator_runtime(facts.operator, container.version.core)
        if skew.state in {"outside", "forward"}:
            outside = _outside(container, skew.words, operator=facts.operator, runtime=container.version.core)
            yield Outcome(key=skew.state, component=outside.component, values=outside.values, versions=outside.versions)


def prefill_decode_versions(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Prefill and decode workers of different versions: outcome `differ`, said once, about the decode worker."""
    del rule
    for decode in workers(facts, "decode"):
        for prefill in workers(facts, "prefill"):
            skew = prefill_decode(prefill.version.core, decode.version.core)
            if skew.state == "outside":
                outside = _outside(decode, skew.words, prefill=prefill.version.core, decode=decode.version.core)
                yield Outcome(
                    key="differ", component=outside.component, values=outside.values, versions=outside.versions
                )
                break


def unreadable_version(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Components whose release cannot be told from the image: outcome `unresolved`."""
    del rule
    for container in facts.containers:
        if container.version.core is None:
            values = {"why": container.version.why}
            yield Outcome(key="unresolved", component=container.component, where=("image",), values=values)


def rollout_window(facts: MoveFacts, rule: Rule) -> Iterator[Outcome]:
    """Old and new parts that meet while the graph moves and are too far apart: outcome `outside`."""
    del rule
    for old, new in ((facts.before, facts.after), (facts.after, facts.before)):
        for frontend in old.of_type("frontend"):
            for worker in new.of_type(*WORKERS):
                skew = frontend_worker(frontend.version.core, worker.version.core)
                settled = frontend_worker(frontend.version.core, _same(old, worker))
                if skew.state == "outside" and settled.state != "outside":
                    yield _outside(worker, skew.words, frontend=frontend.version.core, worker=worker.version.core)


def _same(graph: GraphFacts, container: ContainerFacts) -> Version | None:
    return next((other.version.core for other in graph.containers if other.component == container.component), None)


def _outside(container: ContainerFacts, words: str, **versions: object) -> Outcome:
    return Outcome(
        key="outside",
        component=container.component,
        where=("image",),
        values={"words": words},
        versions={role: str(version) for role, version in versions.items()},
    )
