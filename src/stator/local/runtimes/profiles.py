"""What a Python environment must hold for a module to run, and what no environment of this machine can give.

A *profile* is a set of packages beside `ai-dynamo` itself. `base` is enough for everything that moves requests
(frontend, router, mocker): no torch, about half a gigabyte. `sglang-cpu` adds the real SGLang engine with the torch
of the package registry, which computes on the CPU when there is no GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

ProfileName = Literal["base", "sglang-cpu"]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of environment.

    `python` is the half-open range of interpreter minor versions the requirement lists are made for. `size` is the
    disk space in bytes that a first installation takes, the package cache included. `machines` are the values of
    `platform.machine()` with wheels (empty: any).
    """

    name: ProfileName
    python: tuple[tuple[int, int], tuple[int, int]]
    size: int
    machines: tuple[str, ...] = ()


PROFILES: Mapping[ProfileName, Profile] = {
    # Measured with the lists shipped here: 0.51 GB and 5.1 GB.
    "base": Profile(name="base", python=((3, 11), (3, 14)), size=600_000_000),
    "sglang-cpu": Profile(name="sglang-cpu", python=((3, 11), (3, 13)), size=5_500_000_000, machines=("x86_64",)),
}

# The SGLang release that each `ai-dynamo[sglang]` declares. The sglang-cpu profile exists for these releases only.
SGLANG_RELEASES: Mapping[str, str] = {
    "1.4.2": "0.5.16",
    "1.5.0": "0.5.18",
    "1.5.1": "0.5.18",
    "1.6.0": "0.5.21",
    "1.6.1": "0.5.21",
}

# `python -m MODULE` -> profile. These were seen to start with nothing but the base packages on 1.4.2 and 1.6.1.
MODULE_PROFILES: Mapping[str, ProfileName] = {
    "dynamo.frontend": "base",
    "dynamo.global_router": "base",
    "dynamo.indexer": "base",
    "dynamo.mocker": "base",
    "dynamo.router": "base",
    "dynamo.select_service": "base",
    "dynamo.slot_tracker": "base",
    "dynamo.sglang": "sglang-cpu",
}

GPU_ENGINES: Mapping[str, str] = {
    "dynamo.vllm": "vLLM",
    "dynamo.trtllm": "TensorRT-LLM",
    "dynamo.tokenspeed": "TokenSpeed",
    "dynamo.triton": "Triton",
}

CLUSTER_ONLY: Mapping[str, str] = {
    "dynamo.planner": "the planner scales Kubernetes objects",
    "dynamo.global_planner": "the global planner scales Kubernetes objects",
    "dynamo.profiler": "the profiler deploys graphs to Kubernetes",
}
