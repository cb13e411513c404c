"""`stator rehearse` for real: a worker goes from one published release to the next while clients use it."""

from __future__ import annotations

import json
import signal

import pytest
from command import DEADLINE, EXAMPLES, Stator

pytestmark = pytest.mark.real


def test_no_request_fails_while_a_worker_is_upgraded(stator: Stator) -> None:
    """1.5.1 to 1.6.1 behind a 1.6.1 frontend: both serve at once for a while, and nothing is left afterwards.

    A request that the frontend sends to the old mocker in the very moment it is asked to end is the mocker's own.
    """
    done = stator("rehearse", str(EXAMPLES / "chat.yaml"), "--set", "worker=1.6.1", "--hold", "3", "-o", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    rehearsal = json.loads(done.stdout)
    both = next(phase for phase in rehearsal["phases"] if phase["kind"] == "both")
    assert both["serving"]["Worker"] == ["1.5.1", "1.6.1"]
    assert set(both["served"]) == {"1.5.1", "1.6.1"}
    assert sum(count["sent"] for count in rehearsal["counts"]) > 30
    assert sum(count["failed"] - count["refused"] for count in rehearsal["counts"]) == 0
    assert stator.processes() == []


def test_an_interrupted_rehearsal_says_what_it_stops(stator: Stator) -> None:
    """Ctrl-C under traffic: the pods that run are named, and none is left."""
    process = stator.start("rehearse", str(EXAMPLES / "chat.yaml"), "--set", "worker=1.6.1", "--hold", "60")
    assert process.stdout
    while "before" not in (line := process.stdout.readline()):
        assert process.poll() is None, line
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130, output
    assert "stopping chat-frontend-0 at 1.6.1, chat-worker-" in output
    assert "interrupted; nothing runs any more, and there is no result" in output
    assert stator.processes() == []
