"""The accounts of planners and endpoint pickers, which act on the cluster and not only look at it.

What they may do stands in a ClusterRole of the operator's installation; a graph gets the account and the reference.
Both names are fixed, so the graphs of a namespace share them: they belong to no single graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stator.render import names
from stator.render.context import Context
from stator.render.manifest import RenderOptions

Json = dict[str, Any]

_API = "rbac.authorization.k8s.io"


def account_of(component_type: str, options: RenderOptions) -> tuple[str, str]:
    """Name of the account of a type and of its ClusterRole, `""` if it has none or the installation names none."""
    return {
        "planner": (names.PLANNER_ACCOUNT, options.planner_cluster_role),
        "epp": (names.PICKER_ACCOUNT, options.epp_cluster_role),
    }.get(component_type, ("", ""))


def accounts(contexts: Sequence[Context]) -> tuple[Json, ...]:
    """Account and RoleBinding for each type of a graph that has a ClusterRole."""
    graph = contexts[0].graph
    wanted = dict.fromkeys(account_of(context.type, context.options) for context in contexts)
    return tuple(
        item for account, role in wanted if account and role for item in _objects(graph.namespace, account, role)
    )


def _objects(namespace: str, account: str, role: str) -> tuple[Json, Json]:
    def metadata(name: str) -> Json:
        labels = {"app.kubernetes.io/component": "rbac", "app.kubernetes.io/managed-by": "stator"}
        return {"name": name, "namespace": namespace, "labels": labels}

    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(account)},
        {
            "apiVersion": f"{_API}/v1",
            "kind": "RoleBinding",
            "metadata": metadata(f"{account}-binding"),
            "roleRef": {"apiGroup": _API, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        },
    )
