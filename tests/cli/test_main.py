"""The command itself: help without cost, errors as text, exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest

from stator.cli.main import COMMANDS


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does: a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "stator", *arguments], input=stdin, capture_output=True, text=True, check=False
    )


def test_help_lists_every_command_and_imports_none() -> None:
    """`stator --help` names each command with its line, without importing a parser, a schema or rich."""
    script = (
        "import sys; sys.argv = ['stator', '--help']\n"
        "from stator.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'yaml', 'jsonschema_rs', 'rich', 'asyncio', 'stator.model'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    for name, (_, summary) in COMMANDS.items():
        assert name in result.stdout
        assert summary.split()[0] in result.stdout


def test_an_unknown_command_is_a_usage_error() -> None:
    """A typo ends with exit code 2 and one line of what is wrong, not a traceback."""
    result = run("rendr")
    assert result.returncode == 2
    assert "rendr" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_missing_file_is_named() -> None:
    """A source that does not exist is bad input (exit code 2) and is named."""
    result = run("render", "no-such-file.yaml")
    assert result.returncode == 2
    assert "no-such-file.yaml" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_wrong_operator_release_says_what_to_write() -> None:
    """`--operator` takes a release; anything else says so and shows the form."""
    result = run("render", "--operator", "latest", "-", stdin="{}")
    assert result.returncode == 2
    assert "1.6.1" in result.stderr


def test_a_full_disk_behind_the_output_is_one_line() -> None:
    """What cannot be written ends with exit code 2 and the system's words."""
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device, and the shortest way to it
        result = subprocess.run(
            [sys.executable, "-m", "stator", "rules", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 2
    assert "no space left on device" in result.stderr
    assert "Traceback" not in result.stderr


def test_one_unreadable_status_keeps_nobody_from_the_other_graphs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`status` names it, and `down` still stops the rest."""
    broken = tmp_path / "graphs" / "default.junk"
    broken.mkdir(parents=True)
    (broken / "status.json").write_text("{")
    monkeypatch.setenv("STATOR_STATE_DIR", str(tmp_path))
    shown = run("status", "--all")
    assert "default/junk" in shown.stdout
    assert "cannot be read" in shown.stdout
    assert run("down").returncode == 0
