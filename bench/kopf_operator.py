"""What a small kopf operator does for a graph: create its Deployments, Services and accounts, and write a status.

The objects are those that `stator render` makes of the same graph, with another name: kopf renders nothing here, and
follows no children. So it does less than the operator it stands beside. `bench/onboard.py` runs it.
"""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import kopf
import kubernetes

TEMPLATE, NAME = Path(os.environ["BENCH_OBJECTS"]).read_text(), "placeholder"
PATHS = {
    "Deployment": "/apis/apps/v1/namespaces/bench/deployments",
    "Service": "/api/v1/namespaces/bench/services",
    "ServiceAccount": "/api/v1/namespaces/bench/serviceaccounts",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/bench/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/bench/rolebindings",
    "ConfigMap": "/api/v1/namespaces/bench/configmaps",
}

configuration = kubernetes.client.Configuration()
kubernetes.config.load_kube_config(os.environ["KUBECONFIG"], client_configuration=configuration)
configuration.connection_pool_maxsize = 32
api = kubernetes.client.ApiClient(configuration)


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """As many handlers at once as stator has passes; no events."""
    settings.execution.max_workers = 16
    settings.posting.enabled = False


@kopf.on.create("nvidia.com", "v1beta1", "dynamographdeployments")
def create(body: kopf.Body, name: str, meta: kopf.Meta, patch: kopf.Patch, **_: Any) -> None:
    """Make the children, and say so."""
    for child in json.loads(TEMPLATE.replace(NAME, name)):
        owned = copy.copy(child)
        kopf.adopt(owned, owner=body)
        try:
            send(PATHS[owned["kind"]], owned)
        except kubernetes.client.ApiException as error:
            if error.status != 409:
                raise
    patch.status["observedGeneration"] = meta["generation"]
    patch.status["state"] = "pending"


def send(path: str, body: dict[str, Any]) -> None:
    """Create one object."""
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    api.call_api("POST", api.configuration.host + path, headers, body, [], ["BearerToken"])
