"""The files that hook the check into other people's pipelines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from graphs import frontend, graph, worker

from stator.check.formats import FORMATS
from stator.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
# The schema of action metadata, as the JSON Schema Store publishes it.
ACTION = json.loads((Path(__file__).parent / "data" / "github-action.schema.json").read_text())


def test_the_action_is_valid_metadata() -> None:
    """Action metadata that does not fit its schema would fail only in the pipelines of those who use it."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert [error.message for error in jsonschema_rs.validator_for(ACTION).iter_errors(action)] == []


def test_no_input_of_the_action_is_pasted_into_a_script() -> None:
    """Text from an input reaches a script as a variable, so that it is never run."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert all("${{" not in step.get("run", "") for step in action["runs"]["steps"])


@pytest.mark.parametrize(("release", "code"), [("1.6.1", 0), ("1.3.1", 1)])
def test_the_actions_script_checks_and_writes_a_log(tmp_path: Path, release: str, code: int) -> None:
    """The step's script itself: several sources, annotations on standard output, SARIF in the file, the exit code."""
    (tmp_path / "a b.yaml").write_text(yaml.safe_dump(graph(frontend(), worker(release))))
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(graph(frontend(), worker(), name="other")))
    script = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][-1]["run"]
    given = {"SOURCES": "a b.yaml\n\nc.yaml\n", "OPERATOR": "1.6", "FAIL_ON": "error", "SARIF": "log.sarif"}
    environment = {**os.environ, **given, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    result = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == code, result.stderr
    assert "2 graphs, 4 components" in result.stdout
    assert ("::error title=DYN201" in result.stdout) is bool(code)
    assert json.loads((tmp_path / "log.sarif").read_text())["version"] == "2.1.0"


def test_the_hook_runs_a_command_there_is() -> None:
    """pre-commit appends file names to the entry, in one process so that graphs are compared with each other."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, command = hook["entry"].split()
    assert program == "stator"
    assert command in COMMANDS
    assert hook["require_serial"] is True
    assert {"id", "name", "entry", "language"} <= hook.keys()


def test_the_action_asks_for_formats_there_are() -> None:
    """A renamed format would break every pipeline."""
    text = (ROOT / "action.yml").read_text()
    assert {name for name in FORMATS if f"--output {name} " in text} == {"sarif", "github"}
