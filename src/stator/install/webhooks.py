"""How the API server reaches the webhooks, and what it asks them.

The operator adds the authority of its certificate (`caBundle`) by itself. Until then, and while no operator runs, the
API server cannot ask: creating a graph or changing its spec is then refused. Everything else does not ask: reading,
deleting, finalizers, status, labels, any change to an object that is being deleted, and what the operator itself does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stator.install.crds import COMPONENT, GRAPH, MODEL, SCALING_ADAPTER, CustomKind
from stator.install.rights import metadata
from stator.install.settings import Settings
from stator.model.identity import GROUP
from stator.operator.names import DEFAULT_PATH, NAME, VALIDATE_PATH, WEBHOOK_SERVICE

Json = dict[str, Any]
# A path of the webhook server -> the `clientConfig` that leads there.
Client = Callable[[str], Json]

# Annotations hold choices that are checked, labels none.
_CHANGED = (
    "oldObject == null || object.spec != oldObject.spec || "
    "(has(object.metadata.annotations) ? object.metadata.annotations : {}) != "
    "(has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {})"
)


def by_service(settings: Settings) -> Client:
    """The client configuration that leads to the operator's Service."""
    return lambda path: {
        "service": {"namespace": settings.namespace, "name": WEBHOOK_SERVICE, "path": path, "port": 443}
    }


def by_url(base: str) -> Client:
    """The client configuration that leads to an operator outside the cluster; `base` is `https://HOST:PORT`."""
    return lambda path: {"url": base + path}


def webhook_configurations(client: Client, settings: Settings) -> tuple[Json, ...]:
    """What the API server asks before it stores an object: for defaults, then for a verdict."""
    return (
        _configuration(
            "MutatingWebhookConfiguration",
            f"defaults.{NAME}.{GROUP}",
            client(DEFAULT_PATH),
            (GRAPH, COMPONENT),
            settings,
            # A default that is missing is taken for granted later; nothing is worth refusing for it.
            {"failurePolicy": "Ignore", "reinvocationPolicy": "Never"},
        ),
        _configuration(
            "ValidatingWebhookConfiguration",
            f"rules.{NAME}.{GROUP}",
            client(VALIDATE_PATH),
            (GRAPH, COMPONENT, SCALING_ADAPTER, MODEL),
            settings,
            {"failurePolicy": "Fail"},
        ),
    )


def _conditions(settings: Settings) -> list[Json]:
    """When the API server asks at all (CEL, all of them)."""
    user = f"system:serviceaccount:{settings.namespace}:{NAME}"
    return [
        {"name": "not-by-the-operator", "expression": f"request.userInfo.username != '{user}'"},
        {"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"},
        {"name": "changed", "expression": _CHANGED},
    ]


def _configuration(
    kind: str, name: str, client: Json, kinds: tuple[CustomKind, ...], settings: Settings, more: Json
) -> Json:
    webhook: Json = {
        "name": name,
        "clientConfig": client,
        "rules": [
            {
                "apiGroups": [GROUP],
                # Every version by itself: an answer names fields of the version that was submitted.
                "apiVersions": list(kinds[0].versions),
                "resources": [item.plural for item in kinds],
                "operations": ["CREATE", "UPDATE"],
                "scope": "Namespaced",
            }
        ],
        "matchPolicy": "Exact",
        "matchConditions": _conditions(settings),
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 10,
        **more,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": metadata(NAME),
        "webhooks": [webhook],
    }
