"""One maker at a time: a lock between processes that dies with its holders."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path, *, waiting: Callable[[], None]) -> Iterator[int]:
    """Hold an exclusive lock on the file `path` (made if missing); `waiting` is called once if it is taken.

    Yields the descriptor. A child that inherits it holds the lock as well: when the parent is killed, nobody else
    starts until the child, which still writes, has ended too (flock(2): the lock belongs to the open file).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
