"""Drives the published planner's own Kubernetes connector against a graph, and prints what it saw as JSON.

Runs with the interpreter of an environment that holds `ai-dynamo`, not with the tests' own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys

from dynamo.planner.config.defaults import SubComponentType, TargetReplica
from dynamo.planner.connectors.kubernetes import KubernetesConnector


async def drive(namespace: str, graph: str, replicas: list[int]) -> dict[str, object]:
    """Validate, read shapes, names and counts, then scale decode to each number and wait until that is Ready."""
    connector = KubernetesConnector(
        f"{namespace}-{graph}", k8s_namespace=namespace, parent_dgd_name=graph, raise_not_ready=True
    )
    await connector.async_init()
    await connector.wait_for_deployment_ready()
    await connector.validate_deployment()
    prefill, decode = connector.get_gpu_shapes()
    seen: dict[str, object] = {
        "model": connector.get_model_name(),
        "namespace": connector.get_worker_runtime_namespace(f"{namespace}-{graph}"),
        "gpus": [[shape.per_engine_gpus, shape.per_replica_gpus] for shape in (prefill, decode)],
        "counts": [],
    }
    counts = []
    for wanted in replicas:
        target = TargetReplica(sub_component_type=SubComponentType.DECODE, desired_replicas=wanted)
        await connector.set_component_replicas([target], blocking=True)
        counts.append(list(await connector.get_actual_worker_counts()))
    seen["counts"] = counts
    return seen


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    print(json.dumps(asyncio.run(drive(sys.argv[1], sys.argv[2], [int(text) for text in sys.argv[3:]]))))  # noqa: T201 (its output)
