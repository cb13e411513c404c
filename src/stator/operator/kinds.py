"""The kinds that the operator reads and writes besides the built-in ones."""

from __future__ import annotations

from typing import Final

from stator.kube.resources import (
    CONFIG_MAP,
    DEPLOYMENT,
    INGRESS,
    PERSISTENT_VOLUME_CLAIM,
    RESOURCE_CLAIM_TEMPLATE,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    Kind,
    Kinds,
)
from stator.model.identity import GROUP

GRAPH: Final = Kind(GROUP, "v1beta1", "DynamoGraphDeployment", "dynamographdeployments")
COMPONENT: Final = Kind(GROUP, "v1beta1", "DynamoComponentDeployment", "dynamocomponentdeployments")
ADAPTER: Final = Kind(GROUP, "v1beta1", "DynamoGraphDeploymentScalingAdapter", "dynamographdeploymentscalingadapters")
LEADER_WORKER_SET: Final = Kind("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets")
POD_CLIQUE_SET: Final = Kind("grove.io", "v1alpha1", "PodCliqueSet", "podcliquesets")
POD_CLIQUE: Final = Kind("grove.io", "v1alpha1", "PodClique", "podcliques")
SCALING_GROUP: Final = Kind("grove.io", "v1alpha1", "PodCliqueScalingGroup", "podcliquescalinggroups")
VIRTUAL_SERVICE: Final = Kind("networking.istio.io", "v1", "VirtualService", "virtualservices")
INGRESS_CLASS: Final = Kind("networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False)
# What the schedulers of gangs bring; they are looked for, and never read.
KAI_QUEUE: Final = Kind("scheduling.run.ai", "v2", "Queue", "queues", namespaced=False)
VOLCANO_QUEUE: Final = Kind("scheduling.volcano.sh", "v1beta1", "Queue", "queues", namespaced=False)
INFERENCE_POOL: Final = Kind("inference.networking.k8s.io", "v1", "InferencePool", "inferencepools")

OWN: Final = (GRAPH, COMPONENT, ADAPTER)
# Kinds of other projects, and of newer clusters: used where a cluster has them.
OPTIONAL: Final = (
    LEADER_WORKER_SET,
    POD_CLIQUE_SET,
    POD_CLIQUE,
    SCALING_GROUP,
    VIRTUAL_SERVICE,
    INFERENCE_POOL,
    RESOURCE_CLAIM_TEMPLATE,
)
LOOKED_FOR: Final = (*OWN, *OPTIONAL, KAI_QUEUE, VOLCANO_QUEUE)
GROVE: Final = (POD_CLIQUE_SET, POD_CLIQUE, SCALING_GROUP)
# What graphs and components are made into, in every cluster.
MADE: Final = (
    DEPLOYMENT,
    SERVICE,
    CONFIG_MAP,
    SERVICE_ACCOUNT,
    ROLE,
    ROLE_BINDING,
    INGRESS,
    PERSISTENT_VOLUME_CLAIM,
)
# What else a component and a graph control.
OF_COMPONENTS: Final = (*MADE, LEADER_WORKER_SET, VIRTUAL_SERVICE, RESOURCE_CLAIM_TEMPLATE)
OF_GRAPHS: Final = (*MADE, ADAPTER, POD_CLIQUE_SET, VIRTUAL_SERVICE, INFERENCE_POOL, RESOURCE_CLAIM_TEMPLATE)
KINDS: Final = Kinds(*OWN, *OPTIONAL)

_BY_NAME = {kind.kind: kind for kind in (*OWN, *OPTIONAL, *MADE, INGRESS_CLASS)}


def named(name: str) -> Kind:
    """The kind that plans call by this name."""
    return _BY_NAME[name]
