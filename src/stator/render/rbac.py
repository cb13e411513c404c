"""What Kubernetes discovery needs: an account for the pods, and the right to watch endpoints and publish themselves.

The runtime in the pods writes `DynamoWorkerMetadata` objects and watches pods, endpoints and EndpointSlices.
"""

from __future__ import annotations

from typing import Any

from stator.model import Graph
from stator.render import names

Json = dict[str, Any]

_READ = ["get", "list", "watch"]
_API = "rbac.authorization.k8s.io"


def account_name(graph: str) -> str:
    """The ServiceAccount of a graph's pods."""
    return f"{graph}-k8s-service-discovery"


def discovery_objects(graph: Graph) -> tuple[Json, ...]:
    """ServiceAccount, Role and RoleBinding of a graph, in apply order."""
    account = account_name(names.parent_name(graph))
    role = f"{account}-role"

    def metadata(name: str) -> Json:
        return {
            "name": name,
            "namespace": graph.namespace,
            "labels": {
                "app.kubernetes.io/component": "rbac",
                "app.kubernetes.io/managed-by": "stator",
                "app.kubernetes.io/name": account,
            },
        }

    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(account)},
        {
            "apiVersion": f"{_API}/v1",
            "kind": "Role",
            "metadata": metadata(role),
            "rules": [
                {"apiGroups": [""], "resources": ["endpoints", "pods"], "verbs": list(_READ)},
                {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": list(_READ)},
                {
                    "apiGroups": ["nvidia.com"],
                    "resources": ["dynamoworkermetadatas"],
                    "verbs": ["create", "get", "list", "watch", "update", "patch", "delete"],
                },
            ],
        },
        {
            "apiVersion": f"{_API}/v1",
            "kind": "RoleBinding",
            "metadata": metadata(f"{account}-binding"),
            "roleRef": {"apiGroup": _API, "kind": "Role", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": graph.namespace}],
        },
    )
