"""Python environments that stand in for images: made once with uv, kept in a cache, taken as they are afterwards.

An environment is a directory `PROFILE-VERSION-DIGEST` of the cache; the digest covers the requirement list and the
Python version, so that another list is another environment and none is ever changed in place. A virtual environment
holds absolute paths and cannot be renamed, so completeness is a marker file that is written last: a directory
without it is a creation that was interrupted, and is made anew.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from stator.errors import Problem
from stator.local.runtimes.lists import compile_list, list_inputs, shipped_list
from stator.local.runtimes.locking import exclusive
from stator.local.runtimes.profiles import PROFILES, Profile
from stator.local.runtimes.request import RuntimeRequest
from stator.local.runtimes.uv import RuntimeUnavailableError, Uv

MARKER = "stator-runtime.json"
_LIST = "requirements.txt"
_ROTARY_EMBEDDING = Path(__file__).parent / "rotary_embedding.py"


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """An environment that is there.

    `python` is its interpreter, `bin` the directory to put first on PATH. `source` says in words what it was made
    from.
    """

    image: str
    python: str
    bin: str
    profile: str
    version: str
    source: str


class _Environment(msgspec.Struct, frozen=True, kw_only=True):
    """A directory of the cache and what goes into it.

    `python` is the interpreter as uv takes it: a path or a version range. `requirements` is None if the list is
    resolved when the environment is made. `closed`: the list names every package, with hashes.
    """

    home: Path
    profile: Profile
    python: str
    requirements: Path | None
    closed: bool
    source: str


def default_cache() -> Path:
    """`$XDG_CACHE_HOME/stator/runtimes`, or below `~/.cache` (XDG Base Directory Specification)."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "stator" / "runtimes"


def ensure(request: RuntimeRequest, *, cache: Path, progress: Callable[[str], None], offline: bool = False) -> Runtime:
    """The environment for `request`, made in the directory `cache` if it is missing.

    `progress` hears one line at a time while something is made, nothing if the environment is there (which takes a
    few file look-ups). Processes that ask for the same one make it once: the others wait. `offline` uses uv's
    package cache only.

    Raises RuntimeUnavailableError: release not published, no network, no space, no suitable Python, no wheel for
    this machine, or an interpreter or requirements file of stator.toml that is not there.
    """
    if request.origin == "python":
        return _own_interpreter(request)
    environment = _environment(request, cache)
    runtime = _runtime(request, environment)
    if is_complete(environment.home):
        return runtime
    _check_machine(environment.profile, request)
    _check_space(environment, cache, request)
    try:
        with exclusive(
            cache / f"{environment.home.name}.lock",
            waiting=lambda: progress(f"waiting for another process that makes {environment.home.name}"),
        ) as lock:
            if not is_complete(environment.home):
                uv = Uv(cwd=cache, lock=lock, progress=progress, offline=offline)
                _make(environment, request, uv, progress)
    except OSError as error:
        raise _from_os(error, f"cannot make the environment {environment.home}") from error
    return runtime


def home_of(request: RuntimeRequest, cache: Path) -> Path:
    """The directory in which `ensure` has, or would make, the environment; nothing is made."""
    return _environment(request, cache).home


def _own_interpreter(request: RuntimeRequest) -> Runtime:
    python = Path(request.path)
    if not (python.is_file() and os.access(python, os.X_OK)):
        raise RuntimeUnavailableError(
            Problem(
                what=f"no Python for image {request.image}",
                why=f"{python}, named in stator.toml, is not an executable file",
                remedy="correct the path",
            )
        )
    return Runtime(
        image=request.image,
        python=str(python),
        bin=str(python.parent),
        profile=request.profile,
        version=request.version,
        source="interpreter of stator.toml",
    )


def _environment(request: RuntimeRequest, cache: Path) -> _Environment:
    """Where the environment is and what it is made from; reads requirement lists, nothing else."""
    # A file of the user's own is installed into the widest range of interpreters.
    profile = PROFILES["base" if request.profile == "custom" else request.profile]
    low, high = profile.python
    own = sys.version_info[:2]
    suits = low <= own < high
    version = f"{own[0]}.{own[1]}" if suits else f">={low[0]}.{low[1]},<{high[0]}.{high[1]}"
    requirements: Path | None
    if request.profile == "custom":
        requirements = Path(request.path)
        try:
            content = requirements.read_bytes()
        except OSError as error:
            raise _from_os(error, f"cannot read the requirements of image {request.image}") from error
        name, source = f"custom-{requirements.stem}", f"requirements file {requirements}"
    else:
        name, requirements = f"{request.profile}-{request.version}", shipped_list(request.profile, request.version)
        if requirements is None:
            content = list_inputs(request.profile, request.version).encode()
            source = f"ai-dynamo {request.version}, resolved by uv when it was made"
        else:
            content, source = requirements.read_bytes(), f"ai-dynamo {request.version}, list of stator"
    if request.profile == "sglang-cpu":
        content += _ROTARY_EMBEDDING.read_bytes()
    digest = hashlib.sha256(content + b"\0" + version.encode()).hexdigest()[:12]
    return _Environment(
        home=cache / f"{name}-{digest}",
        profile=profile,
        python=sys.executable if suits else version,
        requirements=requirements,
        closed=request.profile != "custom",
        source=source,
    )


def _runtime(request: RuntimeRequest, environment: _Environment) -> Runtime:
    return Runtime(
        image=request.image,
        python=str(environment.home / "bin" / "python"),
        bin=str(environment.home / "bin"),
        profile=request.profile,
        version=request.version,
        source=environment.source,
    )


def is_complete(home: Path) -> bool:
    """The marker is there, and the interpreter the environment was made with still is."""
    return (home / MARKER).is_file() and os.access(home / "bin" / "python", os.X_OK)


def _make(environment: _Environment, request: RuntimeRequest, uv: Uv, progress: Callable[[str], None]) -> None:
    home, name = environment.home, environment.home.name
    if home.exists():
        progress(f"removing {name}, which was not completed")
        shutil.rmtree(home)
    try:
        progress(f"making {name}")
        uv(
            *("venv", "--no-project", "--python", environment.python, str(home)),
            purpose=f"cannot make the environment {name}",
        )
        requirements = environment.requirements
        if requirements is None:
            progress(f"resolving the packages of runtime {request.version}")
            requirements = home / _LIST
            compile_list(environment.profile, request.version, requirements, uv)
        uv(
            *("pip", "install", "--python", str(home / "bin" / "python"), "--requirements", str(requirements)),
            *(("--no-deps", "--require-hashes") if environment.closed else ()),
            purpose=f"cannot install the packages of {name}",
        )
        if request.profile == "sglang-cpu":
            _add_rotary_embedding(home)
        _complete(home, environment, request)
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise


def _add_rotary_embedding(home: Path) -> None:
    """Put the operator where SGLang looks for it on the CPU (see `rotary_embedding`)."""
    (site,) = home.glob("lib/python*/site-packages")
    package = site / "vllm"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copyfile(_ROTARY_EMBEDDING, package / "_custom_ops.py")


def _complete(home: Path, environment: _Environment, request: RuntimeRequest) -> None:
    """Write the marker, atomically and last: it also says what the directory is to whoever lists the cache."""
    marker = {
        "image": request.image,
        "profile": request.profile,
        "version": request.version,
        "source": environment.source,
    }
    partial = home / f"{MARKER}.partial"
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(marker)))
    partial.replace(home / MARKER)


def _check_machine(profile: Profile, request: RuntimeRequest) -> None:
    if profile.machines and platform.machine() not in profile.machines:
        raise RuntimeUnavailableError(
            Problem(
                what=f"image {request.image} cannot run on this machine",
                why=f"{profile.name} exists for {', '.join(profile.machines)}, this is {platform.machine()}",
                remedy="run it with --engine mocker, or map the image to an environment of yours in stator.toml",
            )
        )


def _check_space(environment: _Environment, cache: Path, request: RuntimeRequest) -> None:
    """Refuse before gigabytes are downloaded. A user's own list has no known size."""
    disk = next(path for path in (cache, *cache.absolute().parents) if path.exists())
    free, needed = shutil.disk_usage(disk).free, environment.profile.size
    if request.profile != "custom" and free < needed:
        raise RuntimeUnavailableError(
            Problem(
                what=f"cannot make the environment {environment.home.name}",
                why=f"it takes up to {needed / 1e9:.1f} GB, and {disk} has {free / 1e9:.1f} GB free",
                remedy="free space, or set XDG_CACHE_HOME to a larger disk",
            )
        )


def _from_os(error: OSError, what: str) -> RuntimeUnavailableError:
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    return RuntimeUnavailableError(
        Problem(
            what=what,
            why=f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}",
            remedy="free space, or set XDG_CACHE_HOME" if full else "",
        )
    )
