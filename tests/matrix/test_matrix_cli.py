"""`stator matrix` and `stator rehearse` as a user types them, where nothing has to run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def stator(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One command in a state directory of its own."""
    return subprocess.run(
        [sys.executable, "-m", "stator", *arguments],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "STATOR_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_plan_is_shown_without_running_anything(tmp_path: Path) -> None:
    """Controls first; the embedding graph also without its repair."""
    done = stator(tmp_path, "matrix", str(EXAMPLES / "embedding.yaml"), "--plan", "--window", "1", "--repairs", "both")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "1. embedding: frontend 1.6.1, worker 1.6.1",
        "2. embedding: frontend 1.5.1, worker 1.5.1",
        "3. embedding: frontend 1.6.1, worker 1.6.1 (no repairs)",
        "4. embedding: frontend 1.5.1, worker 1.5.1 (no repairs)",
        "5. embedding: frontend 1.6.1, worker 1.5.1",
        "6. embedding: frontend 1.5.1, worker 1.6.1",
        "7. embedding: frontend 1.6.1, worker 1.5.1 (no repairs)",
        "8. embedding: frontend 1.5.1, worker 1.6.1 (no repairs)",
        "8 cells",
    ]
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--baseline", "9.9"], "no release is selected for 9.9"),
        (["--baseline", "new"], "is no release"),
        (["--window", "5"], "wider than what is supported"),
        (["--resume"], "there are no results"),
        (["--releases", "none.yaml"], "none.yaml cannot be read"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_words(tmp_path: Path, arguments: list[str], said: str) -> None:
    """Exit code 2, and no traceback."""
    done = stator(tmp_path, "matrix", str(EXAMPLES / "chat.yaml"), *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_one_cell_is_counted_as_one(tmp_path: Path) -> None:
    """A window of none plans the baseline alone."""
    done = stator(tmp_path, "matrix", str(EXAMPLES / "chat.yaml"), "--plan", "--window", "0")
    assert done.stdout.splitlines() == ["1. chat: frontend 1.6.1, worker 1.6.1", "1 cell"]


def test_a_graph_that_cannot_run_here_is_refused_by_name(tmp_path: Path) -> None:
    """A GPU engine, before any environment is made; with the mocker in its place it can be planned."""
    graph = tmp_path / "vllm.yaml"
    text = (EXAMPLES / "chat.yaml").read_text().replace("dynamo.mocker", "dynamo.vllm")
    graph.write_text(text.replace("--model-name", "--served-model-name"))
    done = stator(tmp_path, "matrix", str(graph), "--plan")
    assert done.returncode == 2
    assert "the vLLM engine needs a GPU" in done.stderr
    assert stator(tmp_path, "matrix", str(graph), "--plan", "--engine", "mocker").returncode == 0


def test_reports_of_a_run_that_never_was_hold_no_pass(tmp_path: Path) -> None:
    """`--report` without results: every cell is no evidence, and the exit code says so."""
    done = stator(
        tmp_path, "matrix", str(EXAMPLES / "chat.yaml"), "--report", "--json", str(tmp_path / "r.json"), "--window", "0"
    )
    assert done.returncode == 3
    assert "1 no evidence" in done.stdout
    assert json.loads((tmp_path / "r.json").read_text())["results"] == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chat.yaml", "--set", "worker=1.5.1"], "would not change"),
        (["chat.yaml", "--set", "router=1.6.1"], "no component 'router'"),
        (["chat.yaml", "--set", "worker=new"], "is not COMPONENT=X.Y.Z"),
        (["chat.yaml", "embedding.yaml", "--set", "worker=1.6.1"], "one graph is rehearsed at a time"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_with_words(tmp_path: Path, arguments: list[str], said: str) -> None:
    """Before anything is started."""
    words = [str(EXAMPLES / word) if word.endswith(".yaml") else word for word in arguments]
    done = stator(tmp_path, "rehearse", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_rehearsal_asks_for_every_release_before_anything_starts(tmp_path: Path) -> None:
    """A release that cannot be had is bad input, not an upgrade that failed under traffic."""
    chat = str(EXAMPLES / "chat.yaml")
    done = stator(tmp_path, "rehearse", chat, "--set", "worker=7.7.7", "--offline")
    assert done.returncode != 1
    assert "7.7.7" in done.stderr
    assert "starting" not in done.stderr
    assert not done.stdout
