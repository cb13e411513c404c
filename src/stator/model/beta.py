"""v1beta1 documents to graphs: the shape is the same, so every path of the graph is a path of the document.

What conversion kept of a v1alpha1 document in an annotation still counts, so that converting changes no pod.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stator.model.documents import Document, Path
from stator.model.preserved import mapping, preserved, transfer_policy
from stator.model.resources import AlphaOnly, Component, Graph, Origin

# Known fields that have no attribute of their own.
COMPONENT_OTHER = (
    "multinode",
    "roles",
    "minAvailable",
    "scalingAdapter",
    "modelRef",
    "eppConfig",
    "frontendSidecar",
    "compilationCache",
    "topologyConstraint",
    "providerOverride",
    "experimental",
)
GRAPH_OTHER = ("restart", "topologyConstraint", "providerOverride", "experimental", "priorityClassName")


def graph(document: Document, value: Mapping[str, Any], namespace: str) -> Graph:
    """The graph a valid v1beta1 DynamoGraphDeployment or DynamoComponentDeployment describes.

    `value` is the document's value without nulls.
    """
    metadata, spec, kept = value["metadata"], value["spec"], preserved(value)
    standalone = value["kind"] == "DynamoComponentDeployment"
    if standalone:
        item = {"name": metadata["name"], **spec}
        components: tuple[Component, ...] = (component(item, ("spec",), _alpha_only(kept, item["name"])),)
        policy = transfer_policy(value)
        others: dict[str, Any] = {"experimental": {"kvTransferPolicy": policy}} if policy else {}
    else:
        components = tuple(
            component(item, ("spec", "components", index), _alpha_only(kept, item["name"]))
            for index, item in enumerate(spec["components"])
        )
        others = {name: spec[name] for name in GRAPH_OTHER if name in spec}
        if isinstance(kept.get("pvcs"), list):
            others["pvcs"] = kept["pvcs"]
    return with_metadata(document, value, namespace, components, env=spec.get("env", ()), other=others)


def with_metadata(
    document: Document,
    value: Mapping[str, Any],
    namespace: str,
    components: tuple[Component, ...],
    *,
    env: Sequence[Mapping[str, Any]],
    other: Mapping[str, Any],
    moved: Mapping[Path, Path] = {},
) -> Graph:
    """The graph of these components, with what both versions say in the same places."""
    metadata, spec = value["metadata"], value["spec"]
    standalone = value["kind"] == "DynamoComponentDeployment"
    return Graph(
        kind=value["kind"],
        api_version=value["apiVersion"],
        name=metadata["name"],
        namespace=namespace,
        components=components,
        origin=Origin(document, moved),
        labels=metadata.get("labels", {}),
        annotations=metadata.get("annotations", {}),
        spec_labels={} if standalone else spec.get("labels", {}),
        spec_annotations={} if standalone else spec.get("annotations", {}),
        env=() if standalone else tuple(env),
        backend_framework=spec.get("backendFramework"),
        other=other,
    )


def _alpha_only(kept: Mapping[str, Any], name: str) -> AlphaOnly:
    """What conversion kept of a v1alpha1 service that v1beta1 cannot say; anything of another shape is not it."""
    if not kept:
        return AlphaOnly()
    service = mapping(mapping(kept.get("services")).get(name))
    texts = {field: text for field, text in service.items() if isinstance(text, str)}
    ingress = service.get("ingress")
    return AlphaOnly(
        labels=_texts(service.get("labels")),
        annotations=_texts(service.get("annotations")),
        sub_component_type=texts.get("subComponentType", ""),
        dynamo_namespace=texts.get("dynamoNamespace", ""),
        ingress=ingress if isinstance(ingress, Mapping) else None,
    )


def _texts(value: Any) -> dict[str, str]:
    return {key: text for key, text in mapping(value).items() if isinstance(text, str)}


def component(value: Mapping[str, Any], path: Path, alpha: AlphaOnly = AlphaOnly()) -> Component:  # noqa: B008 (immutable)
    """The component a value of the v1beta1 shape describes; `path` is where the graph has it."""
    size = value.get("sharedMemorySize")
    return Component(
        name=value["name"],
        path=path,
        type=value.get("type", ""),
        replicas=value.get("replicas"),
        pod_template=value.get("podTemplate", {}),
        runtime_version_override=value.get("runtimeVersionOverride"),
        global_dynamo_namespace=value.get("globalDynamoNamespace", False),
        shared_memory_size=None if size is None else str(size),
        other={name: value[name] for name in COMPONENT_OTHER if name in value},
        alpha=alpha,
    )
