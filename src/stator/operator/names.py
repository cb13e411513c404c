"""Names that the operator and its installation must agree on."""

from __future__ import annotations

from typing import Final

NAME: Final = "stator"
# Where an installation is, unless somebody chooses another place.
NAMESPACE: Final = "stator-system"
LEASE: Final = "stator"
WEBHOOK_SERVICE: Final = "stator-webhook"
CERTIFICATES: Final = "stator-webhook-certificates"

# Paths of the webhook server.
DEFAULT_PATH: Final = "/default"
VALIDATE_PATH: Final = "/validate"
CONVERT_PATH: Final = "/convert"

# Kinds with two versions, one converted into the other: names of their definitions.
CONVERTED: Final = (
    "dynamographdeployments.nvidia.com",
    "dynamocomponentdeployments.nvidia.com",
    "dynamographdeploymentscalingadapters.nvidia.com",
)


def webhook_hosts(namespace: str) -> tuple[str, ...]:
    """The host names under which the API server calls the webhooks (Kubernetes documentation, "Service reference")."""
    service = f"{WEBHOOK_SERVICE}.{namespace}.svc"
    return service, f"{service}.cluster.local"
