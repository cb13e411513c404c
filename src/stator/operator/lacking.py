"""What a cluster lacks for an object that is wanted, in words that say what brings it."""

from __future__ import annotations

from collections.abc import Callable

from stator.operator.components.observed import Child
from stator.operator.components.status import Trouble
from stator.operator.options import OperatorOptions
from stator.operator.plan import Json

# Kinds that a cluster may lack, and what brings them.
_BROUGHT_BY = {
    "LeaderWorkerSet": "install LeaderWorkerSet (https://lws.sigs.k8s.io), which runs components that span nodes",
    "VirtualService": "install Istio, which serves a VirtualService",
    "InferencePool": "install the Gateway API inference extension, which serves an InferencePool",
    "PodCliqueSet": "install Grove (https://github.com/ai-dynamo/grove), which serves a PodCliqueSet",
    "ResourceClaimTemplate": "Kubernetes serves a ResourceClaimTemplate of this version from 1.34 on",
}


def not_installed(item: Json, options: OperatorOptions) -> Trouble | None:
    """The trouble with an object of a kind that the cluster does not have: it cannot be made."""
    kind = item["kind"]
    if kind not in _BROUGHT_BY or kind in options.installed:
        return None
    what = f"{kind} {item['metadata']['name']} cannot be made, the cluster does not have this kind"
    return Trouble("NotInstalled", f"{what}: {_BROUGHT_BY[kind]}")


def without_class(item: Json, find: Callable[[str, str], Child | None]) -> Trouble | None:
    """The trouble with an Ingress whose class the cluster does not have: it can be made, and nobody serves it.

    `find` is given a kind and a name.
    """
    wanted = item["spec"].get("ingressClassName") if item["kind"] == "Ingress" else None
    if not wanted or find("IngressClass", wanted):
        return None
    what = f"Ingress {item['metadata']['name']} is not served, the cluster has no IngressClass {wanted}"
    return Trouble("NotInstalled", f"{what}: install an ingress controller that brings it, or name another class")
