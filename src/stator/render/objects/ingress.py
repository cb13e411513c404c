"""The way into a frontend from outside, as a v1alpha1 service asks for it: an Ingress, or an Istio VirtualService."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.render import names
from stator.render.context import Context

Json = dict[str, Any]

_PORT = 8000
_SUFFIX = "local"


def ingress(context: Context, labels: Mapping[str, str]) -> tuple[Json, ...]:
    """The Ingress or VirtualService to the frontend's Service, under its name; nothing where it is not enabled."""
    wanted = context.component.alpha.ingress or {}
    if not wanted.get("enabled") or context.type != "frontend":
        return ()
    host = f"{wanted.get('hostPrefix') or ''}{wanted.get('host') or ''}.{wanted.get('hostSuffix') or _SUFFIX}"
    service = names.service_name(context.workload)
    metadata: Json = {
        "name": service,
        "namespace": context.graph.namespace,
        "labels": {**labels, **(wanted.get("labels") or {})},
    }
    if annotations := wanted.get("annotations"):
        metadata["annotations"] = dict(annotations)
    if wanted.get("useVirtualService"):
        return (_virtual_service(metadata, host, service, wanted),)
    backend = {"service": {"name": service, "port": {"number": _PORT}}}
    spec: Json = {
        "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]
    }
    if name := wanted.get("ingressControllerClassName"):
        spec["ingressClassName"] = name
    if secret := (wanted.get("tls") or {}).get("secretName"):
        spec["tls"] = [{"hosts": [host], "secretName": secret}]
    return ({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec},)


def _virtual_service(metadata: Json, host: str, service: str, wanted: Mapping[str, Any]) -> Json:
    gateway = wanted.get("virtualServiceGateway")
    route = {"destination": {"host": service, "port": {"number": _PORT}}}
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": metadata,
        "spec": {
            "hosts": [host],
            **({"gateways": [gateway]} if gateway else {}),
            "http": [{"match": [{"uri": {"prefix": "/"}}], "route": [route]}],
        },
    }
