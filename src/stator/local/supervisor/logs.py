"""A container's output, in a file that does not grow without bound."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from stator.local.settings import Settings
from stator.local.supervisor.concealing import Concealer

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
    """Copies the read end of a container's output pipe to its log, and shows each complete line to `on_line`.

    With secrets to conceal, output waits for the end of its line: a value may come in two pieces.
    """

    def __init__(self, log: RotatingLog, on_line: Callable[[bytes], None], concealer: Concealer | None = None) -> None:
        self._log = log
        self._on_line = on_line
        self._concealer = concealer
        self._rest = b""
        self.ended = asyncio.Event()
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = transport

    def close(self) -> None:
        """Read no more, whoever may still be writing."""
        self._flush()
        if self._transport:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        *lines, rest = (self._rest + data).split(b"\n")
        if self._concealer is None:
            self._log.write(data)
            self._rest = rest[-_LONGEST_LINE:]
        else:
            if lines:
                self._log.write(b"".join(self._concealer.line(line) + b"\n" for line in lines))
            self._rest = self._beginning_written(rest, self._concealer)
        for line in lines:
            self._on_line(line)

    def _beginning_written(self, rest: bytes, concealer: Concealer) -> bytes:
        """What is still to be written of a line without end; of a long one only what may begin a secret."""
        if len(rest) <= _LONGEST_LINE:
            return rest
        shown = concealer.line(rest)
        cut = max(len(shown) - concealer.longest, 0)
        self._log.write(shown[:cut])
        return shown[cut:]

    def _flush(self) -> None:
        if self._concealer and self._rest:
            self._log.write(self._concealer.line(self._rest))
            self._rest = b""

    def connection_lost(self, _error: Exception | None) -> None:
        """Called by the loop when nobody holds the write end any more."""
        self._flush()
        self.ended.set()
