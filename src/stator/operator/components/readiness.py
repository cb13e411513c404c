"""When a workload is Ready, and what it waits for otherwise.

A Deployment's counts describe the generation that its controller has seen; before that they are the old pods'. So
Ready takes the current generation, every pod updated and available, and no pod of an older one left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stator.operator.components.observed import Child
from stator.operator.conditions import find


class Readiness(msgspec.Struct, frozen=True):
    """Whether a workload is Ready, and why not."""

    ready: bool
    why: str = ""


def readiness(workload: Child) -> Readiness:
    """The truth about a Deployment or LeaderWorkerSet."""
    waits = _deployment(workload) if workload.kind == "Deployment" else _leader_worker_set(workload)
    return Readiness(not waits, waits)


def counts(workload: Child) -> dict[str, int]:
    """Pods (or groups) by state, as a component's status has them."""
    status = workload.status
    found = {
        "replicas": int(status.get("replicas") or 0),
        "updatedReplicas": int(status.get("updatedReplicas") or 0),
        "readyReplicas": int(status.get("readyReplicas") or 0),
    }
    if workload.kind == "Deployment":
        found["availableReplicas"] = int(status.get("availableReplicas") or 0)
    return found


def desired(workload: Child) -> int:
    """Replicas that the workload is to have; the API server's default is 1."""
    return 1 if workload.replicas is None else workload.replicas


def is_seen(workload: Child) -> bool:
    """Whether the counts are of the newest generation; older LeaderWorkerSet controllers report none at all."""
    seen = int(workload.status.get("observedGeneration") or 0)
    return seen >= workload.generation or (seen == 0 and workload.kind == "LeaderWorkerSet")


def _deployment(workload: Child) -> str:
    status, wanted, now = workload.status, desired(workload), counts(workload)
    available = find(status.get("conditions") or (), "Available").get("status") == "True"
    if first := _unsettled(workload):
        return first
    waits = (
        (now["updatedReplicas"] < wanted, f"{now['updatedReplicas']} of {wanted} pods are updated"),
        (now["replicas"] != wanted, f"{now['replicas']} pods exist, {wanted} are wanted"),
        (now["availableReplicas"] < wanted, f"{now['availableReplicas']} of {wanted} pods are available"),
        (not available, "the Deployment is not Available"),
    )
    return next((_with_trouble(text, status) for waiting, text in waits if waiting and wanted), "")


def _leader_worker_set(workload: Child) -> str:
    status, wanted, now = workload.status, desired(workload), counts(workload)
    available = find(status.get("conditions") or (), "Available").get("status") == "True"
    if first := _unsettled(workload):
        return first
    waits = (
        (now["updatedReplicas"] < wanted, f"{now['updatedReplicas']} of {wanted} groups are updated"),
        (now["readyReplicas"] < wanted, f"{now['readyReplicas']} of {wanted} groups are ready"),
        (not available, "the LeaderWorkerSet is not Available"),
    )
    return next((text for waiting, text in waits if waiting and wanted), "")


def _unsettled(workload: Child) -> str:
    """Why the counts do not count yet, or not any more."""
    if workload.deleting:
        return f"the {workload.kind} is being deleted"
    if workload.paused:
        return f"the {workload.kind} is paused"
    return "" if is_seen(workload) else f"its controller has not seen the newest {workload.kind} yet"


def _with_trouble(text: str, status: Mapping[str, Any]) -> str:
    """The text, and what the Deployment's controller says stands in the way (a quota, a deadline)."""
    conditions = status.get("conditions") or ()
    failure, progress = find(conditions, "ReplicaFailure"), find(conditions, "Progressing")
    trouble = failure if failure.get("status") == "True" else progress if progress.get("status") == "False" else {}
    return f"{text}; {trouble.get('reason')}: {trouble.get('message')}" if trouble else text
