"""The claims that a v1alpha1 graph wants made (`spec.pvcs` with `create: true`). Others have to be there already.

An existing claim is never changed: its size and class are the cluster's.
"""

from __future__ import annotations

from typing import Any

from stator.model import Graph
from stator.render import names

Json = dict[str, Any]


def claims(graph: Graph) -> tuple[Json, ...]:
    """The PersistentVolumeClaims of a graph."""
    return tuple(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": claim["name"],
                "namespace": graph.namespace,
                "labels": {names.GRAPH_NAME: graph.name},
            },
            "spec": {
                "accessModes": [claim["volumeAccessMode"]],
                "resources": {"requests": {"storage": str(claim["size"])}},
                "storageClassName": claim["storageClass"],
            },
        }
        for claim in graph.other.get("pvcs") or ()
        if claim.get("create")
    )
