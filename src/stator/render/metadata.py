"""Labels and annotations: what people give, what is handed down, and what the system forces.

Precedence, lowest first: the graph's `spec.annotations`/`spec.labels`, the propagated metadata annotations of the
graph, a v1alpha1 service's own, the component's podTemplate. Upstream releases disagree on the first two; the
order its Grove path always had is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.model import Component, Graph
from stator.render import names
from stator.render.context import Context, copied
from stator.render.kv_transfer import topology_annotations
from stator.render.multinode import Provider
from stator.render.objects.base_model import model_annotations, model_labels
from stator.render.restart import restart_ids

# Annotations of the graph object itself that reach its pods.
PROPAGATED = (
    names.ENABLE_METRICS,
    names.DISCOVERY_BACKEND,
    names.DISCOVERY_MODE,
    names.VLLM_EXECUTOR,
)
# Written by operators on the graph, of no meaning on a pod: a new operator must not roll the pods of an old graph.
_WITHHELD = (
    names.ORIGIN_VERSION,
    "nvidia.com/topology-label-key",
    "nvidia.com/topology-cluster-topology-name",
)
_ISTIO_INJECT = "sidecar.istio.io/inject"
# What a DynamoComponentDeployment's own labels say about it is final.
_OWN = (names.COMPONENT, names.DYNAMO_NAMESPACE, names.GRAPH_NAME, names.WORKER_HASH, names.COMPONENT_CLASS)


def pod_annotations(graph: Graph, component: Component) -> dict[str, str]:
    """The annotations of a component's workload and pods."""
    own = _template_metadata(component, "annotations")
    merged = {
        **graph.spec_annotations,
        **{key: graph.annotations[key] for key in PROPAGATED if key in graph.annotations},
        **component.alpha.annotations,
        **own,
    }
    if component.type == "epp" and _ISTIO_INJECT not in own:
        # The picker is called by the gateway itself; a mesh proxy in front of it breaks that stream.
        merged[_ISTIO_INJECT] = "false"
    for key in _WITHHELD:
        merged.pop(key, None)
    return merged


def annotations_of(graph: Graph, component: Component, provider: Provider) -> dict[str, str]:
    """All annotations of the workload and the pods: the authored ones, and what features put there."""
    return {
        **pod_annotations(graph, component),
        **model_annotations(component),
        **(topology_annotations(graph, provider) if component.type in names.WORKER_TYPES else {}),
    }


def workload_annotations(context: Context) -> dict[str, str]:
    """The annotations of the workload: its pods', without what is only there to replace them."""
    return {key: value for key, value in context.annotations.items() if key != names.RESTART}


def authored_labels(graph: Graph, component: Component) -> dict[str, str]:
    """The labels people gave a component, before anything is forced."""
    return {**graph.spec_labels, **component.alpha.labels, **_template_metadata(component, "labels")}


def workload_labels(context: Context) -> dict[str, str]:
    """The labels of the Deployment and the Service."""
    graph, component = context.graph, context.component
    standalone = graph.kind == "DynamoComponentDeployment"
    labels = {
        **(graph.labels if standalone else {}),
        **authored_labels(graph, component),
        **model_labels(component),
        names.COMPONENT: component.name,
        names.DYNAMO_NAMESPACE: (standalone and component.alpha.dynamo_namespace) or context.dynamo_namespace,
        names.GRAPH_NAME: context.parent,
    }
    if component.alpha.sub_component_type:
        labels[names.SUB_COMPONENT_TYPE] = component.alpha.sub_component_type
    if context.generation:
        labels[names.WORKER_HASH] = context.generation
    if context.is_worker and any(other.type == "epp" for other in graph.components):
        labels[names.COMPONENT_CLASS] = "worker"
    if standalone:
        labels |= {key: graph.labels[key] for key in _OWN if key in graph.labels}
    return labels


def pod_labels(context: Context, workload: Mapping[str, str]) -> dict[str, str]:
    """The labels of the pods: the workload's, and what Services, discovery and metrics select by."""
    labels = {
        **workload,
        names.COMPONENT_TYPE: context.type,
        names.SELECTOR: context.workload,
        **discovery_labels(context),
    }
    if context.annotations.get(names.ENABLE_METRICS) != "false":
        labels[names.METRICS_ENABLED] = "true"
    return labels


def pod_metadata(context: Context, labels: Mapping[str, str]) -> dict[str, Any]:
    """The pod template's metadata, with `labels` as its labels."""
    metadata: dict[str, Any] = copied(context.component.pod_template.get("metadata") or {})
    metadata.pop("annotations", None)
    metadata["labels"] = dict(labels)
    annotations = dict(context.annotations)
    if restart := restart_ids(context.graph, context.options.restarts).get(context.component.name):
        annotations[names.RESTART] = restart
    if annotations:
        metadata["annotations"] = annotations
    return metadata


def discovery_labels(context: Context) -> dict[str, str]:
    """The pair the runtime's discovery filters pods and EndpointSlices by; empty with another backend."""
    if context.discovery != "kubernetes":
        return {}
    return {names.DISCOVERY_BACKEND: "kubernetes", names.DISCOVERY_ENABLED: "true"}


def _template_metadata(component: Component, key: str) -> Mapping[str, str]:
    return (component.pod_template.get("metadata") or {}).get(key) or {}
