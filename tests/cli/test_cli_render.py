"""`stator render` as a gate: what it says on standard error, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stator.cli.render import render

EXAMPLES = Path(__file__).parents[2] / "examples"


def rendered(tmp_path: Path, example: str, *edits: tuple[str, str], options: tuple[str, ...] = ()) -> Result:
    """Render an example in which some text is replaced."""
    text = (EXAMPLES / example).read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / example).write_text(text)
    return CliRunner().invoke(render, [str(tmp_path / example), *options], standalone_mode=False)


@pytest.mark.parametrize(
    ("example", "edit", "said"),
    [
        ("chat.yaml", ("spec:\n  components", "spec:\n  backendFramwork: sglang\n  components"), "backendFramework"),
        ("chat.yaml", ("replicas: 1", "replica: 1"), "replicas"),
        ("chat.yaml", ("command: ", "comand: "), "command"),
        ("chat-v1alpha1.yaml", ("replicas: 1", "replica: 1"), "replicas"),
        ("chat-v1alpha1.yaml", ("command: ", "comand: "), "command"),
    ],
)
def test_a_misspelt_field_is_named_with_its_line(
    tmp_path: Path, example: str, edit: tuple[str, str], said: str
) -> None:
    """An API server would drop it without a word."""
    result = rendered(tmp_path, example, edit)
    assert f"did you mean {said}?" in result.stderr
    assert f"{example}:" in result.stderr
    assert "0 unknown fields" not in result.stderr


@pytest.mark.parametrize("example", ["chat.yaml", "chat-v1alpha1.yaml", "embedding.yaml"])
def test_a_sound_graph_has_no_unknown_field(tmp_path: Path, example: str) -> None:
    """The examples are known to the last field, and exit with 0."""
    result = rendered(tmp_path, example)
    assert "0 unknown fields" in result.stderr
    assert result.return_value == 0


def test_an_error_that_nothing_repairs_is_exit_code_1(tmp_path: Path) -> None:
    """The worker as rendered never becomes Ready; the objects are written all the same."""
    result = rendered(tmp_path, "embedding.yaml", options=("--no-repairs",))
    assert result.return_value == 1
    assert "kind: Deployment" in result.stdout


def test_a_version_that_cannot_be_told_is_exit_code_3(tmp_path: Path) -> None:
    """With a tag like `latest` every gate stays off, which may be wrong."""
    result = rendered(tmp_path, "chat.yaml", ("sglang-runtime:1.5.1", "sglang-runtime:latest"))
    assert result.return_value == 3
    assert "1 unresolved version" in result.stderr


def test_sources_without_a_graph_are_bad_input(tmp_path: Path) -> None:
    """A misspelt kind is no empty answer."""
    result = rendered(tmp_path, "chat.yaml", ("DynamoGraphDeployment", "DynamoGraphDeploymnt"))
    assert "there is DynamoGraphDeploymnt" in str(result.exception)
