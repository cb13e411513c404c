"""A container's output, in a file that does not grow without bound."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from stator.local.settings import Settings

# A line longer than this is not looked at as a whole: no log line that means something is.
_LONGEST_LINE = 64 * 1024


class RotatingLog:
    """Appends to `path`; the older files are `path.1` (the newest) to `path.N`.

    A disk that refuses costs the output, never the container.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path = path
        self._settings = settings
        self._descriptor = self._open()
        self._size = os.fstat(self._descriptor).st_size

    def write(self, data: bytes) -> None:
        """Append; files end at the end of a line where they can."""
        try:
            while data:
                room = self._settings.log_bytes - self._size
                cut = len(data) if len(data) <= room else data.rfind(b"\n", 0, max(room, 0)) + 1
                if cut == 0 and self._size:
                    self._rotate()
                    continue
                piece = data[: cut or room]
                self._size += os.write(self._descriptor, piece)
                data = data[len(piece) :]
        except OSError:
            return

    def close(self) -> None:
        """No more output."""
        os.close(self._descriptor)

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def _rotate(self) -> None:
        os.close(self._descriptor)
        names = [self._path, *(Path(f"{self._path}.{number}") for number in range(1, self._settings.log_files))]
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)
        if len(names) == 1:
            self._path.unlink()
        self._descriptor, self._size = self._open(), 0


class OutputPump(asyncio.Protocol):
    """Copies the read end of a container's output pipe to its log, and shows each complete line to `on_line`."""

    def __init__(self, log: RotatingLog, on_line: Callable[[bytes], None]) -> None:
        self._log = log
        self._on_line = on_line
        self._rest = b""
        self.ended = asyncio.Event()
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = transport

    def close(self) -> None:
        """Read no more, whoever may still be writing."""
        if self._transport:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        self._log.write(data)
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-_LONGEST_LINE:]
        for line in lines:
            self._on_line(line)

    def connection_lost(self, _error: Exception | None) -> None:
        """Called by the loop when nobody holds the write end any more."""
        self.ended.set()
