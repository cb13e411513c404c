"""The operator as a workload: as restricted as the strictest Pod Security Standard asks for, and a little more."""

from __future__ import annotations

from typing import Any

from stator.install.rights import metadata
from stator.install.settings import METRICS_PORT, PICKER_ROLE, PLANNER_ROLE, WEBHOOK_PORT, Settings
from stator.operator.names import NAME, WEBHOOK_SERVICE

Json = dict[str, Any]

_SELECTOR = {"app.kubernetes.io/name": NAME}


def namespace(settings: Settings) -> Json:
    """The operator's namespace, which runs no pod that is not restricted (Pod Security Standards, "Restricted")."""
    labels = {"app.kubernetes.io/name": NAME, "pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": settings.namespace, "labels": labels}}


def workload(settings: Settings) -> tuple[Json, ...]:
    """Services, Deployment, and with several replicas the budget that keeps one of them through a node drain."""
    objects = [_service(settings, NAME, {"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"})]
    if settings.serves_webhooks:
        objects.append(_service(settings, WEBHOOK_SERVICE, {"name": "webhook", "port": 443, "targetPort": "webhook"}))
    objects.append(_deployment(settings))
    if settings.replicas > 1:
        objects.append(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": metadata(NAME, settings),
                "spec": {"maxUnavailable": 1, "selector": {"matchLabels": _SELECTOR}},
            }
        )
    return tuple(objects)


def _service(settings: Settings, name: str, port: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, settings),
        "spec": {"selector": _SELECTOR, "ports": [port]},
    }


def _deployment(settings: Settings) -> Json:
    pod = {
        "serviceAccountName": NAME,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": _SELECTOR},
            }
        ],
        "containers": [_container(settings)],
        "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(NAME, settings),
        "spec": {
            "replicas": settings.replicas,
            "selector": {"matchLabels": _SELECTOR},
            # Webhooks refuse what they cannot see, so a new replica is Ready before an old one leaves.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": _SELECTOR}, "spec": pod},
        },
    }


def _container(settings: Settings) -> Json:
    ports = [{"name": "metrics", "containerPort": METRICS_PORT}]
    if settings.serves_webhooks:
        ports.append({"name": "webhook", "containerPort": WEBHOOK_PORT})
    return {
        "name": "operator",
        "image": settings.image,
        "args": ["operator", "run", *_arguments(settings)],
        "env": [{"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
        "ports": ports,
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "metrics"}, "periodSeconds": 20},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "metrics"}, "periodSeconds": 5},
        "startupProbe": {"httpGet": {"path": "/healthz", "port": "metrics"}, "failureThreshold": 30},
        # The API server may still call for a moment: Services forget a pod that ends a little later than it ends.
        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi", "ephemeral-storage": "16Mi"},
            "limits": {"memory": "512Mi", "ephemeral-storage": "64Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        # Private keys pass through here on their way into the TLS library; it is memory, not disk.
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 (a path in the container)
    }


def _arguments(settings: Settings) -> list[str]:
    arguments = ["--leader-elect", f"--metrics-port={METRICS_PORT}"]
    if settings.namespaced:
        arguments.append("--namespace=$(POD_NAMESPACE)")
    else:
        # In a namespaced installation these accounts and their rights stand already.
        arguments += [f"--planner-cluster-role={PLANNER_ROLE}", f"--epp-cluster-role={PICKER_ROLE}"]
    arguments += [f"--pull-secret={name}" for name in settings.pull_secrets]
    if settings.serves_webhooks:
        arguments += [f"--webhook-port={WEBHOOK_PORT}", *(f"--reject={text}" for text in settings.reject)]
    return arguments
