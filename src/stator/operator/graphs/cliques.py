"""The Grove pathway: the graph's PodCliqueSet, with the Services and accounts beside it.

Grove replaces pods by itself, so a new worker generation is not rolled out from here: it is put on record, and an
event says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from stator.model import Graph
from stator.operator.checkpoints import AWAITED
from stator.operator.components.repairs import in_force
from stator.operator.components.status import Trouble
from stator.operator.graphs.beside import beside, leftovers, refused
from stator.operator.graphs.contained import contains
from stator.operator.graphs.grove import Part, Unready, parts_of, scaling, settled_set, unready
from stator.operator.graphs.observed import Json, Observed
from stator.operator.graphs.restart import Carried, restart
from stator.operator.graphs.status import Reason, Verdict, events_of, status_of, verdict
from stator.operator.lacking import not_installed
from stator.operator.options import OperatorOptions
from stator.operator.ownership import owned
from stator.operator.plan import Event, Plan, keys_of
from stator.operator.serving import judged, serving
from stator.render import Manifest, RenderedComponent, names, render_graph
from stator.render.workloads.grove import SUFFIXES


def plan_cliques(
    observed: Observed, graph: Graph, manifest: Manifest, options: OperatorOptions, now: datetime
) -> tuple[Plan, str]:
    """The plan of one pass without the graph's own records, and the worker generation to put on record."""
    *others, rendered_set = manifest.objects
    parts = parts_of(rendered_set, [component.name for component in graph.components], observed.cliques)
    unready_parts = {name: why for name, part in parts.items() if (why := unready(part, observed.clique_set))}
    carried = _carried(observed, manifest, unready_parts)
    restarted = restart(graph, carried, observed.status.get("restart") or {}, rolling=False)
    rendered = msgspec.structs.replace(options.render, restarts=restarted.progress)
    rendered_set = render_graph(graph, rendered).objects[-1]
    wanted = settled_set(observed, rendered_set, restarted.ids)
    sorted_out = beside(observed, others, options)
    trouble = _trouble(observed, wanted, options)
    if observed.clique_set is None or not contains(observed.clique_set.live, wanted):
        waits = Unready("updating", "its PodCliqueSet is being updated")
        unready_parts = {name: unready_parts.get(name, waits) for name in parts}
    held = Unready("some_resources_are_not_ready", AWAITED)
    unready_parts |= dict.fromkeys(options.render.waiting_for_checkpoint, held)
    status = status_of(
        observed,
        _verdict(unready_parts, sorted_out.missing),
        (*sorted_out.troubles, *((trouble,) if trouble else ())),
        components={
            item.name: _status(graph, item, parts[item.name], wanted, manifest.generation)
            for item in manifest.components
        },
        rolling_update=observed.status.get("rollingUpdate") or {},
        restart=restarted.status,
        now=now,
    )
    plan = Plan(
        apply=(*sorted_out.apply, *(() if trouble else (owned(wanted, observed.graph),))),
        keys=keys_of(graph.namespace, manifest, options.render),
        patch=() if trouble else scaling(parts.values(), graph.namespace),
        delete=leftovers(observed, others, ready=status["state"] == "successful"),
        status=status,
        events=(*events_of(observed, status), *_rollout_events(observed.status, status)),
        feeds_back=bool(restarted.status),
    )
    return plan, manifest.generation


def _carried(observed: Observed, manifest: Manifest, unready_parts: Mapping[str, Unready]) -> dict[str, Carried]:
    """The restart ids in the cliques that exist, by component."""
    if observed.clique_set is None:
        return {}
    applied = ((observed.clique_set.applied.get("spec") or {}).get("template") or {}).get("cliques") or ()
    ids = {item["name"]: (item.get("annotations") or {}).get(names.RESTART, "") for item in applied}
    return {
        component.name: Carried(ids[clique], component.name not in unready_parts)
        for component in manifest.components
        if (clique := _clique(component, component.pods[0].role)) in ids
    }


def _trouble(observed: Observed, wanted: Json, options: OperatorOptions) -> Trouble | None:
    if missing := not_installed(wanted, options):
        return missing
    why = refused(observed, wanted)
    return Trouble("OwnershipConflict", why) if why else None


def _verdict(unready_parts: Mapping[str, Unready], missing: tuple[str, ...]) -> Verdict:
    waiting = {name: why.message for name, why in unready_parts.items()}
    reasons: set[Reason] = {why.reason for why in unready_parts.values()}
    if missing:
        waiting["graph"] = "; ".join(missing)
        reasons.add("some_resources_are_not_ready")
    return verdict(waiting, reason=reasons.pop() if len(reasons) == 1 else "mixed_not_ready_reasons")


def _status(graph: Graph, rendered: RenderedComponent, part: Part, wanted: Json, generation: str) -> Json:
    component = next(found for found in graph.components if found.name == rendered.name)
    cliques = {item["name"]: item for item in wanted["spec"]["template"]["cliques"]}
    templates: dict[str, Json] = {
        pod.role: {"spec": cliques[_clique(rendered, pod.role)]["spec"]["podSpec"]} for pod in rendered.pods
    }
    return {
        "componentKind": part.kind,
        "componentNames": [part.name],
        **part.counts(),
        **serving(graph, component, rendered, generation),
        **judged(rendered, rendered.findings, in_force(rendered, templates)),
    }


def _clique(component: RenderedComponent, role: str) -> str:
    return f"{component.name.lower()}{SUFFIXES[role]}"


def _rollout_events(before: Json, after: Json) -> tuple[Event, ...]:
    """A worker that registers in another Dynamo namespace than before is of a new generation."""
    known = {name: item.get("runtimeNamespace") for name, item in (before.get("components") or {}).items()}
    changed = [
        name
        for name, item in after["components"].items()
        if known.get(name) and known[name] != item["runtimeNamespace"]
    ]
    if not changed:
        return ()
    message = f"Grove replaces the workers {', '.join(changed)} by a new generation in its own way"
    return (Event(type="Warning", reason="RollingUpdateNotSupported", message=message),)
