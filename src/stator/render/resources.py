"""What a container's resources say, and what Kubernetes needs them to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.errors import Problem
from stator.model.quantities import quantity
from stator.render.context import Context

GPU = "nvidia.com/gpu"


def gpu_count(resources: Mapping[str, Any]) -> int:
    """GPUs of a container: its `nvidia.com/gpu` limit, else its request (Kubernetes wants them equal)."""
    for kind in ("limits", "requests"):
        amount = (resources.get(kind) or {}).get(GPU)
        if amount is not None and (count := _count(amount)):
            return count
    return 0


def _same(limit: Any, amount: Any) -> bool:
    """Whether two spellings are one quantity; what is beyond counting has one spelling."""
    try:
        return str(limit) == str(amount) or quantity(str(limit)) == quantity(str(amount))
    except ValueError:
        return False


def _count(amount: Any) -> int:
    """A whole number of devices in any spelling of a quantity (`8`, `"8000m"`, `8e0`); 0 for anything else."""
    try:
        number = quantity(str(amount))
    except ValueError:
        return 0
    return int(number) if number > 0 and number == number.to_integral_value() else 0


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
        elif not _same(limit, amount):
            problems.append(
                Problem(
                    what=f"component {context.component.name}: requests {amount} {name} and limits it to {limit}",
                    position=context.at_container("resources", "requests", name),
                    why="devices cannot be overcommitted, so both have to be equal",
                    remedy="write the limit alone",
                )
            )
