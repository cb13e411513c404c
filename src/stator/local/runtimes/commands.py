"""Run a program that takes its time, handing its lines on while it runs."""

from __future__ import annotations

import re
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

_TAIL = 60
_USER_INFO = re.compile(r"(\w+://)[^/@\s]+@")


class Ended(msgspec.Struct, frozen=True):
    """How a program ended: its exit status, and the last lines it wrote, oldest first."""

    status: int
    lines: tuple[str, ...]


def run(
    argv: Sequence[str],
    *,
    progress: Callable[[str], None],
    cwd: Path,
    env: Mapping[str, str],
    lock: int,
) -> Ended:
    """Run `argv` to its end; every line it writes goes to `progress`. It is ended when the caller is interrupted.

    The child inherits the descriptor `lock` (see `locking.exclusive`). User names and passwords in URLs are cut out
    of the lines, as an index URL may carry them.
    """
    tail: deque[str] = deque(maxlen=_TAIL)
    with subprocess.Popen(  # noqa: S603 - an argv, no shell; programs are uv and interpreters we made
        argv,
        cwd=cwd,
        env=dict(env),
        pass_fds=(lock,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for raw in process.stdout or ():
                if line := _USER_INFO.sub(r"\1", raw.rstrip()):
                    tail.append(line)
                    progress(line)
        except BaseException:
            process.terminate()
            raise
    return Ended(process.returncode, tuple(tail))
