"""What admission would refuse, as the commands show it."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from stator.cli.check import check
from stator.cli.diff import diff
from stator.cli.plan import plan
from stator.cli.render import render

EXAMPLE_DIRECTORY = Path(__file__).parents[2] / "examples"
EXAMPLE = (EXAMPLE_DIRECTORY / "chat.yaml").read_text()


def written(tmp_path: Path, name: str, *edits: tuple[str, str]) -> str:
    """A file with the example in which some text is replaced."""
    text = EXAMPLE
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def run(command: click.Command, *arguments: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(command, list(arguments), standalone_mode=False)


WRONG = ("type: frontend", "type: frontend\n      eppConfig: {config: {}}")


@pytest.mark.parametrize("command", [render, plan])
def test_a_refused_graph_is_named_with_its_line(tmp_path: Path, command: click.Command) -> None:
    """The words and the line are those of the webhook, and the objects are written all the same."""
    file = written(tmp_path, "wrong.yaml", WRONG)
    line = (tmp_path / "wrong.yaml").read_text()[: (tmp_path / "wrong.yaml").read_text().index("eppConfig")].count("\n")
    result = run(command, file)
    assert f"{file}:{line + 1}: refused DynamoGraphDeployment/" in result.stderr
    assert result.stderr.count("eppConfig goes with the type epp only") == 1
    assert result.stdout


def test_a_refused_graph_fails_the_gates(tmp_path: Path) -> None:
    """`render` and `check` exit with 1: applying the file would fail."""
    file = written(tmp_path, "wrong.yaml", WRONG)
    assert run(render, file).return_value == 1
    checked = run(check, file)
    assert checked.return_value == 1
    assert checked.stdout.count("eppConfig goes with the type epp only") == 1


def test_an_admitted_graph_is_counted(tmp_path: Path) -> None:
    """The last line says that it was looked at."""
    result = run(render, written(tmp_path, "right.yaml"))
    assert "0 refused by admission" in result.stderr
    assert result.return_value == 0


def test_a_restart_and_a_grove_field_in_a_file_are_no_mistake(tmp_path: Path) -> None:
    """Whether the graph is there already, and whether the cluster has Grove, nobody knows."""
    file = written(tmp_path, "graph.yaml", ("spec:\n", "spec:\n  restart: {id: a}\n  priorityClassName: high\n"))
    assert "0 refused by admission" in run(render, file).stderr


def test_a_change_that_admission_refuses_is_named_by_diff(tmp_path: Path) -> None:
    """A new set of components needs a new graph; an edit of the replicas does not."""
    before = written(tmp_path, "a.yaml")
    renamed = written(tmp_path, "b.yaml", ("name: Frontend", "name: Front"))
    scaled = written(tmp_path, "c.yaml", ("replicas: 1", "replicas: 2"))
    assert "the set of components cannot change: added: Front; removed: Frontend" in run(diff, before, renamed).stderr
    assert "refused" not in run(diff, before, scaled).stderr


def test_what_rendering_refuses_is_said_once(tmp_path: Path) -> None:
    """A container without an image is one problem, not one of rendering and one of admission."""
    file = written(tmp_path, "wrong.yaml", ("image: ", "imagine: "))
    result = run(render, file)
    assert str(result.exception).count("has no image") == 1
    checked = run(check, file)
    assert checked.stdout.count("has no image") == 1
    assert checked.return_value == 3


def test_a_field_without_any_effect_is_named_by_render(tmp_path: Path) -> None:
    """A deprecated field of v1alpha1 is accepted and ignored, which its author should know."""
    text = (EXAMPLE_DIRECTORY / "chat-v1alpha1.yaml").read_text()
    (tmp_path / "old.yaml").write_text(text.replace("replicas: 1", "replicas: 1\n      dynamoNamespace: mine", 1))
    result = run(render, str(tmp_path / "old.yaml"))
    assert result.stderr.count("dynamoNamespace is deprecated and ignored") == 1
    assert "0 unknown fields" in result.stderr
