"""A scaling adapter: the replicas that an autoscaler asks of it become those of a component of its graph.

The graph's replicas are somebody else's field, so they are changed by a JSON patch that first tests that the component
still stands where it was seen. The status is what the scale subresource shows to autoscalers.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from stator.operator.conditions import timestamp
from stator.operator.plan import Event, Patch, Plan
from stator.render import names

Json = dict[str, Any]


class ObservedAdapter(msgspec.Struct, frozen=True, kw_only=True):
    """A DynamoGraphDeploymentScalingAdapter, and the DynamoGraphDeployment that it names, both v1beta1."""

    adapter: Json
    graph: Json | None = None


def reconcile_adapter(observed: ObservedAdapter, now: datetime) -> Plan:
    """Plan one pass. An adapter or a graph that is being deleted scales nothing any more."""
    adapter, graph = observed.adapter, observed.graph
    if "deletionTimestamp" in adapter["metadata"]:
        return Plan()
    reference, before = adapter["spec"]["dgdRef"], adapter.get("status") or {}
    if graph is None:
        return _lost(before, "GraphNotFound", f"there is no DynamoGraphDeployment {reference['name']}")
    if "deletionTimestamp" in graph["metadata"]:
        return Plan()
    name = reference["componentName"]
    components = graph["spec"].get("components") or []
    index = next((index for index, item in enumerate(components) if item["name"] == name), None)
    if index is None:
        return _lost(before, "ComponentNotFound", f"graph {reference['name']} has no component {name}")
    wanted, present = adapter["spec"]["replicas"], components[index].get("replicas", 1)
    status: Json = {
        "replicas": _replicas(graph, name),
        "selector": f"{names.COMPONENT}={name},{names.GRAPH_NAME}={reference['name']}",
    }
    if wanted == present:
        kept = {"lastScaleTime": before["lastScaleTime"]} if "lastScaleTime" in before else {}
        return Plan(status={**status, **kept})
    place = f"/spec/components/{index}"
    patch = Patch(
        kind="DynamoGraphDeployment",
        namespace=graph["metadata"]["namespace"],
        name=graph["metadata"]["name"],
        operations=(
            {"op": "test", "path": f"{place}/name", "value": name},
            {"op": "add", "path": f"{place}/replicas", "value": wanted},
        ),
    )
    message = f"component {name} of graph {reference['name']} is scaled from {present} to {wanted}"
    return Plan(
        patch=(patch,),
        status={**status, "lastScaleTime": timestamp(now)},
        events=(Event(type="Normal", reason="Scaled", message=message),),
    )


def _lost(before: Json, reason: str, message: str) -> Plan:
    """Nothing to scale: no pods are reported, so that an autoscaler stops acting on old numbers."""
    kept = {key: value for key, value in before.items() if key == "lastScaleTime"}
    return Plan(status={"replicas": 0, **kept}, events=(Event(type="Warning", reason=reason, message=message),))


def _replicas(graph: Json, component: str) -> int:
    components = (graph.get("status") or {}).get("components") or {}
    return int((components.get(component) or {}).get("replicas") or 0)
