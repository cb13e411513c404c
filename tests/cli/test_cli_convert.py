"""`stator convert` as a user runs it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from stator.cli.convert import convert
from stator.errors import InvalidInputError

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(convert, arguments, standalone_mode=False)


def test_the_manifest_goes_out_and_the_report_beside_it() -> None:
    """Standard output is the new file, standard error says what was proven."""
    result = run(str(EXAMPLES / "chat-v1alpha1.yaml"))
    assert result.exception is None
    assert result.stdout.startswith("# chat.yaml in the older API version")
    assert "renders to the same objects, worker hash" in result.stderr


def test_in_place_rewrites_the_file_and_twice_is_once(tmp_path: Path) -> None:
    """Converting a file that is there already leaves it byte for byte."""
    file = tmp_path / "chat.yaml"
    file.write_text((EXAMPLES / "chat-v1alpha1.yaml").read_text())
    assert run(str(file), "--in-place").stdout == ""
    first = file.read_text()
    assert "v1beta1" in first
    assert "already v1beta1" in run(str(file), "--in-place").stderr
    assert file.read_text() == first


def test_a_directory_is_refused(tmp_path: Path) -> None:
    """One file at a time: a directory says how to do many."""
    assert isinstance(run(str(tmp_path)).exception, InvalidInputError)
