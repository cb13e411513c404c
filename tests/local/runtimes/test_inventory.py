"""What is in the cache, and what may go from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stator.errors import InvalidInputError
from stator.local.runtimes import RuntimeRequest
from stator.local.runtimes.environments import home_of
from stator.local.runtimes.inventory import list_runtimes, remove_runtimes, select_runtimes


def make(home: Path, *, complete: bool = True, profile: str = "base", version: str = "1.6.1") -> Path:
    """A directory that looks like an environment."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").symlink_to(sys.executable)
    (home / "data").write_bytes(b"x" * 100_000)
    if complete:
        marker = {"image": "i", "profile": profile, "version": version, "source": "a list"}
        (home / "stator-runtime.json").write_text(json.dumps(marker))
    return home


@pytest.fixture
def current(tmp_path: Path) -> Path:
    """The environment that a graph of today would be given for 1.6.1."""
    return make(home_of(RuntimeRequest(image="", profile="base", version="1.6.1"), tmp_path))


def test_each_environment_says_whether_it_is_still_of_use(tmp_path: Path, current: Path) -> None:
    """Current, made from another list, or not completed; what else lies in the cache is left alone."""
    make(tmp_path / "base-1.6.1-000000000000")
    make(tmp_path / "sglang-cpu-1.5.0-111111111111", complete=False)
    (tmp_path / "volume-222222222222.lock").touch()
    (tmp_path / "notes").mkdir()
    known = {each.name: each for each in list_runtimes(tmp_path)}
    assert {name: each.state for name, each in known.items()} == {
        current.name: "current",
        "base-1.6.1-000000000000": "outdated",
        "sglang-cpu-1.5.0-111111111111": "incomplete",
    }
    unfinished = known["sglang-cpu-1.5.0-111111111111"]
    assert (unfinished.profile, unfinished.version) == ("sglang-cpu", "1.5.0")
    assert known[current.name].size >= 100_000
    assert list_runtimes(tmp_path / "absent") == ()


def test_environments_are_chosen_by_name_by_profile_and_by_version(tmp_path: Path, current: Path) -> None:
    """A name that fits nothing is an error that says what there is."""
    make(tmp_path / "sglang-cpu-1.6.1-111111111111", profile="sglang-cpu")
    known = list_runtimes(tmp_path)
    assert len(select_runtimes(known, ["1.6.1"])) == 2
    assert [each.name for each in select_runtimes(known, ["base-1.6.1", current.name])] == [current.name]
    with pytest.raises(InvalidInputError, match=r"no environment '1\.0\.0'"):
        select_runtimes(known, ["1.0.0", "1.6.1"])


def test_what_is_removed_is_gone_and_the_rest_stays(tmp_path: Path, current: Path) -> None:
    """Only what was chosen."""
    other = make(tmp_path / "base-1.6.1-000000000000")
    known = list_runtimes(tmp_path)
    remove_runtimes(select_runtimes(known, [other.name]), tmp_path, progress=lambda _: None)
    assert not other.exists()
    assert [each.name for each in list_runtimes(tmp_path)] == [current.name]


def test_an_environment_in_use_is_not_removed(tmp_path: Path, current: Path) -> None:
    """A process that was started with its programs on the PATH uses it, and nothing of the choice is removed."""
    other = make(tmp_path / "base-1.6.1-000000000000")
    env = {**os.environ, "PATH": f"{current}/bin:/usr/bin:/bin"}
    user = subprocess.Popen([sys.executable, "-c", "input()"], env=env, stdin=subprocess.PIPE)
    try:
        known = list_runtimes(tmp_path)
        with pytest.raises(InvalidInputError, match=f"by process {user.pid}"):
            remove_runtimes(known, tmp_path, progress=lambda _: None)
    finally:
        user.communicate(b"\n")
    assert current.exists()
    assert other.exists()
    remove_runtimes(list_runtimes(tmp_path), tmp_path, progress=lambda _: None)
    assert list_runtimes(tmp_path) == ()
