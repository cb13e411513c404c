"""The KV transfer policy: each worker learns where it runs, and how close its transfer partners have to be.

The runtime reads one file per topology domain below the mount path; the file's text is the worker's place. The
kubelet writes it from a label of the pod, which an operator copies from the node: under the node label's own key, or,
where a cluster topology says which node label a domain has, under the domain's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.model import Graph
from stator.render.changes import Changes
from stator.render.context import Context
from stator.render.environment import Entry
from stator.render.manifest import Setter
from stator.render.multinode import Provider

PATH = ("spec", "experimental", "kvTransferPolicy")

_DIRECTORY = "/etc/dynamo/topology"
_VOLUME = "topology-labels"
_LABEL_KEY = "nvidia.com/topology-label-key"
_TOPOLOGY_NAME = "nvidia.com/topology-cluster-topology-name"
_TOPOLOGY_LABEL = "nvidia.com/dynamo-topology."


def policy_of(graph: Graph, provider: Provider) -> Mapping[str, Any]:
    """The graph's policy if a worker's place can be read, else empty: cluster topologies are Grove's."""
    policy = (graph.other.get("experimental") or {}).get("kvTransferPolicy") or {}
    return policy if policy.get("labelKey") or (provider == "grove" and policy.get("clusterTopologyName")) else {}


def kv_transfer_changes(context: Context) -> Changes:
    """The variables, which win over the user's, and the file; nothing for what is no worker."""
    policy = policy_of(context.graph, context.provider)
    if not (policy and context.is_worker):
        return Changes()
    variables = {
        "DYN_KV_TRANSFER_DOMAIN": policy["domain"],
        "DYN_KV_TRANSFER_ENFORCEMENT": policy.get("enforcement") or "required",
        "DYN_TOPOLOGY_ENABLED": "true",
        "DYN_TOPOLOGY_MOUNT_PATH": _DIRECTORY,
    }
    if (weight := policy.get("preferredWeight")) is not None:
        variables["DYN_KV_TRANSFER_PREFERRED_WEIGHT"] = str(weight)
    position = context.graph.locate(*PATH)
    label = policy.get("labelKey") or f"{_TOPOLOGY_LABEL}{policy['domain']}"
    item = {"path": policy["domain"], "fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}
    return Changes(
        env=tuple(
            Entry({"name": name, "value": value}, Setter("graph", ".".join(PATH), position, value))
            for name, value in variables.items()
        ),
        mounts=({"name": _VOLUME, "mountPath": _DIRECTORY, "readOnly": True},),
        volumes=({"name": _VOLUME, "downwardAPI": {"items": [item]}},),
    )


def topology_annotations(graph: Graph, provider: Provider) -> dict[str, str]:
    """The annotation by which the cluster knows which labels of the node a worker's pod wants."""
    policy = policy_of(graph, provider)
    if not policy:
        return {}
    if key := policy.get("labelKey"):
        return {_LABEL_KEY: key}
    return {_TOPOLOGY_NAME: policy["clusterTopologyName"]}
