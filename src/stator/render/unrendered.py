"""What a graph asks for and rendering does not make, by name: nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Iterator

from stator.model import Graph, Path
from stator.render import kv_transfer, names
from stator.render.context import Context
from stator.render.manifest import NotRendered, RenderOptions
from stator.render.multinode import Provider
from stator.render.restart import is_sequential

_ON_GROVE = "it has a meaning on the Grove path only"
_GROVE_COMPONENT_FIELDS = ("minAvailable", "topologyConstraint", "providerOverride")
_GROVE_GRAPH_FIELDS = ("priorityClassName", "topologyConstraint", "providerOverride")
_QUEUES: dict[str, str] = {"kai": names.KAI_QUEUE, "volcano": names.VOLCANO_QUEUE}
_BETWEEN_PODS = {
    "gpuMemoryService": "no memory servers beside the engines' pods are made; an engine holds its memory itself",
    "failover": "no shadow engines in pods of their own are made",
}
_CHECKPOINT = "no checkpoint is taken or restored; startupPolicy is followed where an operator says what is ready"


def of_component(context: Context) -> Iterator[NotRendered]:
    """What is left out of a component."""
    component, graph = context.component, context.graph
    for path, why in _component_paths(context):
        full = (*component.path, *path)
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
    yield from _experimental_paths(context)
    if standalone and component.other.get("scalingAdapter") is not None:
        yield ("scalingAdapter",), "an adapter scales a component of a graph; this one stands alone"
    if (component.alpha.ingress or {}).get("enabled") and component.type != "frontend":
        yield ("ingress",), "only a frontend answers from outside"


def _experimental_paths(context: Context) -> Iterator[tuple[Path, str]]:
    experimental = context.component.other.get("experimental") or {}
    for field, why in _BETWEEN_PODS.items():
        if (experimental.get(field) or {}).get("mode") == "InterPod":
            yield ("experimental", field), why
    if experimental.get("gpuMemoryService") is not None and not context.is_worker:
        yield ("experimental", "gpuMemoryService"), "only workers hold GPU memory"
    if (experimental.get("checkpoint") or {}).get("enabled"):
        yield ("experimental", "checkpoint"), _CHECKPOINT
    if context.provider == "component" and (experimental.get("grove") or {}).get("forceScalingGroup"):
        yield ("experimental", "grove", "forceScalingGroup"), _ON_GROVE


def of_graph(graph: Graph, provider: Provider, options: RenderOptions) -> Iterator[NotRendered]:
    """What is left out of a graph as a whole."""
    for path, why in _graph_paths(graph, provider, options):
        yield NotRendered(path, graph.locate(*path), why)
    if graph.kind != "DynamoComponentDeployment":
        return
    for component in graph.components:
        if component.type == "epp":
            pool = f"InferencePool/{graph.namespace}/{names.pool_name(names.parent_name(graph))}"
            yield NotRendered((pool,), graph.locate(*component.path), "the graph it belongs to makes it")


def _graph_paths(graph: Graph, provider: Provider, options: RenderOptions) -> Iterator[tuple[Path, str]]:
    if provider == "component":
        for field in _GROVE_GRAPH_FIELDS:
            if graph.other.get(field) is not None:
                yield ("spec", field), _ON_GROVE
    if is_sequential(graph) and options.restarts is None:
        yield ("spec", "restart", "strategy"), "all components are restarted at once: the order needs their status"
    for scheduler, key in _QUEUES.items():
        if key in graph.annotations and (provider, options.scheduler) != ("grove", scheduler):
            yield ("metadata", "annotations", key), f"{scheduler} does not schedule these pods"
    policy = (graph.other.get("experimental") or {}).get("kvTransferPolicy")
    if policy and not kv_transfer.policy_of(graph, provider):
        yield (*kv_transfer.PATH, "clusterTopologyName"), _ON_GROVE
