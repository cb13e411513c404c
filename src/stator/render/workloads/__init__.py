"""The objects that run pods: Deployment, LeaderWorkerSet, PodCliqueSet."""

from stator.render.workloads.deployment import deployment, replicas_of
from stator.render.workloads.grove import pod_clique_set
from stator.render.workloads.leaderworkerset import leader_worker_set

__all__ = ["deployment", "leader_worker_set", "pod_clique_set", "replicas_of"]
