"""Plan a whole graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from stator.local.plan import LocalPlan
from stator.local.planning.ports import PortAllocator
from stator.model import Inventory
from stator.render import Manifest


class RuntimeFacts(Protocol):
    """What planning needs to know about the Python environment that stands for an image."""

    @property
    def python(self) -> str:
        """Path of the interpreter."""
        ...

    @property
    def bin(self) -> str:
        """Directory of its programs."""
        ...

    @property
    def profile(self) -> str:
        """`base`, `sglang-cpu`, ..."""
        ...

    @property
    def version(self) -> str:
        """Version of the runtime in it."""
        ...


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What this machine offers a graph.

    `runtimes` maps an image to the environment that stands for it; `volumes` a claim name to a local directory.
    `env` is this machine's environment, of which a few entries are passed on (`HOME`, `PATH`, `LANG`, ...).
    `ignored_sidecars` are names of containers to leave out.
    """

    runtimes: Mapping[str, RuntimeFacts]
    volumes: Mapping[str, Path] = {}
    env: Mapping[str, str] = {}
    ignored_sidecars: frozenset[str] = frozenset()


def plan_graph(
    manifest: Manifest,
    inventory: Inventory,
    machine: Machine,
    *,
    ports: PortAllocator,
    directory: Path,
    new_uid: Callable[[], str],
) -> LocalPlan:
    """Everything needed to run `manifest` here. Raises InvalidInputError with every problem found.

    `directory` is the graph's own state directory (`StateDirectory.graph(...).path`); `new_uid` gives pods their uid.
    """
    raise NotImplementedError
