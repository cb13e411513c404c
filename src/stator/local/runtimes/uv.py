"""Calling uv, and turning what it complains about into problems that say what to do."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
from uv import find_uv_bin

from stator.errors import Problem, StatorError
from stator.local.runtimes.commands import Ended, run


class RuntimeUnavailableError(StatorError):
    """An environment or a model directory is not there and could not be made."""


class UvError(RuntimeUnavailableError):
    """uv failed; `reason` is the kind of failure, `other` if it is none of the known ones."""

    def __init__(self, problem: Problem, reason: str) -> None:
        super().__init__(problem)
        self.reason = reason


class Uv(msgspec.Struct, frozen=True, kw_only=True):
    """How uv is called: where, whether it may use the network, who hears its lines, which lock it shares.

    The user's own uv settings (an index of their own, certificates, the cache's place) stay in force.
    """

    cwd: Path
    lock: int
    progress: Callable[[str], None]
    offline: bool = False

    def __call__(self, *arguments: str, purpose: str) -> None:
        """Run `uv ARGUMENTS`. Raises UvError; its problem's `what` is `purpose`, "cannot …"."""
        try:
            binary = find_uv_bin()
        except FileNotFoundError as error:
            raise RuntimeUnavailableError(
                Problem(what=purpose, why="uv is not installed", remedy="install stator again, with its dependencies")
            ) from error
        argv = [binary, *arguments, "--color", "never", *(["--offline"] if self.offline else [])]
        ended = run(argv, progress=self._tell, cwd=self.cwd, env=os.environ, lock=self.lock)
        if ended.status:
            raise _failure(purpose, ended)

    def _tell(self, line: str) -> None:
        """Hand on what shows that something is going on; a failure is reported by the error, packages by the list."""
        if line.lstrip().startswith(_TOLD):
            self.progress(line.strip())


_TOLD = ("Resolved", "Downloading", "Downloaded", "Building", "Built", "Prepared", "Installed", "warning:")


class _Failure(msgspec.Struct, frozen=True):
    """A kind of failure: how uv's text shows it, why it is in our words (`{0}`: the matched text), what to do."""

    reason: str
    pattern: str
    why: str
    remedy: str


# In this order: the first that matches explains the failure.
_FAILURES = (
    _Failure(
        "disk",
        r"No space left on device|os error 28\b",
        "no space left on the disk",
        "free space, or set XDG_CACHE_HOME",
    ),
    _Failure(
        "offline",
        r"network was disabled|network connectivity is disabled|not found in the cache",
        "not everything it needs is in uv's cache, and the network is off",
        "run once with the network",
    ),
    _Failure(
        "network",
        r"error sending request|dns error|Connection refused|timed out|error trying to connect|Network is unreachable",
        "the package index cannot be reached",
        "check the network and uv's index and proxy settings (UV_DEFAULT_INDEX, HTTPS_PROXY)",
    ),
    _Failure(
        "credentials",
        r"40[13] (?:Unauthorized|Forbidden)",
        "the package index refuses access ({0})",
        "check uv's index credentials",
    ),
    _Failure(
        "hash",
        r"Hash mismatch for `[^`]*`",
        "the package index serves another file than the one that was checked ({0})",
        "do not use that index; if the hash is your own, correct it",
    ),
    _Failure(
        "unpublished",
        r"there (?:is|are) no versions? of [\w.-]+==[^\s,]+|[\w.-]+ was not found in the package registry",
        "{0}",
        "correct the version",
    ),
    _Failure(
        "interpreter",
        r"No interpreter found for [^\n]*|Failed to inspect Python interpreter from [^\n]*",
        "no suitable Python ({0})",
        "install a Python of that version",
    ),
    _Failure(
        "platform",
        r"no wheels? with a matching [^\n]*|doesn't have a source distribution or wheel for the current platform",
        "a package has no wheel for this machine ({0})",
        "use a Linux machine with glibc 2.34 or newer, or map the image to an environment in stator.toml",
    ),
)


def _failure(purpose: str, ended: Ended) -> UvError:
    text = "\n".join(ended.lines)
    for failure in _FAILURES:
        if found := re.search(failure.pattern, text):
            return UvError(
                Problem(what=purpose, why=failure.why.format(found[0]), remedy=failure.remedy), failure.reason
            )
    said = " / ".join(line.strip() for line in ended.lines[-6:]) or f"exit status {ended.status}"
    return UvError(Problem(what=purpose, why=f"uv failed: {said}"), "other")
