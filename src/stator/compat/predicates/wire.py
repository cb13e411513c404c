"""What a frontend, its workers and a planner have to agree on to find and understand each other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from stator.compat import sglang
from stator.compat.environment import setting
from stator.compat.facts import ContainerFacts, FleetFacts, FrontendNames, GraphFacts, GraphNames
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


def names(facts: GraphFacts) -> GraphNames:
    """The names by which the graph meets others, as far as they are literal."""
    workers = (setting(part, "DYN_NAMESPACE").text for part in facts.of_type("worker", "prefill", "decode"))
    return GraphNames(
        ref=facts.graph.ref,
        namespace=facts.graph.namespace,
        name=facts.graph.name,
        frontends=tuple(
            FrontendNames(
                frontend.component,
                frontend.version.core,
                setting(frontend, "DYN_NAMESPACE_PREFIX").text or "",
                setting(frontend, "DYN_NAMESPACE_PREFIX_STRICT").text == "true",
                frontend.locate(),
            )
            for frontend in facts.of_type("frontend")
        ),
        workers=tuple(dict.fromkeys(filter(None, workers))),
    )


def foreign_workers(facts: FleetFacts, rule: Rule) -> Iterator[Outcome]:
    """Frontends that take another graph's workers for theirs: outcome `prefix`.

    Frontends look for every Dynamo namespace that begins with their prefix. `looks_for`: `strict`, the first release
    that honours DYN_NAMESPACE_PREFIX_STRICT.
    """
    strict = Version.parse(rule.looks_for["strict"])
    used = sorted({(graph.namespace, name, graph.name) for graph in facts.graphs for name in graph.workers})
    for graph in facts.graphs:
        for frontend in graph.frontends:
            honoured = frontend.version is None or frontend.version >= strict
            if not frontend.prefix or (frontend.exact and honoured):
                continue
            for other in _beginning(used, graph.namespace, frontend.prefix):
                yield Outcome(
                    key="prefix",
                    object=graph.ref,
                    component=frontend.component,
                    position=frontend.position,
                    values={"prefix": frontend.prefix, "other": other},
                    versions={"frontend": str(frontend.version or "unresolved")},
                )


def _beginning(used: Sequence[tuple[str, str, str]], namespace: str, prefix: str) -> Iterator[str]:
    """The graphs of a Kubernetes namespace with a worker whose Dynamo namespace is longer than the prefix.

    `used` is sorted, so those that begin alike stand together.
    """
    told = set()
    for index in range(bisect_left(used, (namespace, prefix)), len(used)):
        where, name, graph = used[index]
        if where != namespace or not name.startswith(prefix):
            return
        if name != prefix and graph not in told:
            told.add(graph)
            yield graph
