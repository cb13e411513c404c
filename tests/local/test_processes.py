"""Finding and ending processes by identity, never by number alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest
from running import wait_until

from stator.local import processes

SLEEP = [sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)"]


@pytest.fixture
def marker() -> Iterator[str]:
    """A marker of this test's own, whose processes are gone when it ends."""
    name = f"test-{os.getpid()}-{os.urandom(4).hex()}"
    yield name
    for identity in processes.members(name):
        processes.send(identity, signal.SIGKILL)


def spawn(marker: str, argv: list[str] | None = None) -> subprocess.Popen[bytes]:
    """A marked process in a session of its own, running."""
    env = {**os.environ, processes.MARKER: marker}
    process = subprocess.Popen(argv or SLEEP, env=env, start_new_session=True, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    return process


def test_a_process_of_the_same_pid_but_another_time_is_left_alone(marker: str) -> None:
    """A recorded pid that was reused names nobody."""
    process = spawn(marker)
    identity = processes.identify(process.pid)
    assert identity
    earlier = msgspec.structs.replace(identity, started=identity.started - 1)
    assert not processes.is_alive(earlier)
    assert not processes.send(earlier, signal.SIGKILL)
    assert processes.send(identity, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not processes.is_alive(identity)


def test_members_are_found_by_marker_session_and_descent(marker: str) -> None:
    """Also a child without the marker, and one that left the session and lost the marker."""
    script = (
        "import os, subprocess, sys, time\n"
        "bare = {name: value for name, value in os.environ.items() if name != 'STATOR_GRAPH'}\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(1000)']\n"
        "subprocess.Popen(sleep, env=bare)\n"
        "subprocess.Popen(sleep, env=bare, start_new_session=True)\n"
        "print(flush=True)\n"
        "time.sleep(1000)\n"
    )
    process = spawn(marker, [sys.executable, "-c", script])
    found = processes.members(marker)
    assert len(found) == 3
    assert os.getpid() not in {identity.pid for identity in found}
    assert processes.members("somebody else's") == ()
    process.kill()
    process.wait()


def test_a_recorded_leader_counts_without_its_marker(marker: str) -> None:
    """A process may overwrite its environment; the status still has its identity."""
    process = spawn("")
    identity = processes.identify(process.pid)
    assert identity
    assert processes.members(marker, [identity]) == (identity,)
    process.kill()
    process.wait()


def test_ending_asks_first_and_kills_what_does_not_listen(marker: str) -> None:
    """SIGTERM to all, SIGKILL after the grace, until nothing is left."""
    polite = spawn(marker)
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(1000)"
    stubborn = spawn(marker, [sys.executable, "-c", script])
    now = 0.0

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds
        wait_until(lambda: polite.poll() is not None)

    ended = processes.end(lambda: processes.members(marker), grace=1, pause=pause, clock=lambda: now)
    assert ended == 2
    assert now >= 1
    assert polite.wait() == -signal.SIGTERM
    assert stubborn.wait() == -signal.SIGKILL
