"""`stator matrix` for real: two minor lines of published runtimes, mixed both ways."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from command import DEADLINE, EXAMPLES, Stator

pytestmark = pytest.mark.real

CHAT = str(EXAMPLES / "chat.yaml")


def results(file: Path) -> dict[str, dict[str, Any]]:
    """The results so far, by cell."""
    found: dict[str, dict[str, Any]] = json.loads(file.read_text())["results"] if file.exists() else {}
    return found


def failed_checks(result: dict[str, Any]) -> list[str]:
    """The names of the checks with a violation."""
    return [check["name"] for check in result["checks"] if check.get("violations")]


def test_an_interrupted_matrix_leaves_nothing_and_goes_on_where_it_was(stator: Stator, tmp_path: Path) -> None:
    """Ctrl-C after the first cell; resumed, only the others run; every mix is judged against its controls.

    The stop word ends a request at a worker whose mocker, before 1.6, then ends its stream without a finish reason; so
    these releases fail that one check, alone as in the mix, and no other.
    """
    file, page = tmp_path / "results.json", tmp_path / "page.html"
    options = ("matrix", CHAT, "--window", "1", "--results", str(file))
    first = stator.start(*options)
    assert first.stdout
    while not first.stdout.readline().startswith("[1/4"):
        assert first.poll() is None
    # As `timeout` does, and people who cannot wait: the second one changes nothing.
    first.send_signal(signal.SIGINT)
    first.send_signal(signal.SIGTERM)
    output, _ = first.communicate(timeout=DEADLINE)
    assert first.returncode == 130, output
    assert stator.processes() == []
    before = results(file)
    assert before

    done = stator(*options, "--resume", "--html", str(page))
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"[1/{4 - len(before)}" in done.stdout
    after = results(file)
    assert {name: result for name, result in after.items() if name in before} == before
    assert {name: failed_checks(result) for name, result in after.items()} == {
        "chat-f1-6-1-w1-6-1": [],
        "chat-f1-5-1-w1-5-1": ["stop word"],
        "chat-f1-6-1-w1-5-1": ["stop word"],
        "chat-f1-5-1-w1-6-1": [],
    }
    assert "not the mix: 1.5.1 alone fails in the same way" in done.stdout
    assert all(result["memory"] > 10_000_000 for result in after.values())
    assert "last lines of" in page.read_text()


def test_a_killed_matrix_takes_its_graphs_with_it(stator: Stator, tmp_path: Path) -> None:
    """Kill -9 of the command: its graph is stopped in order, and another run can begin."""
    options = ("matrix", CHAT, "--window", "0", "--results", str(tmp_path / "results.json"))
    run = stator.start(*options)
    deadline = time.monotonic() + DEADLINE
    while not stator.processes():
        assert time.monotonic() < deadline
    run.kill()
    run.communicate()
    while stator.processes():
        assert time.monotonic() < deadline
    again = stator(*options)
    assert again.returncode == 0, again.stdout + again.stderr


def test_a_runtime_that_dies_at_start_is_shown_with_its_last_words(stator: Stator, tmp_path: Path) -> None:
    """A failed cell, not a hung run; the log says which option it was."""
    graph, file = tmp_path / "graph.yaml", tmp_path / "results.json"
    graph.write_text(Path(CHAT).read_text().replace("--model-name, tiny]", "--model-name, tiny, --no-such-option]"))
    config = str(EXAMPLES / "stator.toml")
    done = stator("matrix", str(graph), "--window", "0", "--results", str(file), "--config", config)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "CrashLoopBackOff" in done.stdout
    (result,) = results(file).values()
    assert any("--no-such-option" in line for log in result["logs"] for line in log["lines"])


def test_a_release_that_is_not_published_is_no_evidence(stator: Stator, tmp_path: Path) -> None:
    """Its cells are not run, which the exit code and the reason say."""
    file = tmp_path / "results.json"
    done = stator("matrix", CHAT, "--baseline", "1.6.999", "--window", "0", "--results", str(file))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "runtime 1.6.999 is not published" in done.stdout
