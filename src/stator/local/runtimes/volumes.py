"""What a claim's directory holds: models that are made or fetched when a graph needs them and they are missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from stator.local.config import LocalConfig


def directories_in_use(config: LocalConfig, pod_specs: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, str]]:
    """The `(claim, directory)` pairs of `config.contents` that these core PodSpecs name in a command or variable."""
    raise NotImplementedError


def prepare_volumes(
    config: LocalConfig,
    needed: Collection[tuple[str, str]],
    *,
    cache: Path,
    progress: Callable[[str], None],
    offline: bool = False,
) -> None:
    """Make the directories of `needed` that are missing, each atomically."""
    raise NotImplementedError
