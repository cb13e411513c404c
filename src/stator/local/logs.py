"""Read the logs of a graph's containers."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from stator.local.state import GraphDirectory, GraphStatus, PodStatus

_POLL = 0.2


class LogLine(msgspec.Struct, frozen=True):
    """One line of a container's log, without its line end."""

    pod: str
    container: str
    text: str


def follow_logs(
    graph: GraphDirectory,
    *,
    select: Sequence[str] = (),
    follow: bool = False,
    lines: int | None = None,
) -> Iterator[LogLine]:
    """Log lines of the containers, each file in its order.

    `select` are names of components or pods (empty: all); `lines` is how many of the last lines of each container to
    begin with (None: all of the current file). `follow` goes on until the graph is stopped.
    """
    status = graph.read_status()
    if status is None:
        return
    readers = [
        _Reader(graph.path / container.log, pod.name, container.name)
        for pod in _selected(status, select)
        for container in pod.containers
    ]
    for reader in readers:
        first = [*reader.read(), *(() if follow else reader.rest())]
        yield from first if lines is None else deque(first, maxlen=lines)
    while follow:
        # The status is read before the logs: what was written until the graph stopped is still shown.
        now = graph.read_status()
        stopped = now is None or now.phase == "Stopped"
        for reader in readers:
            yield from reader.read()
        if stopped:
            for reader in readers:
                yield from reader.rest()
            return
        time.sleep(_POLL)


def _selected(status: GraphStatus, select: Sequence[str]) -> Iterator[PodStatus]:
    for pod in status.pods:
        if not select or pod.name in select or pod.component in select:
            yield pod


class _Reader:
    """Reads one log, through rotations: the file it has open is read to its end before the next one is opened."""

    def __init__(self, path: Path, pod: str, container: str) -> None:
        self._path, self._pod, self._container = path, pod, container
        self._inode, self._offset, self._rest = 0, 0, b""

    def read(self) -> Iterator[LogLine]:
        """The complete lines that were added since the last call."""
        for data in self._new_data():
            *lines, self._rest = (self._rest + data).split(b"\n")
            yield from (self._line(line) for line in lines)

    def rest(self) -> Iterator[LogLine]:
        """The last line, if it has no end."""
        if self._rest:
            yield self._line(self._rest)
            self._rest = b""

    def _new_data(self) -> Iterator[bytes]:
        """New bytes; first the end of the file that was rotated away in the meantime."""
        for path in (Path(f"{self._path}.1"), self._path):
            try:
                with path.open("rb") as file:
                    inode = os.fstat(file.fileno()).st_ino
                    current = path == self._path
                    if inode != self._inode and not current:
                        continue
                    if inode != self._inode:
                        self._inode, self._offset = inode, 0
                    file.seek(self._offset)
                    data = file.read()
                    self._offset += len(data)
            except FileNotFoundError:
                continue
            yield data

    def _line(self, line: bytes) -> LogLine:
        return LogLine(self._pod, self._container, line.rstrip(b"\r").decode("utf-8", "replace"))
