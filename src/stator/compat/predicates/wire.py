"""What a frontend, its workers and a planner have to agree on to find and understand each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stator.compat import sglang
from stator.compat.environment import setting
from stator.compat.facts import ContainerFacts, FleetFacts, GraphFacts
from stator.compat.given import given
from stator.compat.outcome import Outcome
from stator.compat.rule import Rule
from stator.versions import Version

FRONTENDS = ("dynamo.frontend", "dynamo.router")
_PARTS = ("frontend", "worker", "prefill", "decode")


def embedding_wire(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Frontends that cannot read what newer embedding workers send: outcome `base64`. `looks_for`: `boundary`."""
    boundary = Version.parse(rule.looks_for["boundary"])
    for worker in facts.containers:
        if worker.version.core is None or worker.version.core < boundary or not serves_embeddings(worker):
            continue
        for frontend in facts.of_type("frontend"):
            if frontend.version.core is not None and frontend.version.core < boundary:
                versions = {"frontend": str(frontend.version.core), "worker": str(worker.version.core)}
                yield Outcome(
                    key="base64", component=frontend.component, where=("image",), values=versions, versions=versions
                )


def serves_embeddings(facts: ContainerFacts) -> bool:
    """Whether a container plainly is an embedding worker."""
    if facts.backend == sglang.BACKEND:
        return any(sglang.embedding(facts, worker).on for worker in sglang.workers(facts))
    return any(given(facts, ("dynamo.vllm",), ("--embedding-worker",)))


def routes_by_kv(facts: ContainerFacts) -> bool:
    """Whether a frontend routes by KV events, as far as its own settings tell."""
    flags = [use.value for use in given(facts, FRONTENDS, ("--router-mode",))]
    return (flags[-1] if flags else setting(facts, "DYN_ROUTER_MODE").text) == "kv"


def routes_by_events(facts: ContainerFacts) -> bool:
    """Whether a frontend routes by what workers publish, and not by its own guesses."""
    if any(given(facts, FRONTENDS, ("--no-router-kv-events", "--no-kv-events"))):
        return False
    told = setting(facts, "DYN_ROUTER_USE_KV_EVENTS").text
    return routes_by_kv(facts) and (told or "true").strip().lower() not in {"false", "0", "no", "off"}


def event_subjects(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Producers and consumers of events on both sides of a change of subjects: outcome `straddle`.

    `looks_for`: `boundary`. Consumers are planners and frontends that route by KV events.
    """
    boundary = Version.parse(rule.looks_for["boundary"])
    consumers = [part for part in facts.of_type("frontend") if routes_by_events(part)] + [*facts.of_type("planner")]
    for consumer in consumers:
        for worker in facts.of_type("worker", "prefill", "decode"):
            one, other = consumer.version.core, worker.version.core
            if one is not None and other is not None and (one < boundary) != (other < boundary):
                yield Outcome(
                    key="straddle",
                    component=worker.component,
                    where=("image",),
                    values={"consumer": f"{consumer.component} {one}", "worker": str(other)},
                    versions={"consumer": str(one), "worker": str(other)},
                )


def planes_differ(facts: GraphFacts, rule: Rule) -> Sequence[Outcome]:
    """Parts of a graph that use different planes: outcome `differ`.

    `looks_for`: `variable`, `flag`, and `defaults`, pairs of the first release and its default from there on. A part
    whose value is not known yet, or whose release is not known where the default counts, is left out.
    """
    known = [(part, value) for part in facts.of_type(*_PARTS) if (value := _plane(part, rule)) is not None]
    if len({value for _, (value, _) in known}) < 2:  # noqa: PLR2004 - two values differ
        return ()
    first, (expected, _) = known[0]
    return [
        Outcome(
            key="default" if how == "default" else "differ",
            component=part.component,
            where=("env", rule.looks_for["variable"]),
            values={"value": value, "other": first.component, "expected": expected},
            versions={"runtime": str(part.version.core)},
        )
        for part, (value, how) in known
        if value != expected
    ]


def _plane(facts: ContainerFacts, rule: Rule) -> tuple[str, str] | None:
    """The value and how it comes about: `set` or `default`; None if it cannot be told."""
    modules = tuple(run.module for run in facts.command_line.invocations)
    flags = [use.value for use in given(facts, modules, (rule.looks_for["flag"],))]
    if flags:
        return None if flags[-1] is None else (flags[-1], "set")
    found = setting(facts, rule.looks_for["variable"])
    if found.text:
        return found.text.strip(), "set"
    release = facts.version.core
    # An `envFrom` source could carry any name: a token secret is not taken for a setting of the plane.
    if found.origin == "value-from" or release is None:
        return None
    since = [value for first, value in rule.looks_for["defaults"] if release >= Version.parse(first)]
    return (since[-1], "default") if since else None


def planner_names(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Workers a planner knew by their names until it stopped to: outcome `unnamed`.

    `looks_for`: `since`, the first planner that does not; `names`, the old names with the type to give instead.
    """
    since = Version.parse(rule.looks_for["since"])
    names = rule.looks_for["names"]
    for planner in facts.of_type("planner"):
        for worker in facts.of_type("worker") if planner.version.core and planner.version.core >= since else ():
            if worker.component in names and not facts.component(worker).alpha.sub_component_type:
                yield Outcome(
                    key="unnamed",
                    component=worker.component,
                    values={"planner": f"{planner.component} {planner.version.core}", "type": names[worker.component]},
                    versions={"planner": str(planner.version.core)},
                )


def foreign_workers(facts: FleetFacts, rule: Rule) -> Iterator[Outcome]:
    """Frontends that take another graph's workers for theirs: outcome `prefix`.

    Frontends look for every Dynamo namespace that begins with their prefix. `looks_for`: `strict`, the first release
    that honours DYN_NAMESPACE_PREFIX_STRICT.
    """
    strict = Version.parse(rule.looks_for["strict"])
    for graph in facts.graphs:
        for frontend in graph.of_type("frontend"):
            prefix = setting(frontend, "DYN_NAMESPACE_PREFIX").text
            exact = setting(frontend, "DYN_NAMESPACE_PREFIX_STRICT").text == "true"
            honoured = frontend.version.core is None or frontend.version.core >= strict
            if not prefix or (exact and honoured):
                continue
            for other in facts.graphs:
                if other.graph.namespace == graph.graph.namespace and _begins(other, prefix):
                    yield Outcome(
                        key="prefix",
                        object=graph.graph.ref,
                        component=frontend.component,
                        values={"prefix": prefix, "other": other.graph.name},
                        versions={"frontend": str(frontend.version.core or "unresolved")},
                    )


def _begins(graph: GraphFacts, prefix: str) -> bool:
    """Whether a worker's Dynamo namespace only begins with the prefix."""
    names = (setting(part, "DYN_NAMESPACE").text for part in graph.of_type("worker", "prefill", "decode"))
    return any(name and name != prefix and name.startswith(prefix) for name in names)
