"""Whether a program that follows a cluster is alive, and whether it knows enough to be useful.

Dead is: no watch of all was known to be alive for `DEAD_AFTER` seconds, so nothing is seen any more and a new process
(with new connections and credentials) may do better. One kind that cannot be listed, because its definition was
removed or a permission is missing, is no reason to restart: the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from stator.kube.informer import Informer

# A silent watch is given up after 150 seconds, and the longest wait before the next is 30.
DEAD_AFTER = 300.0


class Health:
    """Answers for a kubelet's probes: why not, or `""`. Counts from when it was made."""

    def __init__(self, informers: Iterable[Informer], *, dead_after: float = DEAD_AFTER) -> None:
        self._informers = tuple(informers)
        self._dead_after = dead_after
        self._start = asyncio.get_running_loop().time()

    def why_dead(self) -> str:
        """For `/healthz`."""
        now = asyncio.get_running_loop().time()
        silent = [now - (self._start if each.alive_at is None else each.alive_at) for each in self._informers]
        if not silent or min(silent) < self._dead_after:
            return ""
        return f"no watch is alive; the last sign of one was {min(silent):.0f} seconds ago"

    def why_not_ready(self) -> str:
        """For `/readyz`."""
        missing = sorted(str(each.kind) for each in self._informers if not each.synced.is_set())
        return f"not listed yet: {', '.join(missing)}" if missing else ""
