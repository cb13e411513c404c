"""The component pathway: a DynamoComponentDeployment per component, and per generation of a worker while it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from stator.model import Graph
from stator.operator.checkpoints import AWAITED
from stator.operator.components.status import Trouble
from stator.operator.graphs.beside import beside, leftovers, refused
from stator.operator.graphs.children import KIND, components_of, shared_objects
from stator.operator.graphs.contained import contains
from stator.operator.graphs.observed import Json, Made, Observed
from stator.operator.graphs.records import generation_on_record
from stator.operator.graphs.restart import Carried, restart
from stator.operator.graphs.rollout import Rollout, Wanted, group_of, progress, rollout
from stator.operator.graphs.rollout import events_of as rollout_events
from stator.operator.graphs.status import events_of, status_of, verdict
from stator.operator.options import OperatorOptions
from stator.operator.ownership import owned, owner_reference
from stator.operator.plan import Deletion, Plan
from stator.operator.serving import judged, serving
from stator.render import Manifest, RenderedComponent, names


class _Component(msgspec.Struct, frozen=True, kw_only=True):
    """One component: as it is wanted now, as it is, and the older generations of it."""

    name: str
    value: Json
    live: Made | None
    older: tuple[Made, ...]
    refused: str


def plan_components(
    observed: Observed, graph: Graph, manifest: Manifest, options: OperatorOptions, now: datetime
) -> tuple[Plan, str]:
    """The plan of one pass without the graph's own records, and the worker generation to put on record."""
    own = {made.name: made for made in observed.own_components}
    found = _rollout(observed, graph, manifest)
    values = components_of(graph, manifest, {})
    carried = _carried(graph, values, own)
    restarted = restart(graph, carried, observed.status.get("restart") or {}, rolling=found.active)
    values = components_of(graph, manifest, restarted.ids) if restarted.ids else values
    components = _components(observed, values, own, found)
    wanted = shared_objects(manifest)
    others = beside(observed, wanted, options)
    before = observed.status.get("rollingUpdate") or {}
    rolling = progress(found, before, now)
    waiting = {item.name: why for item in components if (why := _why_not_ready(item))}
    waiting |= dict.fromkeys(options.render.waiting_for_checkpoint, AWAITED)
    waiting |= {"graph": "; ".join(others.missing)} if others.missing else {}
    is_rolling = found.active or rolling.get("phase") in {"Pending", "InProgress"}
    if is_rolling:
        waiting.setdefault("workers", f"generation {found.generation} is taking over")
    status = status_of(
        observed,
        verdict(
            waiting,
            reason="rolling_update_in_progress" if is_rolling else "some_resources_are_not_ready",
            note=_notes(components),
        ),
        (*others.troubles, *_troubles(components)),
        components=_statuses(graph, manifest, components, found.current),
        rolling_update=rolling,
        restart=restarted.status,
        now=now,
    )
    removed = _removed(own, components, found)
    older = [made for made in found.old if not made.deleting and found.scaled[made.name] != made.wanted]
    owner = owner_reference(observed.graph)
    plan = Plan(
        apply=(
            *others.apply,
            *(owned(item.value, observed.graph) for item in components if _is_applied(item)),
            *(made.scaled(found.scaled[made.name], owner) for made in older),
            *(made.scaled(0, owner) for made in removed if made.wanted),
        ),
        delete=(
            *map(_deletion, found.leaving),
            *(_deletion(made) for made in removed if group_of(made).may_go),
            *leftovers(observed, wanted, ready=status["state"] == "successful"),
        ),
        status=status,
        events=(*events_of(observed, status), *rollout_events(before, rolling)),
        early=_is_early(observed, components) and not others.troubles,
        feeds_back=bool(rolling or restarted.status),
    )
    return plan, found.current


def _rollout(observed: Observed, graph: Graph, manifest: Manifest) -> Rollout:
    rendered = {item.name: item for item in manifest.components}
    workers = [component.name for component in graph.components if component.type in names.WORKER_TYPES]
    wanted = [
        Wanted(
            component=name,
            desired=1 if rendered[name].replicas is None else rendered[name].replicas or 0,
            annotations=rendered[name].workload["metadata"].get("annotations") or {},
        )
        for name in workers
    ]
    made = [item for item in observed.own_components if item.is_worker]
    recorded = generation_on_record(observed)
    return rollout(wanted, made, manifest.generation, recorded=recorded, running=observed.running)


def _carried(graph: Graph, wanted: Mapping[str, Json], own: Mapping[str, Made]) -> dict[str, Carried]:
    """The restart ids that the components have which exist in the wanted generation."""
    live = {component.name: own.get(wanted[component.name]["metadata"]["name"]) for component in graph.components}
    return {name: Carried(made.restart, made.is_ready) for name, made in live.items() if made}


def _components(
    observed: Observed, wanted: Mapping[str, Json], own: Mapping[str, Made], found: Rollout
) -> list[_Component]:
    components = []
    for name, value in wanted.items():
        live = own.get(value["metadata"]["name"])
        spec = dict(value["spec"])
        if name in found.targets:
            spec["replicas"] = found.targets[name]
        if live and (framework := live.value["spec"].get("backendFramework")):
            # It cannot be changed; a worker that changes it is another generation.
            spec["backendFramework"] = framework
        components.append(
            _Component(
                name=name,
                value={**value, "spec": spec},
                live=live,
                older=tuple(made for made in found.old if made.component == name),
                refused="" if live else refused(observed, value),
            )
        )
    return components


def _is_applied(item: _Component) -> bool:
    """Whether it may be applied: what is being deleted is not held up, but made anew when it is gone."""
    return not item.refused and not (item.live and item.live.deleting)


def _is_early(observed: Observed, components: list[_Component]) -> bool:
    """Whether a new graph's components have yet to say something, and all of them can."""
    waits = any(item.live is None or not item.live.is_seen for item in components)
    return waits and not observed.status and not any(item.refused for item in components)


def _troubles(components: list[_Component]) -> Iterator[Trouble]:
    """What stands in the way of components: of themselves, and as they say of what is wanted now, of their objects."""
    for item in components:
        if item.refused:
            yield Trouble("OwnershipConflict", item.refused)
        elif item.live and (told := item.live.trouble) and contains(item.live.value, item.value):
            yield Trouble(told.reason, f"{item.name}: {told.message}")


def _why_not_ready(item: _Component) -> str:
    """What a component is waited for; `""` if it is as wanted and Ready."""
    live = item.live
    if live is None:
        return "is being made"
    if live.deleting:
        return "is being deleted"
    if not contains(live.value, item.value):
        return "is being updated"
    if not live.is_seen:
        return "has not been looked at yet"
    if live.is_ready:
        return ""
    return str(live.condition.get("message") or live.condition.get("reason") or "is not Available yet")


def _notes(components: list[_Component]) -> str:
    """What Ready components have to say beside that."""
    said = {item.name: item.live.condition.get("message") for item in components if item.live}
    return "; ".join(f"{name}: {message}" for name, message in said.items() if message)


def _statuses(graph: Graph, manifest: Manifest, components: list[_Component], current: str) -> Json:
    rendered = {item.name: item for item in manifest.components}
    return {
        component.name: _status(graph, rendered[component.name], item, current)
        for component, item in zip(graph.components, components, strict=True)
    }


def _status(graph: Graph, rendered: RenderedComponent, item: _Component, current: str) -> Json:
    """One component's status: pods of all its generations, and what it said of itself last."""
    component = next(found for found in graph.components if found.name == item.name)
    generations = [made for made in (item.live, *item.older) if made]
    said = item.live.status if item.live and item.live.is_seen else {}
    older = (name for made in item.older for name in made.status.get("componentNames") or ())
    fields: Json = {
        "componentKind": rendered.workload["kind"],
        "componentNames": [rendered.workload["metadata"]["name"], *older],
        "replicas": sum(made.exist for made in generations),
        "updatedReplicas": int(said.get("updatedReplicas") or 0),
        "readyReplicas": sum(int(made.status.get("readyReplicas") or 0) for made in generations),
    }
    if rendered.workload["kind"] == "Deployment":
        fields["availableReplicas"] = sum(made.available for made in generations)
    own = current if component.type in names.WORKER_TYPES else ""
    own_judgement: Json = {key: said[key] for key in ("findings", "repairs") if key in said}
    judgement = judged(rendered, () if said else rendered.findings, ())
    return {**fields, **serving(graph, component, rendered, own), **judgement, **own_judgement}


def _removed(own: Mapping[str, Made], components: list[_Component], found: Rollout) -> list[Made]:
    """What was made of components that the graph does not have any more."""
    kept = {item.value["metadata"]["name"] for item in components} | {made.name for made in found.old}
    return [made for made in own.values() if made.name not in kept and not made.deleting]


def _deletion(made: Made) -> Deletion:
    return Deletion(kind=KIND, namespace=made.value["metadata"]["namespace"], name=made.name, uid=made.uid)
