"""What a container's resources say about its GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GPU = "nvidia.com/gpu"


def gpu_count(resources: Mapping[str, Any]) -> int:
    """GPUs of a container: its `nvidia.com/gpu` limit, else its request (Kubernetes wants them equal)."""
    for kind in ("limits", "requests"):
        amount = str((resources.get(kind) or {}).get(GPU, ""))
        if amount.isdecimal():
            return int(amount)
    return 0
