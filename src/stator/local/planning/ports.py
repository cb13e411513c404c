"""Which port of this machine stands for which port of a pod."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Callable, Collection

from stator.errors import Problem, StatorError

# The runtimes read DYN_SYSTEM_PORT as a 16-bit signed number, and Linux gives out ephemeral ports from 32768 on.
FIRST, LAST = 20000, 31999


def is_free(port: int) -> bool:
    """Whether a server could listen on 127.0.0.1:`port` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class PortAllocator:
    """Gives out free ports, each once.

    The search begins at a place derived from `seed` (the graph's id), so that a graph gets the same ports again when
    it can, and two graphs started at the same moment do not reach for the same one. `taken` are ports that other
    graphs planned with, whether they listen yet or not.
    """

    def __init__(self, seed: str, *, taken: Collection[int] = (), free: Callable[[int], bool] = is_free) -> None:
        self._next = FIRST + zlib.crc32(seed.encode()) % (LAST + 1 - FIRST)
        self._given = set(taken)
        self._free = free

    def allocate(self) -> int:
        """A free port between 20000 and 31999. Raises StatorError if there is none."""
        for _ in range(FIRST, LAST + 1):
            port = self._next
            self._next = FIRST if port == LAST else port + 1
            if self._take(port):
                return port
        raise StatorError(
            Problem(what=f"no free port between {FIRST} and {LAST}", remedy="stop a graph with `stator down`")
        )

    def reserve(self, port: int) -> bool:
        """Take exactly `port`; False if it is not to be had."""
        return self._take(port)

    def prefer(self, port: int) -> int:
        """`port` if it is free, else the next free one above it. Raises StatorError if there is none."""
        for candidate in range(port, 65536):
            if self._take(candidate):
                return candidate
        raise StatorError(Problem(what=f"no free port from {port} on"))

    def _take(self, port: int) -> bool:
        if port in self._given or not self._free(port):
            return False
        self._given.add(port)
        return True


class PodPorts:
    """The ports of one pod: its number in the cluster to its number here.

    A pod has an address of its own in a cluster and shares this machine's here, so a port that the process is told
    (by a variable or a flag) is moved to a free one. A port the process chooses by itself cannot be moved.
    """

    def __init__(self, allocator: PortAllocator) -> None:
        self._allocator = allocator
        self.moved: dict[int, int] = {}
        self.secret: set[int] = set()

    def move(self, port: int, *, secret: bool = False) -> int:
        """The local port for a port the process is told. Telling it again gives the same answer.

        `secret` says that a Secret tells it; a port is kept as secret only as long as nothing else tells it too.
        """
        if port not in self.moved and secret:
            self.secret.add(port)
        elif not secret:
            self.secret.discard(port)
        if port in self.moved.values():
            return port
        if port not in self.moved:
            self.moved[port] = self._allocator.allocate()
        return self.moved[port]

    def local(self, port: int) -> int:
        """Where a port of this pod is found here."""
        return self.moved.get(port, port)
