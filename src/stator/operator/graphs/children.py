"""A graph's components as DynamoComponentDeployments: what people said of each, with what the graph says of all.

A component on its own renders to the very objects that it has in its graph. So it carries all that the graph gives
it: the merged labels, annotations and environment in its pod template, the names of graph, Dynamo namespace and
worker generation in its labels, and in annotations what a component's spec cannot say.

It holds intent only, nothing of this operator's making: pods that serve are replaced when the intent changes
(`stator.operator.components.record`), so a change of what stands here replaces the pods of every graph once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stator.model import MAIN, RUNTIME_CONTAINER, Component, Graph
from stator.model.preserved import ANNOTATIONS, TRANSFER_POLICY
from stator.render import Manifest, RenderedComponent, names
from stator.render.backends.detection import NONE
from stator.render.context import copied
from stator.render.generation import authored_env
from stator.render.kv_transfer import policy_of
from stator.render.metadata import authored_labels, pod_annotations

Json = dict[str, Any]

KIND = "DynamoComponentDeployment"
API_VERSION = "nvidia.com/v1beta1"

# What belongs to the graph (adapters), or to Grove, which makes no components.
_NOT_OF_COMPONENTS = frozenset({"scalingAdapter", "minAvailable", "topologyConstraint", "providerOverride"})
# Metadata annotations of the graph that are looked for on the component's own.
_CARRIED = (names.ORIGIN_VERSION, names.DISCOVERY_BACKEND, names.DISCOVERY_MODE)
# Made beside the components by their graph: a component of its own has no graph to pick pods from, or to scale.
_OF_GRAPHS = frozenset({"InferencePool", "DynamoGraphDeploymentScalingAdapter"})


def components_of(graph: Graph, manifest: Manifest, restarts: Mapping[str, str]) -> dict[str, Json]:
    """The DynamoComponentDeployments of a graph on the component pathway, by component name and in its order.

    `manifest` is the graph rendered; `restarts` are the restart ids by component (`stator.render.restart`).
    """
    framework = _framework(graph, manifest)
    by_name = {rendered.name: rendered for rendered in manifest.components}
    return {
        component.name: _component(graph, component, by_name[component.name], manifest.generation, framework, restarts)
        for component in graph.components
    }


def shared_objects(manifest: Manifest) -> tuple[Json, ...]:
    """The rendered objects that the components do not make themselves, in apply order."""
    own = [item for component in manifest.components for item in component.objects if not _is_of_graph(item)]
    return tuple(item for item in manifest.objects if not any(item is one for one in own))


def component_objects(rendered: RenderedComponent) -> tuple[Json, ...]:
    """The objects of a component that it makes when it stands alone, in apply order."""
    return tuple(item for item in rendered.objects if not _is_of_graph(item))


def _is_of_graph(item: Json) -> bool:
    is_picker_config = item["kind"] == "ConfigMap" and names.PICKER_CONFIG_KEY in item.get("data", {})
    return item["kind"] in _OF_GRAPHS or is_picker_config


def _framework(graph: Graph, manifest: Manifest) -> str:
    """The graph's framework: declared, else the one that its workers run."""
    shown: Iterable[str] = (item.backend for item in manifest.components if item.backend != NONE)
    return graph.backend_framework or next(iter(shown), "")


def _component(
    graph: Graph,
    component: Component,
    rendered: RenderedComponent,
    generation: str,
    framework: str,
    restarts: Mapping[str, str],
) -> Json:
    own = generation if component.type in names.WORKER_TYPES else ""
    metadata: Json = {
        "name": names.workload_name(graph, component, own),
        "namespace": graph.namespace,
        "labels": _labels(graph, component, own),
    }
    if annotations := _annotations(graph, component):
        metadata["annotations"] = annotations
    fields = {
        "name": component.name,
        "type": component.type or None,
        "backendFramework": framework or None,
        "runtimeVersionOverride": component.runtime_version_override,
        "globalDynamoNamespace": component.global_dynamo_namespace or None,
        "sharedMemorySize": component.shared_memory_size,
        "replicas": rendered.replicas,
    }
    spec: Json = {key: value for key, value in fields.items() if value is not None}
    spec |= {key: copied(value) for key, value in component.other.items() if key not in _NOT_OF_COMPONENTS}
    restart = restarts.get(component.name, "")
    if roles := _with_own_templates(component):
        spec["roles"] = [{**role, "podTemplate": _template(graph, component, role, restart)} for role in roles]
    else:
        spec["podTemplate"] = _template(graph, component, {"podTemplate": component.pod_template}, restart)
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def _with_own_templates(component: Component) -> list[Json]:
    roles = [copied(role) for role in component.other.get("roles") or ()]
    return roles if any(role.get("podTemplate") for role in roles) else []


def _labels(graph: Graph, component: Component, generation: str) -> dict[str, str]:
    labels = dict((component.pod_template.get("metadata") or {}).get("labels") or {})
    labels |= {
        names.COMPONENT: component.name,
        names.DYNAMO_NAMESPACE: names.dynamo_namespace(graph, component),
        names.GRAPH_NAME: graph.name,
    }
    if generation:
        labels[names.WORKER_HASH] = generation
    if component.type in names.WORKER_TYPES and any(other.type == "epp" for other in graph.components):
        labels[names.COMPONENT_CLASS] = "worker"
    return labels


def _annotations(graph: Graph, component: Component) -> dict[str, str]:
    annotations = {key: graph.annotations[key] for key in _CARRIED if key in graph.annotations}
    alpha = component.alpha
    kept: Json = {"subComponentType": alpha.sub_component_type} if alpha.sub_component_type else {}
    kept |= {"ingress": copied(alpha.ingress)} if alpha.ingress else {}
    if kept:
        annotations[ANNOTATIONS[KIND]] = _text({"services": {component.name: kept}})
    policy = policy_of(graph, "component")
    if policy and component.type in names.WORKER_TYPES:
        annotations[TRANSFER_POLICY] = _text(dict(policy))
    return annotations


def _template(graph: Graph, component: Component, role: Mapping[str, Any], restart: str) -> Json:
    """A pod template with all that the graph, a v1alpha1 service and a restart add to it."""
    template: Json = copied(role["podTemplate"])
    own = msgspec.structs.replace(component, pod_template=role["podTemplate"])
    metadata = {key: value for key, value in (template.get("metadata") or {}).items() if value}
    for field, merged in (("labels", authored_labels(graph, own)), ("annotations", pod_annotations(graph, own))):
        if merged:
            metadata[field] = dict(merged)
    if restart:
        metadata["annotations"] = {**metadata.get("annotations", {}), names.RESTART: restart}
    if metadata:
        template["metadata"] = metadata
    if graph.env:
        _put_env(graph, template)
    return template


def _put_env(graph: Graph, template: Json) -> None:
    """Put the graph's variables before the component's own, where the graph speaks to a container."""
    spec = template.get("spec") or {}
    for field, spoken_to in (("containers", MAIN), ("initContainers", RUNTIME_CONTAINER)):
        for container in spec.get(field) or ():
            if container.get("name") == spoken_to:
                container["env"] = authored_env(graph, container)


def _text(value: Json) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()
