"""The LeaderWorkerSet of a component that spans nodes: each replica is a leader and its workers.

The leader is made first and the workers at once after it (`LeaderCreated`): an engine's ranks wait for each other, so
a worker that waited for a Ready leader would wait for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.render import names
from stator.render.context import Context
from stator.render.metadata import workload_annotations
from stator.render.multinode import RoleName
from stator.render.workloads.deployment import replicas_of

Json = dict[str, Any]


def leader_worker_set(context: Context, templates: Mapping[RoleName, Json], labels: Mapping[str, str]) -> Json:
    """The LeaderWorkerSet around the pod templates of a component's leader and workers.

    Its controller selects the pods by labels of its own, so the selector label of a Deployment is absent; `role` is
    what the Service finds the leader by.
    """
    metadata: Json = {
        "name": names.set_name(context.workload),
        "namespace": context.graph.namespace,
        "labels": dict(labels),
    }
    if annotations := workload_annotations(context):
        metadata["annotations"] = annotations
    replicas = replicas_of(context)
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata,
        "spec": {
            "replicas": 1 if replicas is None else replicas,
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": {
                "size": context.role.nodes,
                "leaderTemplate": _template(templates, "leader"),
                "workerTemplate": _template(templates, "worker"),
            },
        },
    }


def _template(templates: Mapping[RoleName, Json], role: RoleName) -> Json:
    template = templates[role]
    metadata = template["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if key != names.SELECTOR}
    return {**template, "metadata": {**metadata, "labels": {**labels, names.ROLE: role}}}
