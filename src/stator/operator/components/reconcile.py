"""One component: DynamoComponentDeployment and what exists of it -> what to apply, to delete, and to say."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from stator.errors import InvalidInputError
from stator.model import Graph
from stator.operator.checkpoints import AWAITED, awaited
from stator.operator.components.conflicts import is_shared, leftovers
from stator.operator.components.frozen import Settled, settled
from stator.operator.components.observed import WORKLOADS, Child, Observed
from stator.operator.components.readiness import Readiness, desired, readiness
from stator.operator.components.record import RECORD
from stator.operator.components.repairs import config_maps, in_force, is_repair
from stator.operator.components.status import Trouble, events_of, failed_status, status_of
from stator.operator.lacking import not_installed, without_class
from stator.operator.options import OperatorOptions
from stator.operator.ownership import owned, refusal
from stator.operator.plan import Deletion, Json, Plan, keys_of
from stator.operator.problems import in_one_line
from stator.operator.rendered import load, render
from stator.operator.serving import judged, serving
from stator.render import Manifest, RenderedComponent, RenderOptions

# What nobody tells of: a kind that is installed, a name that somebody gives up.
_LOOK_AGAIN = 60.0


class _Objects(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of a component, sorted out: what may be applied, its workload, and what stands in the way."""

    apply: tuple[Json, ...]
    workload: Settled
    troubles: tuple[Trouble, ...]


def reconcile(observed: Observed, options: OperatorOptions, now: datetime) -> Plan:
    """Plan one pass. A component that is being deleted is left to the garbage collector: nothing is made anew."""
    if "deletionTimestamp" in observed.component["metadata"]:
        return Plan()
    try:
        graph = load(observed.component)
        options = msgspec.structs.replace(options, render=_render_options(observed, graph, options.render))
        manifest = render(graph, options.render)
    except InvalidInputError as error:
        return failed(observed, Trouble("InvalidSpec", in_one_line(error)), now)
    [rendered] = manifest.components
    live = observed.child(rendered.workload["kind"], rendered.workload["metadata"]["name"])
    mine = live if live and live.controller == observed.uid else None
    objects = _objects(observed, manifest, mine, options)
    ready = readiness(mine) if mine else Readiness(ready=False)
    status = status_of(
        observed,
        workload=objects.workload.workload,
        readiness=ready,
        waiting=AWAITED if options.render.waiting_for_checkpoint else _waiting(observed, objects, mine),
        fields=_fields(graph, manifest, rendered, objects.workload, options),
        troubles=objects.troubles,
        note=_note(objects.workload, mine, graph.components[0].replicas),
        now=now,
    )
    return Plan(
        apply=objects.apply,
        keys=keys_of(graph.namespace, manifest, options.render),
        delete=_deletions(observed, objects, settled_down=ready.ready),
        status=status,
        events=events_of(observed, status),
        requeue_after=_LOOK_AGAIN if objects.troubles else None,
    )


def failed(observed: Observed, trouble: Trouble, now: datetime) -> Plan:
    """The plan of a pass that could not do its work: it says so, and touches nothing."""
    if "deletionTimestamp" in observed.component["metadata"]:
        return Plan()
    status = failed_status(observed, trouble, now)
    return Plan(status=status, events=events_of(observed, status))


def _render_options(observed: Observed, graph: Graph, options: RenderOptions) -> RenderOptions:
    """The options for this component: its graph says whether it waits for a checkpoint, unless there is no graph."""
    starts = _is_of_graph(observed) or any(child.kind in WORKLOADS and desired(child) for child in observed.owned)
    held = awaited(graph, {component.name for component in graph.components} if starts else ())
    return msgspec.structs.replace(options, pull_secrets=observed.pull_secrets, waiting_for_checkpoint=held)


def _objects(observed: Observed, manifest: Manifest, live: Child | None, options: OperatorOptions) -> _Objects:
    [rendered] = manifest.components
    workload = settled(observed, _with_replicas_left(rendered.workload, live), live)
    templates_read = config_maps(workload.templates)
    troubles: list[Trouble] = []
    apply: list[Json] = []
    for item in _wanted(observed, manifest, rendered):
        name = item["metadata"]["name"]
        if missing := not_installed(item, options):
            troubles.append(missing)
        elif is_shared(item):
            # Whoever is first makes it; the others find it.
            apply += [] if observed.child(item["kind"], name) else [item]
        elif item["kind"] == "ConfigMap" and is_repair(name) and name not in templates_read:
            # Of a repair that the pods that run do without.
            continue
        elif why := refusal(observed.child(item["kind"], name), observed.uid):
            troubles.append(Trouble("OwnershipConflict", why))
        else:
            apply.append(owned(workload.workload if item is rendered.workload else item, observed.component))
            if unserved := without_class(item, observed.child):
                troubles.append(unserved)
    return _Objects(apply=tuple(apply), workload=workload, troubles=tuple(troubles))


def _wanted(observed: Observed, manifest: Manifest, rendered: RenderedComponent) -> Sequence[Json]:
    """The component's own objects; what a graph shares is the graph's, unless there is no graph."""
    return rendered.objects if _is_of_graph(observed) else manifest.objects


def _is_of_graph(observed: Observed) -> bool:
    references = observed.component["metadata"].get("ownerReferences") or ()
    return any(item.get("controller") and item.get("kind") == "DynamoGraphDeployment" for item in references)


def _with_replicas_left(workload: Json, live: Child | None) -> Json:
    """The workload without a replica count, if somebody else owns the one it has."""
    if live is None or not live.replicas_manager:
        return workload
    return {**workload, "spec": {key: value for key, value in workload["spec"].items() if key != "replicas"}}


def _waiting(observed: Observed, objects: _Objects, live: Child | None) -> str:
    """What has been planned and is not to be seen yet: until it is, the pods that are there prove nothing."""
    for item in objects.apply:
        if observed.child(item["kind"], item["metadata"]["name"]) is None:
            return f"{item['kind']} {item['metadata']['name']} is being made"
    workload = objects.workload.workload
    if live is None:
        return "" if objects.troubles else "its workload is being made"
    if live.record != workload["metadata"]["annotations"][RECORD]:
        return "its pod template is being updated"
    replicas = workload["spec"].get("replicas")
    return "" if replicas in (None, desired(live)) else f"is being scaled to {replicas}"


def _fields(
    graph: Graph, manifest: Manifest, rendered: RenderedComponent, workload: Settled, options: OperatorOptions
) -> Json:
    repairs = in_force(rendered, workload.templates)
    findings = rendered.findings
    if set(rendered.repairs) - set(repairs):
        # The pods that run do without a repair, so the finding is what it is without.
        bare = render(graph, msgspec.structs.replace(options.render, repairs=False)).findings
        findings = tuple(item for item in findings if item.rule in repairs or not item.repair)
        findings += tuple(item for item in bare if item.rule in set(rendered.repairs) - set(repairs))
    return {
        **serving(graph, graph.components[0], rendered, manifest.generation),
        **judged(rendered, findings, repairs),
    }


def _note(workload: Settled, live: Child | None, replicas: int | None) -> str:
    notes = []
    if workload.frozen:
        notes.append("its pods serve and keep the template of an earlier operator or configuration")
    if live and live.replicas_manager and replicas not in (None, desired(live)):
        notes.append(f"its replicas are left to {live.replicas_manager}: {desired(live)} instead of {replicas}")
    return "; ".join(notes)


def _deletions(observed: Observed, objects: _Objects, *, settled_down: bool) -> tuple[Deletion, ...]:
    """What the component once had and does not want any more.

    A repair's ConfigMap goes when no pod can read it any more, and another workload when its successor is Ready.
    """
    wanted = {(item["kind"], item["metadata"]["name"]) for item in objects.apply}
    workload = objects.workload.workload
    wanted.add((workload["kind"], workload["metadata"]["name"]))
    wanted |= {("ConfigMap", name) for name in config_maps(objects.workload.templates)}
    patient = ("ConfigMap", *WORKLOADS)
    return tuple(
        Deletion(kind=child.kind, namespace=child.namespace, name=child.name, uid=child.uid)
        for child in leftovers(observed, wanted)
        if settled_down or child.kind not in patient
    )
