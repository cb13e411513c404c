"""Adopt the orphans of a graph, so that none is lost, and wait for them when they end, so that none stays a zombie.

A process that leaves its session, clears its environment and gives up its parent would belong to nobody. Here it
belongs to the supervisor, which ends it with the graph. (If the supervisor itself is killed, such a process is lost.)

The event loop waits for the processes that it started. Waiting for one of those here would take its exit status away,
so a dead child is an orphan only if it is still there after a while that the loop never needs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress

from stator.local import processes

_PATIENCE = 5.0


class Orphans:
    """Waits for dead orphans; between the deaths of children it does nothing."""

    def __init__(self) -> None:
        self._seen: frozenset[int] = frozenset()
        self._again: asyncio.TimerHandle | None = None

    def adopt(self) -> None:
        """Begin, in the loop that is running; where the kernel refuses, orphans are only found by their marker."""
        try:
            processes.adopt_orphans()
        except OSError as error:
            sys.stderr.write(f"orphans are not adopted: {error}\n")
            return
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._child_ended)

    def _child_ended(self) -> None:
        if self._again is None:
            self._again = asyncio.get_running_loop().call_later(_PATIENCE, self._wait_for_dead)

    def _wait_for_dead(self) -> None:
        self._again = None
        dead = processes.dead_children()
        for pid in dead & self._seen:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        self._seen = dead - self._seen
        if self._seen:
            self._child_ended()
