"""The Service of a component. It selects every worker generation: discovery tells them apart, not the Service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.render import names
from stator.render.context import Context
from stator.render.metadata import discovery_labels

Json = dict[str, Any]


def service(context: Context, labels: Mapping[str, str]) -> Json | None:
    """The Service, or None: with another discovery than Kubernetes only a frontend has one."""
    if context.discovery != "kubernetes" and context.type != "frontend":
        return None
    selector = _selector(context, labels)
    if context.role.name == "leader" and context.provider == "component":
        # Only the leader of a LeaderWorkerSet serves. Grove's pods carry no such label.
        selector[names.ROLE] = "leader"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": names.service_name(context.workload),
            "namespace": context.graph.namespace,
            "labels": {**labels, **discovery_labels(context)},
        },
        "spec": {
            "selector": selector,
            "ports": [_port(context.type)],
        },
    }


def ray_service(context: Context, labels: Mapping[str, str]) -> Json:
    """The headless Service by which nodes that come later find the Ray head of an engine that started alone."""
    ports = (("ray-gcs", 6379), ("system", 9090))
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": f"{names.service_name(context.workload)}-ray",
            "namespace": context.graph.namespace,
            "labels": dict(labels),
        },
        "spec": {
            "clusterIP": "None",
            "selector": _selector(context, labels),
            "ports": [{"name": name, "port": port, "protocol": "TCP", "targetPort": port} for name, port in ports],
        },
    }


def _selector(context: Context, labels: Mapping[str, str]) -> dict[str, str]:
    return {
        names.COMPONENT_TYPE: context.type,
        names.DYNAMO_NAMESPACE: labels[names.DYNAMO_NAMESPACE],
        names.COMPONENT: labels[names.COMPONENT],
    }


def _port(component_type: str) -> Json:
    if component_type == "frontend":
        return {"name": "http", "port": 8000, "protocol": "TCP", "targetPort": "http"}
    if component_type == "epp":
        return {"name": "grpc", "port": 9002, "protocol": "TCP", "targetPort": 9002, "appProtocol": "http2"}
    return {"name": "system", "port": 9090, "protocol": "TCP", "targetPort": "system"}
