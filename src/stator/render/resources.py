"""What a container's resources say, and what Kubernetes needs them to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.errors import Problem
from stator.render.context import Context

GPU = "nvidia.com/gpu"


def gpu_count(resources: Mapping[str, Any]) -> int:
    """GPUs of a container: its `nvidia.com/gpu` limit, else its request (Kubernetes wants them equal)."""
    for kind in ("limits", "requests"):
        amount = str((resources.get(kind) or {}).get(GPU, ""))
        if amount.isdecimal():
            return int(amount)
    return 0


def mirror_requests(context: Context, body: dict[str, Any], problems: list[Problem]) -> None:
    """Give every requested device the limit that Kubernetes wants beside it; a different one is a problem.

    Extended resources cannot be overcommitted: a request without an equal limit is refused (Kubernetes documentation,
    "Extended resources").
    """
    resources = body.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, amount in requests.items():
        if "/" not in name:
            continue
        limit = limits.get(name)
        if limit is None:
            resources["limits"] = {**(resources.get("limits") or {}), name: amount}
        elif str(limit) != str(amount):
            problems.append(
                Problem(
                    what=f"component {context.component.name}: requests {amount} {name} and limits it to {limit}",
                    position=context.at_container("resources", "requests", name),
                    why="devices cannot be overcommitted, so both have to be equal",
                    remedy="write the limit alone",
                )
            )
