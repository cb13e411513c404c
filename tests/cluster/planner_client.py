"""Drives the published planner's own Kubernetes connector against a graph, and prints what it saw as JSON.

Runs with the interpreter of an environment that holds `ai-dynamo`, not with the tests' own. The package imports its
performance models with everything else; the libraries of those (`_NOT_NEEDED`) are stood in for, since no connector
calls them and one has no wheel for every machine.
"""

from __future__ import annotations

import asyncio
import importlib.abc
import importlib.machinery
import json
import logging
import sys
from types import ModuleType
from typing import Any, ClassVar

_NOT_NEEDED = {"sklearn", "aisimulate", "aisimulate_core"}


class _StandIn(ModuleType):
    """A module of which every name is a class that does nothing."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stand-in for what is not needed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """The stand-in, for a module of those packages."""
        del path, target
        needed = name.partition(".")[0] not in _NOT_NEEDED
        return None if needed else importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """An empty one."""
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


sys.meta_path.insert(0, _StandIns())

from dynamo.planner.config.defaults import SubComponentType, TargetReplica  # noqa: E402 (after the stand-ins)
from dynamo.planner.connectors.kubernetes import KubernetesConnector  # noqa: E402 (as above)

PREFILL, DECODE = "Prefill", "Decode"


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
        "gpus": [[shape.gpus_per_engine, shape.gpus_per_replica] for shape in (prefill, decode)],
        "counts": [],
    }
    counts = []
    for wanted in replicas:
        target = TargetReplica(sub_component_type=SubComponentType.DECODE, desired_replicas=wanted)
        await connector.set_component_replicas([target], blocking=True)
        counts.append(list(await connector.get_actual_worker_counts(PREFILL, DECODE)))
    seen["counts"] = counts
    return seen


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    print(json.dumps(asyncio.run(drive(sys.argv[1], sys.argv[2], [int(text) for text in sys.argv[3:]]))))  # noqa: T201 (its output)
