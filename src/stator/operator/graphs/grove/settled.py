"""The PodCliqueSet to apply over one that exists.

Grove refuses cliques in another order, and takes a count in the set for the cliques it is yet to make: those that
exist keep order and counts there, and are scaled where they are. Pods that serve are not replaced because the
operator changed (see `stator.operator.components.frozen`, which does the same for components).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stator.model.preserved import ANNOTATIONS
from stator.operator.components.record import RECORD, Record, record, recorded
from stator.operator.graphs.grove.cliques import Part
from stator.operator.graphs.observed import CliqueSet, Json, Observed
from stator.operator.plan import Patch

# Of a graph's components: what does not reach their pods.
_NOT_OF_PODS = frozenset({"replicas", "minAvailable", "scalingAdapter"})


def settled_set(observed: Observed, rendered: Json, restarts: Mapping[str, str]) -> Json:
    """The rendered set with what has to stay of the live one, and the record of what its pods were rendered from.

    `restarts` are the restart ids by component: they are asked for, like the spec.
    """
    now = record(_intent(observed.graph, restarts), _templates(rendered))
    found = observed.clique_set
    if found is None:
        return _with_record(rendered, now)
    kept = _ordered(rendered, found.applied)
    annotations = found.live["metadata"].get("annotations") or {}
    before = recorded(annotations.get(RECORD, ""))
    if before.rendering == now.rendering or before.intent != now.intent or not _serves(found):
        return _with_record(kept, now)
    return _with_record(_with_templates(kept, _templates(found.applied)), Record(now.intent, before.rendering))


def scaling(parts: Iterable[Part], namespace: str) -> tuple[Patch, ...]:
    """Patches for the cliques and groups that exist with another count than they are to have."""
    return tuple(
        Patch(
            kind=part.kind,
            namespace=namespace,
            name=part.name,
            operations=(
                {"op": "test", "path": "/metadata/uid", "value": part.live["metadata"]["uid"]},
                {"op": "add", "path": "/spec/replicas", "value": part.desired},
            ),
        )
        for part in parts
        if part.live is not None and part.live["spec"].get("replicas") != part.desired
    )


def _ordered(rendered: Json, applied: Json) -> Json:
    template, before = rendered["spec"]["template"], (applied.get("spec") or {}).get("template") or {}
    made = {**template, "cliques": _kept(template["cliques"], before.get("cliques") or (), ("spec", "replicas"))}
    if groups := template.get("podCliqueScalingGroups"):
        made["podCliqueScalingGroups"] = _kept(groups, before.get("podCliqueScalingGroups") or (), ("replicas",))
    return {**rendered, "spec": {**rendered["spec"], "template": made}}


def _kept(wanted: Iterable[Json], before: Iterable[Json], count: tuple[str, ...]) -> list[Json]:
    """The wanted items in the order they are in, new ones last, each with the count it has."""
    new = {item["name"]: item for item in wanted}
    known = {item["name"]: item for item in before if item["name"] in new}
    return [
        *(_with_count(new[name], item, count) for name, item in known.items()),
        *(item for name, item in new.items() if name not in known),
    ]


def _with_count(item: Json, before: Any, path: tuple[str, ...]) -> Json:
    step, *rest = path
    old = before.get(step)
    if rest:
        return {**item, step: _with_count(item[step], old or {}, tuple(rest))}
    return item if old is None else {**item, step: old}


def _intent(graph: Json, restarts: Mapping[str, str]) -> Json:
    """The graph without what does not reach pods, in the shape that a record is made of."""
    components = [
        {key: value for key, value in component.items() if key not in _NOT_OF_PODS}
        for component in graph["spec"]["components"]
    ]
    annotations = dict(graph["metadata"].get("annotations") or {})
    if kept := annotations.pop(ANNOTATIONS["DynamoGraphDeployment"], ""):
        annotations[ANNOTATIONS["DynamoComponentDeployment"]] = kept
    spec = {**graph["spec"], "components": components, "restart": dict(restarts)}
    return {"metadata": {"annotations": annotations}, "spec": spec}


def _templates(clique_set: Json) -> dict[str, Json]:
    """What Grove makes pods of, by clique."""
    return {
        item["name"]: {
            "labels": item.get("labels") or {},
            "annotations": item.get("annotations") or {},
            "podSpec": item["spec"]["podSpec"],
        }
        for item in clique_set["spec"]["template"]["cliques"]
    }


def _with_templates(clique_set: Json, templates: Mapping[str, Json]) -> Json:
    template = clique_set["spec"]["template"]
    cliques = [_with_template(item, templates.get(item["name"])) for item in template["cliques"]]
    return {**clique_set, "spec": {**clique_set["spec"], "template": {**template, "cliques": cliques}}}


def _with_template(clique: Json, template: Json | None) -> Json:
    if template is None:
        return clique
    made = {key: value for key, value in clique.items() if key not in {"labels", "annotations"}}
    made |= {key: template[key] for key in ("labels", "annotations") if template[key]}
    return {**made, "spec": {**clique["spec"], "podSpec": template["podSpec"]}}


def _serves(found: CliqueSet) -> bool:
    """Whether the replica of the set is available, with the newest template."""
    status = found.live.get("status") or {}
    seen = int(status.get("observedGeneration") or 0) >= int(found.live["metadata"].get("generation", 0))
    return seen and int(status.get("availableReplicas") or 0) > 0


def _with_record(clique_set: Json, made: Record) -> Json:
    metadata = clique_set["metadata"]
    annotations = {**(metadata.get("annotations") or {}), RECORD: str(made)}
    return {**clique_set, "metadata": {**metadata, "annotations": annotations}}
