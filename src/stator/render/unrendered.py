"""What a graph asks for and rendering does not make, by name: nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Iterator

from stator.model import Graph, Path
from stator.render import kv_transfer, names
from stator.render.context import Context
from stator.render.manifest import NotRendered
from stator.render.multinode import Provider

_DEPLOYMENT_CONFIG = "DYN_DEPLOYMENT_CONFIG"
_ON_GROVE = "it has a meaning on the Grove path only"
_GROVE_COMPONENT_FIELDS = ("minAvailable", "topologyConstraint", "providerOverride")
_GROVE_GRAPH_FIELDS = ("priorityClassName", "topologyConstraint", "providerOverride")
_EXPERIMENTAL = {
    "gpuMemoryService": "the device claim and the memory server are not made; the engine holds its memory itself",
    "failover": "no shadow engine is made",
    "checkpoint": "no checkpoint is taken or restored",
}


def of_component(context: Context) -> Iterator[NotRendered]:
    """What is left out of a component."""
    component, graph = context.component, context.graph
    for path, why in _component_paths(context):
        full = (*component.path, *path)
        yield NotRendered(full, graph.locate(*full), why)
    for index, entry in enumerate(component.main.get("env") or ()):
        if entry.get("name") == _DEPLOYMENT_CONFIG:
            full = (*component.main_path, "env", index)
            why = "its port, workers and resources are not read; the variable itself is set"
            yield NotRendered(full, graph.locate(*full), why)


def _component_paths(context: Context) -> Iterator[tuple[Path, str]]:
    component = context.component
    standalone = context.graph.kind == "DynamoComponentDeployment"
    if component.type and component.type not in names.TYPES:
        yield ("type",), f'"{component.type}" is no type of the API: its container gets no ports, probes or command'
    if context.provider == "component":
        for field in _GROVE_COMPONENT_FIELDS:
            if component.other.get(field) is not None:
                yield (field,), _ON_GROVE
    experimental = component.other.get("experimental") or {}
    for field, why in _EXPERIMENTAL.items():
        feature = experimental.get(field)
        if feature is not None and feature.get("enabled", True):
            yield ("experimental", field), why
    if context.provider == "component" and (experimental.get("grove") or {}).get("forceScalingGroup"):
        yield ("experimental", "grove", "forceScalingGroup"), _ON_GROVE
    if standalone and component.other.get("scalingAdapter") is not None:
        yield ("scalingAdapter",), "an adapter scales a component of a graph; this one stands alone"
    if (component.alpha.ingress or {}).get("enabled") and component.type != "frontend":
        yield ("ingress",), "only a frontend answers from outside"


def of_graph(graph: Graph, provider: Provider) -> Iterator[NotRendered]:
    """What is left out of a graph as a whole."""
    for path, why in _graph_paths(graph, provider):
        yield NotRendered(path, graph.locate(*path), why)
    if graph.kind != "DynamoComponentDeployment":
        return
    for component in graph.components:
        if component.type == "epp":
            pool = f"InferencePool/{graph.namespace}/{names.pool_name(names.parent_name(graph))}"
            yield NotRendered((pool,), graph.locate(*component.path), "the graph it belongs to makes it")


def _graph_paths(graph: Graph, provider: Provider) -> Iterator[tuple[Path, str]]:
    if provider == "component":
        for field in _GROVE_GRAPH_FIELDS:
            if graph.other.get(field) is not None:
                yield ("spec", field), _ON_GROVE
    restart = graph.other.get("restart") or {}
    if restart and (restart.get("strategy") or {}).get("type") != "Parallel":
        yield ("spec", "restart", "strategy"), "all components are restarted at once: the order needs their status"
    policy = (graph.other.get("experimental") or {}).get("kvTransferPolicy")
    if policy and not kv_transfer.policy_of(graph):
        yield kv_transfer.PATH, "which label of a pod holds its place in a named topology is known in the cluster only"
