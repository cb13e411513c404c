"""`stator diff` as a user runs it: output, exit codes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from stator.cli.diff import diff
from stator.errors import InvalidInputError

EXAMPLES = Path(__file__).parents[2] / "examples"
CHAT = str(EXAMPLES / "chat.yaml")


def run(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(diff, arguments, standalone_mode=False)


def test_the_two_api_versions_of_an_example_are_the_same() -> None:
    """A graph and its v1alpha1 twin render alike: exit code 0 with `--exit-code`."""
    result = run(CHAT, str(EXAMPLES / "chat-v1alpha1.yaml"), "--exit-code")
    assert result.return_value == 0, result.output


def test_a_difference_is_exit_code_1_only_if_asked_for() -> None:
    """Without `--exit-code` a difference is an answer, not a failure."""
    assert run(CHAT, "--set", "worker=1.6.1").return_value == 0
    assert run(CHAT, "--set", "worker=1.6.1", "--exit-code").return_value == 1


def test_json_is_one_document_with_a_schema_version() -> None:
    """JSON names what rolls in a form programs can use."""
    document = json.loads(run(CHAT, "--set", "worker=1.6.1", "-o", "json").stdout)
    assert document["schema_version"] == 1
    assert [part["rolls"] for part in document["graphs"][0]["components"]] == [False, True]


def test_one_side_alone_is_refused() -> None:
    """Naming one file and no change is a usage error that says what to add."""
    result = run(CHAT)
    assert isinstance(result.exception, InvalidInputError)
    assert "--set" in str(result.exception)


def test_an_engine_beside_its_runtime_can_be_compared() -> None:
    """A main container that is a plain engine has no environment of ours; it is compared all the same."""
    graph = Path(__file__).parents[1] / "render" / "golden" / "runtime-container" / "graph.yaml"
    result = run(str(graph), "--operator", "1.6", "--from-operator", "1.5.1", "--exit-code")
    assert result.exception is None
