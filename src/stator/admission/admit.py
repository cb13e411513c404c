"""The rules together: on a graph that is new, on one that changes, on a file.

What rendering refuses is refused here too, in its own words; what the schema refuses never becomes a graph. So every
rule has one place, and nothing is said twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stator.admission.containers import elastic_experts, image_reference, power_limit, resources, runtime_version
from stator.admission.features import checkpoint, failover, gpu_memory_service, runtime_container
from stator.admission.metadata import restart, steering
from stator.admission.multinode import multinode_type, roles
from stator.admission.picker import picker
from stator.admission.scheduling import grove_only, kv_transfer, min_available, provider_override, topology
from stator.admission.subject import Breach, Installed, Occasion, Rule, Subject
from stator.admission.update import changes
from stator.errors import InvalidInputError, Problem
from stator.model import Graph
from stator.render import Provider, RenderOptions, render_graph

RULES: tuple[Rule, ...] = (
    runtime_version,
    image_reference,
    resources,
    power_limit,
    elastic_experts,
    picker,
    multinode_type,
    roles,
    runtime_container,
    gpu_memory_service,
    failover,
    checkpoint,
    grove_only,
    min_available,
    topology,
    kv_transfer,
    provider_override,
    steering,
    restart,
)
_UNKNOWN = Installed()
_OPTIONS = RenderOptions()


def problems(
    graph: Graph,
    *,
    installed: Installed = _UNKNOWN,
    options: RenderOptions = _OPTIONS,
    user: str | None = None,
    trusted: frozenset[str] = frozenset(),
    occasion: Occasion = "create",
) -> tuple[Problem, ...]:
    """Why a new graph is refused; empty if it is admitted. All at once, at fields of the version that was submitted.

    `options.operator` is the release that would render it. `user` asks; None if it is not known who does.
    `trusted` are the names of the operator's own users. `occasion` other than `create` leaves out what is refused of
    new objects only.
    """
    subject = msgspec.structs.replace(_subject(graph, installed, options, user, trusted), occasion=occasion)
    return _located(graph, _all(subject))


def update_problems(
    old: Graph,
    new: Graph,
    *,
    installed: Installed = _UNKNOWN,
    options: RenderOptions = _OPTIONS,
    user: str | None = None,
    trusted: frozenset[str] = frozenset(),
) -> tuple[Problem, ...]:
    """Why a change from `old` to `new` is refused.

    A rule that `old` broke already, in the same way and with the same values, is no reason: so an object that was
    admitted under older rules can still be labelled, annotated and scaled.
    """
    before = msgspec.structs.replace(_subject(old, installed, options, user, trusted), occasion="update")
    after = msgspec.structs.replace(before, graph=new)
    broken = {_key(item) for item in _all(before)}
    fresh = [item for item in _all(after) if _key(item) not in broken]
    return _located(new, (*changes(old, after), *fresh))


def file_problems(
    graph: Graph, *, installed: Installed = _UNKNOWN, options: RenderOptions = _OPTIONS
) -> tuple[Problem, ...]:
    """What would be refused of a graph in a file, new or not, beside what rendering refuses."""
    subject = msgspec.structs.replace(_subject(graph, installed, options, None, frozenset()), occasion="file")
    return _located(graph, _breaches(subject))


def _subject(
    graph: Graph, installed: Installed, options: RenderOptions, user: str | None, trusted: frozenset[str]
) -> Subject:
    return Subject(graph=graph, installed=installed, options=options, user=user, trusted=trusted)


def _breaches(subject: Subject) -> tuple[Breach, ...]:
    return tuple(breach for rule in RULES for breach in rule(subject))


def _all(subject: Subject) -> tuple[Breach | Problem, ...]:
    if subject.graph.kind == "DynamoComponentDeployment" and subject.by_operator:
        # The operator makes it of a graph that was admitted, perhaps under older rules.
        return ()
    return (*_breaches(subject), *_unrenderable(subject))


def _unrenderable(subject: Subject) -> Iterator[Problem]:
    """What keeps the graph from being rendered."""
    provider: Provider = "grove" if subject.on_grove else "component"
    try:
        render_graph(subject.graph, msgspec.structs.replace(subject.options, provider=provider))
    except InvalidInputError as error:
        yield from error.problems


def _key(item: Breach | Problem) -> bytes:
    """What makes two problems the same on two states of an object; their positions may differ."""
    if isinstance(item, Breach):
        return msgspec.json.encode((item.rule, item.what, item.given))
    return msgspec.json.encode(("render", item.what, item.why))


def _located(graph: Graph, items: tuple[Breach | Problem, ...]) -> tuple[Problem, ...]:
    found = (item.problem(graph) if isinstance(item, Breach) else item for item in items)
    return tuple(dict.fromkeys(found))
