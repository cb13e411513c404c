"""Namespaces of cells: made, deleted, and seen to be gone. What is not seen to be gone is not gone.

A namespace is deleted by its uid, so that no other one of its name ever is.
"""

from __future__ import annotations

import asyncio
from typing import Any

from stator.errors import ExitCode, Problem, StatorError
from stator.kube.client import Client
from stator.kube.errors import ApiError, ConflictError, NotFoundError
from stator.kube.resources import NAMESPACE
from stator.matrix.cluster.objects import HOLDER, MANAGED_BY, MANAGER

Json = dict[str, Any]

# Beyond the grace of its pods: what namespace and garbage collector need (they try again within half a minute).
GONE_WITHIN = 120.0
_POLL = 0.5
# conditions of a namespace that say what keeps it (core/v1 NamespaceConditionType).
_KEEPS = frozenset(
    {
        "NamespaceDeletionDiscoveryFailure",
        "NamespaceDeletionContentFailure",
        "NamespaceDeletionGroupVersionParsingFailure",
        "NamespaceContentRemaining",
        "NamespaceFinalizersRemaining",
    }
)


class LeftNamespaceError(StatorError):
    """A namespace of a cell is still there: what runs after it would not run alone."""

    exit_code = ExitCode.UNDECIDED


async def remove(client: Client, name: str, uid: str, *, within: float) -> None:
    """Delete a namespace and return when it does not exist any more. Without a `uid` it is known by its name alone.

    A server that cannot be asked is asked again until `within` seconds are over. Raises LeftNamespaceError then.
    """
    why = ""
    try:
        async with asyncio.timeout(within):
            while True:
                try:
                    why = await _progress(client, name, uid)
                except ApiError as error:
                    why = error.message
                if not why:
                    return
                await asyncio.sleep(_POLL)
    except TimeoutError:
        raise LeftNamespaceError(
            Problem(
                what=f"namespace {name} could not be removed in {within:g} s",
                why=why or "the cluster did not answer",
                remedy=f"see what keeps it: kubectl get namespace {name} -o yaml; go on with --resume when it is gone",
            )
        ) from None


async def _progress(client: Client, name: str, uid: str) -> str:
    """Why the namespace is still there, empty if it is not; deletes it if nobody has yet."""
    try:
        found = await client.get(NAMESPACE, name)
        if uid and found["metadata"]["uid"] != uid:
            return ""
        if not found["metadata"].get("deletionTimestamp"):
            await client.delete(NAMESPACE, name, uid=found["metadata"]["uid"])
    except (NotFoundError, ConflictError):
        return ""
    conditions = (found.get("status") or {}).get("conditions") or ()
    kept = [item.get("message", "") for item in conditions if item["type"] in _KEEPS and item["status"] == "True"]
    return "; ".join(kept) or "it is being deleted"


async def remove_leftovers(client: Client, owner: str, *, within: float) -> tuple[str, ...]:
    """Remove the namespaces that an earlier run of this owner was killed from; their names.

    Raises LeftNamespaceError, and ApiError if they cannot be listed.
    """
    labels = f"{MANAGED_BY}={MANAGER},{HOLDER}={owner}"
    found = [item["metadata"] for item in (await client.list(NAMESPACE, labels=labels)).items]
    async with asyncio.TaskGroup() as group:
        for each in found:
            group.create_task(remove(client, each["name"], each["uid"], within=within))
    return tuple(each["name"] for each in found)
