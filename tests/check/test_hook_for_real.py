"""The hook as pre-commit itself runs it: cloned, built, installed, and given the files of a commit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml
from graphs import frontend, graph, worker
from uv import find_uv_bin

pytestmark = pytest.mark.real
ROOT = Path(__file__).parents[2]


def run(command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """One command with its output as text."""
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def test_the_hook_refuses_a_commit_and_lets_a_mended_one_pass(tmp_path: Path) -> None:
    """What is committed here can be used as a hook: it names the finding, and passes once that is mended."""
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": os.devnull}
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    hooks, user = tmp_path / "hooks", tmp_path / "user"
    user.mkdir()
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT, environment).stdout
    for name in filter(None, listed.split("\0")):
        if name.startswith(("src/", ".pre-commit-hooks")) or name in {"pyproject.toml", "README.md", "LICENSE"}:
            (hooks / name).parent.mkdir(parents=True, exist_ok=True)
            (hooks / name).write_bytes((ROOT / name).read_bytes())
    for command in (["git", "init", "-q"], ["git", "add", "-A"], ["git", *identity, "commit", "-qm", "hooks"]):
        assert run(command, hooks, environment).returncode == 0
    revision = run(["git", "rev-parse", "HEAD"], hooks, environment).stdout.strip()
    used = {"repos": [{"repo": str(hooks), "rev": revision, "hooks": [{"id": "stator-check"}]}]}
    (user / ".pre-commit-config.yaml").write_text(yaml.safe_dump(used))
    commit = [find_uv_bin(), "tool", "run", "pre-commit", "run", "stator-check", "--files", "graph.yaml"]
    run(["git", "init", "-q"], user, environment)
    results = []
    for release in ("1.3.1", "1.6.1"):
        (user / "graph.yaml").write_text(yaml.safe_dump(graph(frontend(), worker(release))))
        run(["git", "add", "-A"], user, environment)
        results.append(run(commit, user, environment))
    refused, passed = results
    assert "graph.yaml" in refused.stdout
    assert "error DYN201" in refused.stdout, refused.stdout + refused.stderr
    assert (refused.returncode, passed.returncode) == (1, 0), passed.stdout
