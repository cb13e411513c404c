"""Can this cluster run a matrix, and may this account? Everything that is missing is said at once, before any cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stator.errors import Problem
from stator.kube.client import Client
from stator.kube.errors import UnfitClusterError
from stator.kube.resources import SELF_SUBJECT_ACCESS_REVIEW, installed
from stator.operator import kinds

Json = dict[str, Any]

# Verb, group, resource, subresource.
Right = tuple[str, str, str, str]

# What a cell does, in any namespace because its own does not exist yet.
_RIGHTS: tuple[Right, ...] = (
    ("create", "", "namespaces", ""),
    ("get", "", "namespaces", ""),
    ("list", "", "namespaces", ""),
    ("delete", "", "namespaces", ""),
    ("create", kinds.GRAPH.group, kinds.GRAPH.plural, ""),
    ("patch", kinds.GRAPH.group, kinds.GRAPH.plural, ""),
    ("get", kinds.GRAPH.group, kinds.GRAPH.plural, ""),
    ("list", "", "pods", ""),
    ("get", "", "pods", "log"),
    ("get", "", "services", "proxy"),
    ("create", "", "services", "proxy"),
)


async def inspect(client: Client, resources: Iterable[tuple[str, str]]) -> str:
    """The release of the cluster (`v1.37.2`), if a matrix can run on it.

    `resources` are the groups and plurals of what is applied beside graphs. Raises UnfitClusterError with everything
    that is missing, and ApiError if the cluster cannot be asked.
    """
    version = await client.get_path("/version")
    problems: list[Problem] = []
    if kinds.GRAPH not in await installed(client, [kinds.GRAPH]):
        problems.append(
            Problem(
                what=f"the cluster does not know {kinds.GRAPH.kind} of {kinds.GRAPH.api_version}",
                why="its definitions are not installed, or not served in this version",
                remedy="install the operator with them: stator install --image IMAGE | kubectl apply -f -",
            )
        )
    beside = [(verb, *resource, "") for resource in resources for verb in ("create", "patch")]
    rights = dict.fromkeys((*_RIGHTS, *beside))
    if refused := [(right, why) for right in rights if (why := await _refusal(client, right))]:
        problems.append(_missing(refused))
    if problems:
        raise UnfitClusterError(*problems)
    return str(version.get("gitVersion", ""))


async def _refusal(client: Client, right: Right) -> str:
    """Why the account does not have a right, empty if it has."""
    verb, group, resource, subresource = right
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    review: Json = {
        "apiVersion": SELF_SUBJECT_ACCESS_REVIEW.api_version,
        "kind": SELF_SUBJECT_ACCESS_REVIEW.kind,
        "spec": {"resourceAttributes": {key: value for key, value in asked.items() if value}},
    }
    status = (await client.create(SELF_SUBJECT_ACCESS_REVIEW, review)).get("status") or {}
    return "" if status.get("allowed") else str(status.get("reason") or "no role of the account allows it")


def _missing(refused: Sequence[tuple[Right, str]]) -> Problem:
    """The one problem with every right that is missing, by resource."""
    verbs: dict[str, list[str]] = {}
    for (verb, group, resource, subresource), _ in refused:
        whole = (f"{resource}/{subresource}" if subresource else resource) + (f".{group}" if group else "")
        verbs.setdefault(whole, []).append(verb)
    rights = "; ".join(f"{', '.join(each)} {resource}" for resource, each in verbs.items())
    return Problem(
        what=f"you may not do in the whole cluster what cells need: {rights}",
        why="; ".join(dict.fromkeys(why for _, why in refused)),
        remedy="bind a ClusterRole with these rights to the account: each cell has a namespace of its own",
    )
