"""`stator check`, `explain` and `rules` as a user runs them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple

import pytest

from stator.check.formats import FORMATS
from stator.cli.main import main

GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: {name}
  annotations: {{ {annotations} }}
spec:
  components:
    - name: Frontend
      type: frontend
      podTemplate: {{spec: {{containers: [{{name: main, image: "r/frontend:{frontend}"}}]}}}}
    - name: Worker
      type: worker
      podTemplate:
        spec:
          containers:
            - name: main
              image: r/worker:{worker}
              command: [python3, -m, dynamo.sglang]
              args: {args}
"""


def manifest(
    *,
    name: str = "chat",
    frontend: str = "1.6.1",
    worker: str = "1.6.1",
    args: str = "[--model-path, m]",
    notes: str = "",
) -> str:
    """A graph's text."""
    return GRAPH.format(name=name, frontend=frontend, worker=worker, args=args, annotations=notes)


class Result(NamedTuple):
    """How a command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


Stator = Callable[..., Result]


@pytest.fixture
def stator(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Stator:
    """Run the command line through its entry point, which is what the installed program calls."""

    def run(*arguments: str, stdin: str = "", cwd: Path | None = None) -> Result:
        monkeypatch.setattr(sys, "argv", ["stator", *arguments])
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin.encode())))
        if cwd:
            monkeypatch.chdir(cwd)
        with pytest.raises(SystemExit) as end:
            main()
        written = capsys.readouterr()
        return Result(int(end.value.code or 0), written.out, written.err)

    return run


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        (manifest(), (), 0),
        (manifest(worker="1.3.1"), (), 1),
        (manifest(worker="1.3.1"), ("--fail-on", "never"), 0),
        (manifest(worker="1.3.1"), ("--set", "worker=1.6.1"), 0),
        (manifest(worker="1.7.0"), (), 0),
        (manifest(worker="1.7.0"), ("--fail-on", "warning"), 1),
        (manifest(worker="latest"), (), 3),
        (manifest(worker="latest"), ("--fail-on", "warning"), 1),
        (manifest(frontend="1.3.1", worker="1.3.1"), ("--operator", "1.4", "--to", "1.4.2"), 0),
        (manifest(frontend="1.4.2", worker="1.4.2"), ("--from", "1.3", "--to", "1.6"), 1),
        ("kind: [", (), 2),
        (manifest(), ("--from", "1.5"), 2),
        (manifest(), ("--to", "soon"), 2),
        (manifest(), ("--set", "nobody=1.6.1"), 2),
        (manifest(), ("--ignore", "DYN201"), 2),
        (manifest(), ("--ignore", "DYN999=why"), 2),
        (manifest(notes="stator.dev/ignore: DYN201"), (), 2),
    ],
)
def test_exit_codes(stator: Stator, text: str, arguments: tuple[str, ...], code: int) -> None:
    """0 nothing that fails, 1 findings, 2 bad input or usage, 3 undecided; 1 wins over 3, which wins over 0."""
    result = stator("check", "-", *arguments, stdin=text)
    assert result.returncode == code, result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_cannot_be_used_keeps_no_other_from_being_checked(stator: Stator, tmp_path: Path) -> None:
    """The good file is checked, the bad one is named and counted, and the answer is undecided."""
    (tmp_path / "good.yaml").write_text(manifest())
    (tmp_path / "bad.yaml").write_text("kind: [")
    result = stator("check", ".", cwd=tmp_path)
    assert result.returncode == 3
    assert "bad.yaml" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("0 errors, 0 warnings, 0 info, 0 ignored, 1 graph, 2 components")
    assert "1 file unread" in result.stdout
    (tmp_path / "good.yaml").write_text(manifest(worker="1.3.1"))
    assert stator("check", ".", cwd=tmp_path).returncode == 1


def test_a_graph_that_cannot_be_rendered_is_unchecked(stator: Stator, tmp_path: Path) -> None:
    """What the engine refuses about one graph is reported, and the other graph is still checked."""
    (tmp_path / "a.yaml").write_text(manifest(name="a" * 60))
    (tmp_path / "b.yaml").write_text(manifest(name="b"))
    result = stator("check", "a.yaml", "b.yaml", cwd=tmp_path)
    assert result.returncode == 3
    assert "1 graph unchecked" in result.stdout
    assert "2 graphs, 2 components" in result.stdout


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_to_standard_output_alone(stator: Stator, name: str) -> None:
    """A document can be redirected to a file without anything else in it."""
    result = stator("check", "-", "-o", name, stdin=manifest())
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


def test_a_finding_can_be_ignored_where_it_is(stator: Stator, tmp_path: Path) -> None:
    """By annotation, by file and by option, always with a reason; what fits nothing is reported."""
    file = tmp_path / "graph.yaml"
    file.write_text(manifest(worker="1.3.1", notes='stator.dev/ignore: "DYN201=the canary is old on purpose"'))
    first = stator("check", "graph.yaml", cwd=tmp_path)
    assert first.returncode == 1
    assert "the canary is old on purpose" in first.stdout
    (tmp_path / "stator.toml").write_text('[check.ignore."*.yaml"]\nDYN202 = "the operator follows"\nDYN407 = "x"\n')
    second = stator("check", "graph.yaml", cwd=tmp_path)
    assert second.returncode == 0, second.stdout
    assert "2 ignored" in second.stdout
    assert "stator.toml:3: DYN407 is ignored here (x), and nothing is found" in second.stdout
    (tmp_path / "stator.toml").unlink()
    assert stator("check", "graph.yaml", "--ignore", "DYN202=so", cwd=tmp_path).returncode == 0


def test_the_local_runtime_does_not_mind_the_table_of_the_check(stator: Stator, tmp_path: Path) -> None:
    """One stator.toml serves both: neither refuses the other's tables."""
    (tmp_path / "graph.yaml").write_text(manifest())
    (tmp_path / "stator.toml").write_text('[volumes.models]\npath = "m"\n[check]\nstrict = true\n')
    result = stator("check", "graph.yaml", cwd=tmp_path)
    assert result.returncode == 2
    assert "stator.toml:4" in result.stderr


def test_a_secret_value_is_in_no_report(stator: Stator, tmp_path: Path) -> None:
    """Values of a Secret beside the graph, and of variables no rule is about, stay where they are."""
    beside = "apiVersion: v1\nkind: Secret\nmetadata: {name: t}\nstringData: {HF_TOKEN: topsecret}\n---\n"
    (tmp_path / "graph.yaml").write_text(beside + manifest(worker="1.3.1"))
    for name in FORMATS:
        result = stator("check", "graph.yaml", "-o", name, cwd=tmp_path)
        assert "topsecret" not in result.stdout + result.stderr


def test_explain_prints_the_page_by_id_and_by_name(stator: Stator) -> None:
    """Both ways lead to the same page; a slip is answered with the nearest name."""
    page = stator("explain", "dyn203").stdout
    assert page.startswith("# DYN203 prefill-decode-mismatch")
    assert stator("explain", "prefill-decode-mismatch").stdout == page
    wrong = stator("explain", "prefil-decode-mismatch")
    assert wrong.returncode == 2
    assert "did you mean prefill-decode-mismatch" in wrong.stderr


def test_rules_are_listed_for_people_and_for_programs(stator: Stator) -> None:
    """Every rule is in both lists, with a schema version in the one for programs."""
    listed = stator("rules", "list").stdout.splitlines()
    document = json.loads(stator("rules", "list", "-o", "json").stdout)
    assert document["schema_version"] == 1
    assert [rule["id"] for rule in document["rules"]] == [line.split()[0] for line in listed]


def test_a_patch_is_shown_and_the_fix_is_written(stator: Stator, tmp_path: Path) -> None:
    """`--diff` shows what `--fix` writes and writes nothing; what is left afterwards decides the exit code."""
    text = manifest(worker="1.5.1", args="[--embedding-worker, --router-reset-states]", frontend="1.5.1")
    file = tmp_path / "graph.yaml"
    file.write_text(text)
    shown = stator("check", "graph.yaml", "--diff", cwd=tmp_path)
    assert shown.returncode == 1
    assert shown.stdout.startswith("--- a/graph.yaml\n+++ b/graph.yaml\n")
    assert "+              args: [--embedding-worker]" in shown.stdout
    assert file.read_text() == text
    written = stator("check", "graph.yaml", "--fix", cwd=tmp_path)
    assert (written.returncode, written.stderr.count("fixed DYN")) == (0, 2)
    assert written.stdout.startswith("0 errors, 0 warnings, 0 info")
    assert stator("check", "graph.yaml", "--diff", cwd=tmp_path) == (0, "", "")
    assert stator("check", "-", "--diff", stdin=text).stdout.startswith("--- a/-\n")


@pytest.mark.parametrize("arguments", [("-", "--fix"), ("graph.yaml", "--fix", "--to", "1.6.1")])
def test_only_files_as_they_are_can_be_fixed(stator: Stator, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Standard input cannot be written to, and a fix for another release would break this one."""
    (tmp_path / "graph.yaml").write_text(manifest())
    result = stator("check", *arguments, stdin=manifest(), cwd=tmp_path)
    assert result.returncode == 2
    assert "--fix" in result.stderr
