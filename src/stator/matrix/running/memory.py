"""How much memory processes take, and how much this machine has to give; Linux only (proc(5))."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from stator.local.state import ProcessIdentity

_PSS = re.compile(rb"^Pss:\s+(\d+) kB$", re.MULTILINE)
_AVAILABLE = re.compile(rb"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)


def proportional_size(members: Iterable[ProcessIdentity]) -> int:
    """Bytes that end with these processes: what they share is divided by how many share it. Gone ones count nothing."""
    total = 0
    for member in members:
        with suppress(OSError):
            if found := _PSS.search(Path(f"/proc/{member.pid}/smaps_rollup").read_bytes()):
                total += int(found[1]) * 1024
    return total


def available() -> int:
    """Bytes that can be taken without swapping, as the kernel estimates it."""
    found = _AVAILABLE.search(Path("/proc/meminfo").read_bytes())
    return int(found[1]) * 1024 if found else 0
