"""Find and end processes, never the wrong ones.

A pid alone names nobody: it is reused. So a process is known by its pid and start time, and everything a graph
starts carries `STATOR_GRAPH=<marker>` in its environment, which children inherit. A process may lose the marker (a
title written over the environment area) or leave its parent's session, so the members of a graph are the marked
processes, their sessions, and their descendants. One that does both and gives up its parent is still a descendant of
its supervisor, which adopts orphans. Linux only: this reads `/proc` (proc(5)).
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from stator.local.state import ProcessIdentity

MARKER = "STATOR_GRAPH"

_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36


class _Entry(msgspec.Struct, frozen=True):
    identity: ProcessIdentity
    parent: int
    session: int
    state: str


def identify(pid: int) -> ProcessIdentity | None:
    """The identity of a live process; None if there is none (a zombie is none: it runs nothing)."""
    entry = _entry(pid)
    return entry.identity if entry and entry.state != "Z" else None


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether this very process still runs."""
    return identify(identity.pid) == identity


def send(identity: ProcessIdentity, number: signal.Signals) -> bool:
    """Signal this very process; False if it is gone."""
    if not is_alive(identity):
        return False
    try:
        os.kill(identity.pid, number)
    except ProcessLookupError:
        return False
    return True


def members(marker: str, leaders: Collection[ProcessIdentity] = ()) -> tuple[ProcessIdentity, ...]:
    """All live processes of a start: marked ones and `leaders` that still live, their sessions and descendants.

    This process is never one of them.
    """
    entries = {entry.identity.pid: entry for entry in _entries()}
    text = f"{MARKER}={marker}".encode()
    found = {pid for pid in entries if text in _environment(pid)}
    found |= {leader.pid for leader in leaders if leader.pid in entries and entries[leader.pid].identity == leader}
    return _closure(entries, found)


def session_members(leader: int) -> tuple[ProcessIdentity, ...]:
    """What is left of the session that process `leader` opened, with descendants that left it.

    Only to be asked while nothing can have reused `leader` as a pid: by its parent, before or right after waiting
    for it. The kernel does not give out a pid again while it names a session that has members.
    """
    entries = {entry.identity.pid: entry for entry in _entries()}
    return _closure(entries, {pid for pid, entry in entries.items() if entry.session == leader})


def descendants(ancestor: int) -> tuple[ProcessIdentity, ...]:
    """All live processes below process `ancestor`."""
    entries = {entry.identity.pid: entry for entry in _entries()}
    found = {ancestor}
    while more := {pid for pid, entry in entries.items() if entry.parent in found} - found:
        found |= more
    found.discard(ancestor)
    return tuple(entries[pid].identity for pid in sorted(found) if entries[pid].state != "Z")


def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it (prctl(2), PR_SET_CHILD_SUBREAPER).

    Children of this one's own are not made so. Raises OSError.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def dead_children() -> frozenset[int]:
    """The children of this process that have ended and that nobody has waited for yet."""
    return frozenset(entry.identity.pid for entry in _entries() if entry.parent == os.getpid() and entry.state == "Z")


def end(
    find: Callable[[], Collection[ProcessIdentity]],
    *,
    grace: float,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """End what `find` finds: SIGTERM, SIGKILL after `grace` seconds, until nothing is found. Returns how many ended."""
    ended: set[ProcessIdentity] = set()
    deadline = clock() + grace
    asked: set[ProcessIdentity] = set()
    while remaining := set(find()):
        ended |= remaining
        late = clock() >= deadline
        for identity in remaining if late else remaining - asked:
            send(identity, signal.SIGKILL if late else signal.SIGTERM)
        asked |= remaining
        pause(0.05)
    return len(ended)


def _closure(entries: dict[int, _Entry], found: set[int]) -> tuple[ProcessIdentity, ...]:
    own_session = os.getsid(0)
    while True:
        sessions = {entries[pid].session for pid in found} - {own_session}
        more = {
            pid for pid, entry in entries.items() if entry.session in sessions or entry.parent in found
        } - found  # fmt: skip
        if not more:
            break
        found |= more
    return tuple(entries[pid].identity for pid in sorted(found) if pid != os.getpid() and entries[pid].state != "Z")


def _entries() -> Iterator[_Entry]:
    for name in os.listdir(_PROC):  # noqa: PTH208 - names are all that is needed, of hundreds of entries
        if name.isdecimal() and (entry := _entry(int(name))):
            yield entry


def _entry(pid: int) -> _Entry | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the program's name in parentheses and may hold anything; the third follows the last one.
    fields = text.rpartition(")")[2].split()
    return _Entry(ProcessIdentity(pid, int(fields[19])), int(fields[1]), int(fields[3]), fields[0])


def _environment(pid: int) -> list[bytes]:
    with suppress(OSError):
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return []
