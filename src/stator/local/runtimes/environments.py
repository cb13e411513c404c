"""Python environments that stand in for images: made once with uv, kept in a cache, taken as they are afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from stator.local.runtimes.request import RuntimeRequest


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """An environment that is there.

    `python` is its interpreter, `bin` the directory to put first on PATH. `source` says in words what it was made
    from (`requirement list of stator`, `resolved`, `FILE`, `stator.toml`).
    """

    image: str
    python: str
    bin: str
    profile: str
    version: str
    source: str


def default_cache() -> Path:
    """`$XDG_CACHE_HOME/stator/runtimes`, or below `~/.cache` (XDG Base Directory Specification)."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "stator" / "runtimes"


def ensure(request: RuntimeRequest, *, cache: Path, progress: Callable[[str], None], offline: bool = False) -> Runtime:
    """The environment for `request`, made first if it is missing."""
    raise NotImplementedError
