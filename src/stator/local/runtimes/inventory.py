"""The cache of environments as people see it: what is there, what it costs, what uses it, what may go.

An environment is *current* if a graph of today would be given it. One that is not current was made from an older
requirement list or for another Python; one that is not complete is a creation that was interrupted.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from stator.errors import InvalidInputError, Problem
from stator.local.runtimes.environments import MARKER, home_of, is_complete
from stator.local.runtimes.locking import exclusive
from stator.local.runtimes.profiles import PROFILES
from stator.local.runtimes.request import RuntimeRequest

State = Literal["current", "outdated", "incomplete"]

_NAME = re.compile(r"[a-z0-9-]+-.+-[0-9a-f]{12}")
_BLOCK = 512


class CachedRuntime(msgspec.Struct, frozen=True, kw_only=True):
    """One environment of the cache.

    `size` is in bytes as the disk counts it (files shared with uv's package cache count here too). `users` are pids
    of processes that run in it.
    """

    name: str
    path: str
    profile: str
    version: str
    source: str
    state: State
    size: int
    users: tuple[int, ...] = ()


class _Marker(msgspec.Struct, frozen=True):
    profile: str
    version: str
    source: str = ""


def list_runtimes(cache: Path) -> tuple[CachedRuntime, ...]:
    """Every environment in the cache, by name."""
    return tuple(_describe(home, cache) for home in _homes(cache))


def select_runtimes(known: Sequence[CachedRuntime], names: Sequence[str]) -> tuple[CachedRuntime, ...]:
    """The environments called so: by full name, or all of a `PROFILE-VERSION` or `VERSION`.

    Raises InvalidInputError naming every name that fits nothing.
    """
    chosen: dict[str, CachedRuntime] = {}
    problems = []
    for name in names:
        fitting = [each for each in known if name in {each.name, f"{each.profile}-{each.version}", each.version}]
        chosen.update({each.name: each for each in fitting})
        if not fitting:
            there = ", ".join(each.name for each in known) or "none"
            problems.append(
                Problem(
                    what=f"no environment {name!r}", why=f"there are {there}", remedy="name one of them, or its version"
                )
            )
    if problems:
        raise InvalidInputError(*problems)
    return tuple(chosen.values())


def remove_runtimes(
    chosen: Sequence[CachedRuntime], cache: Path, *, progress: Callable[[str], None]
) -> tuple[CachedRuntime, ...]:
    """Remove environments that nothing runs in; those that were removed.

    Waits for a process that is making one of them. Raises InvalidInputError, with nothing removed, if any is in use.
    """
    if used := [each for each in chosen if each.users]:
        raise InvalidInputError(
            *(
                Problem(
                    what=f"{each.name} is in use",
                    why=f"by process {', '.join(map(str, each.users))}",
                    remedy="stop the graph first: stator status, stator down",
                )
                for each in used
            )
        )
    for each in chosen:
        waiting = f"waiting for another process that makes {each.name}"
        with exclusive(cache / f"{each.name}.lock", waiting=lambda said=waiting: progress(said)):  # type: ignore[misc]
            # First what says that it is complete: an interrupted removal is then made anew, not trusted.
            (Path(each.path) / MARKER).unlink(missing_ok=True)
            shutil.rmtree(each.path, ignore_errors=True)
    return tuple(chosen)


def _homes(cache: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        for entry in sorted(cache.iterdir()):
            if entry.is_dir() and _NAME.fullmatch(entry.name):
                yield entry


def _describe(home: Path, cache: Path) -> CachedRuntime:
    try:
        marker = msgspec.json.decode((home / MARKER).read_bytes(), type=_Marker)
    except (OSError, msgspec.DecodeError):
        # PROFILE-VERSION-DIGEST; a profile holds dashes, a version none.
        front = home.name.rpartition("-")[0]
        marker = _Marker(front.rpartition("-")[0], front.rpartition("-")[2])
    return CachedRuntime(
        name=home.name,
        path=str(home),
        profile=marker.profile,
        version=marker.version,
        source=marker.source,
        state=_state(home, marker, cache),
        size=_size(home),
        users=tuple(_users(home)),
    )


def _state(home: Path, marker: _Marker, cache: Path) -> State:
    if not is_complete(home):
        return "incomplete"
    if marker.profile not in PROFILES:
        # Made from a user's own file: only that file could say whether it still is what it was.
        return "current"
    request = RuntimeRequest(
        image="", profile=msgspec.convert(marker.profile, type=Literal["base", "sglang-cpu"]), version=marker.version
    )
    return "current" if home_of(request, cache) == home else "outdated"


def _size(home: Path) -> int:
    total = 0
    for directory, _, files in os.walk(home):
        for name in files:
            with suppress(OSError):
                total += (Path(directory) / name).lstat().st_blocks * _BLOCK
    return total


def _users(home: Path) -> Iterator[int]:
    """Processes that were started with the environment's programs first on their PATH, their children included."""
    wanted = f"{home}/bin".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if wanted in (entry / "environ").read_bytes():
                    yield int(entry.name)
