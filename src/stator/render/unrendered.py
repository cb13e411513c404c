"""What a graph asks for and rendering does not make.

Refused where leaving it out would make something else run, otherwise named in the manifest. Nothing is dropped
silently.
"""

from __future__ import annotations

from collections.abc import Iterator

from stator.errors import Problem
from stator.model import Graph
from stator.render import names
from stator.render.context import Context
from stator.render.manifest import NotRendered
from stator.render.multinode import Provider
from stator.versions import Version

_DEPLOYMENT_CONFIG = "DYN_DEPLOYMENT_CONFIG"
_RUNTIME_CONTAINER = "runtime"
_RUNTIME_CONTAINER_SINCE = Version(1, 6, 0)
_ON_GROVE = "it has a meaning on the Grove path only"
_RENDERED = frozenset({"multinode", "roles", "compilationCache"})
_GROVE = frozenset({"minAvailable", "topologyConstraint", "providerOverride", "priorityClassName"})

_COMPONENT_FIELDS = {
    "frontendSidecar": "the named container stays as written, without the frontend's defaults",
    "scalingAdapter": "no DynamoGraphDeploymentScalingAdapter is made; the replicas stay as written",
    "modelRef": "no model Service and no base-model labels are made",
    "eppConfig": "the older endpoint picker's arguments and its configuration volume are not added",
    "minAvailable": _ON_GROVE,
    "topologyConstraint": _ON_GROVE,
    "providerOverride": _ON_GROVE,
}
_GRAPH_FIELDS = {
    "priorityClassName": _ON_GROVE,
    "topologyConstraint": _ON_GROVE,
    "providerOverride": _ON_GROVE,
    "restart": "no restart annotation is put on the pods",
    "pvcs": "the claims are not made; mounts that name them refer to them",
}
_OTHERWISE = "it is not rendered yet"


def refused(context: Context) -> Iterator[Problem]:
    """What would run as something else if it were left out."""
    component, graph, options = context.component, context.graph, context.options
    for index, container in enumerate(component.pod_spec.get("initContainers") or ()):
        if (
            options.operator >= _RUNTIME_CONTAINER_SINCE
            and component.type in names.WORKER_TYPES
            and container.get("name") == _RUNTIME_CONTAINER
            and container.get("restartPolicy") == "Always"
        ):
            yield Problem(
                what=f'component {component.name}: an init container called "{_RUNTIME_CONTAINER}" that always '
                "restarts is not rendered yet",
                position=graph.locate(*component.path, "podTemplate", "spec", "initContainers", index),
                why="it makes the main container a plain engine, with other probes and another environment",
                remedy="run the Dynamo worker in the main container",
            )


def of_component(context: Context) -> Iterator[NotRendered]:
    """A component's fields that are left out."""
    component, graph = context.component, context.graph
    for field in sorted(component.other):
        if component.other[field] is None or field in _RENDERED or (context.provider == "grove" and field in _GROVE):
            continue
        path = (*component.path, field)
        yield NotRendered(path, graph.locate(*path), _COMPONENT_FIELDS.get(field, _OTHERWISE))
    if component.alpha.ingress:
        path = (*component.path, "ingress")
        yield NotRendered(path, graph.locate(*path), "no Ingress or VirtualService is made")
    for index, entry in enumerate(component.main.get("env") or ()):
        if entry.get("name") == _DEPLOYMENT_CONFIG:
            path = (*component.main_path, "env", index)
            why = "its port, workers and resources are not read; the variable itself is set"
            yield NotRendered(path, graph.locate(*path), why)


def of_graph(graph: Graph, provider: Provider) -> Iterator[NotRendered]:
    """A graph's own fields that are left out."""
    for field in sorted(graph.other):
        if graph.other[field] is not None and not (provider == "grove" and field in _GROVE):
            path = ("spec", field)
            yield NotRendered(path, graph.locate(*path), _GRAPH_FIELDS.get(field, _OTHERWISE))
    for component in graph.components:
        if component.type == "epp":
            pool = f"InferencePool/{graph.namespace}/{names.parent_name(graph)}-pool"
            yield NotRendered((pool,), graph.locate(*component.path), "the pool of an endpoint picker is not made yet")
