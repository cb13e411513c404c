"""Making environments: once, completely, and with an error that says what to do when it fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from stator.local.runtimes import Runtime, RuntimeRequest, RuntimeUnavailableError, default_cache, ensure

# Makes an environment in a process of its own, which ends without any clean-up at the line that begins with a word.
KILLED = """
import os, signal, sys
from pathlib import Path
from stator.local.runtimes import RuntimeRequest, ensure

def progress(line):
    if line.startswith(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

request = RuntimeRequest(image="own", profile="custom", version="", origin="requirements", path=sys.argv[1])
ensure(request, cache=Path(sys.argv[2]), progress=progress, offline=True)
"""


class Usage(NamedTuple):
    """What `shutil.disk_usage` returns."""

    total: int
    used: int
    free: int


def published(version: str, profile: str = "base") -> RuntimeRequest:
    """A request for a published release."""
    return msgspec.convert({"image": "img", "profile": profile, "version": version}, RuntimeRequest)


@pytest.fixture
def own(tmp_path: Path, write_wheel: Callable[..., str]) -> RuntimeRequest:
    """An environment with one small package, which needs no network."""
    file = tmp_path / "own.txt"
    file.write_text(f"demo-model==1.0 --hash=sha256:{write_wheel()}\n")
    return RuntimeRequest(image="own", profile="custom", version="", origin="requirements", path=str(file))


def answer(runtime: Runtime) -> str:
    """What the small package says when the environment's interpreter imports it."""
    program = "import demo_model; print(demo_model.ANSWER)"
    return subprocess.run([runtime.python, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def refusal(request: RuntimeRequest, cache: Path, *, offline: bool = True) -> str:
    """The text of the error a user sees; nothing half-made is left."""
    with pytest.raises(RuntimeUnavailableError) as refused:
        ensure(request, cache=cache, progress=lambda _: None, offline=offline)
    assert not [path for path in cache.glob("*") if path.is_dir()]
    return str(refused.value)


def test_an_environment_is_made_once_and_then_taken_as_it_is(own: RuntimeRequest, tmp_path: Path) -> None:
    """The second call says nothing and starts nothing: not even a broken requirements index is noticed."""
    lines: list[str] = []
    made = ensure(own, cache=tmp_path / "cache", progress=lines.append, offline=True)
    assert answer(made) == "42"
    assert (made.image, made.profile, made.source) == ("own", "custom", f"requirements file {own.path}")
    assert Path(made.bin) / "python" == Path(made.python)
    assert any(line.startswith("Installed 1 package") for line in lines)
    lines.clear()
    shutil.rmtree(tmp_path / "wheels")
    assert ensure(own, cache=tmp_path / "cache", progress=lines.append, offline=True) == made
    assert lines == []


def test_another_requirement_list_is_another_environment(own: RuntimeRequest, tmp_path: Path) -> None:
    """An environment that a running graph uses is never changed under it."""
    first = ensure(own, cache=tmp_path / "cache", progress=lambda _: None, offline=True)
    Path(own.path).write_text("# nothing\n")
    second = ensure(own, cache=tmp_path / "cache", progress=lambda _: None, offline=True)
    assert first.python != second.python
    assert answer(first) == "42"


@pytest.mark.parametrize("moment", ["making", "Resolved", "Installed"])
def test_a_creation_that_was_killed_is_made_anew(own: RuntimeRequest, tmp_path: Path, moment: str) -> None:
    """Whatever a killed process left behind, the next call gives a complete environment."""
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, own.path, str(tmp_path / "cache"), moment], check=False, capture_output=True
    )
    assert killed.returncode == -9
    lines: list[str] = []
    assert answer(ensure(own, cache=tmp_path / "cache", progress=lines.append, offline=True)) == "42"
    assert lines[-1].startswith("Installed")
    assert moment == "making" or any("was not completed" in line for line in lines)


def test_an_environment_whose_interpreter_is_gone_is_made_anew(own: RuntimeRequest, tmp_path: Path) -> None:
    """An upgrade of the system's Python does not leave graphs that cannot start."""
    made = ensure(own, cache=tmp_path / "cache", progress=lambda _: None, offline=True)
    Path(made.python).unlink()
    Path(made.python).symlink_to(tmp_path / "removed-python")
    assert answer(ensure(own, cache=tmp_path / "cache", progress=lambda _: None, offline=True)) == "42"


def test_callers_at_the_same_time_make_one_environment(own: RuntimeRequest, tmp_path: Path) -> None:
    """The others wait, say so, and get the same one."""
    lines: list[str] = []

    def call(_: int) -> Runtime:
        return ensure(own, cache=tmp_path / "cache", progress=lines.append, offline=True)

    with ThreadPoolExecutor(4) as pool:
        runtimes = set(pool.map(call, range(4)))
    assert len(runtimes) == 1
    assert sum(line.startswith("making") for line in lines) == 1


def test_no_space_is_found_out_before_anything_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five gigabytes are not fetched to fail at the end; the remedy names the variable that moves the cache."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10, 9, 1_000_000_000))
    text = refusal(published("1.6.1", "sglang-cpu"), tmp_path / "cache", offline=False)
    assert "it takes up to 5.5 GB" in text
    assert "1.0 GB free" in text
    assert "XDG_CACHE_HOME" in text


def test_a_machine_without_engine_packages_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's packages exist for x86-64 only; the mocker runs everywhere."""
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    text = refusal(published("1.6.1", "sglang-cpu"), tmp_path / "cache")
    assert "sglang-cpu exists for x86_64, this is aarch64" in text
    assert "--engine mocker" in text


def test_offline_with_an_empty_package_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the network only what was fetched before can be installed."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    text = refusal(published("1.6.1"), tmp_path / "cache")
    assert "not everything it needs is in uv's cache, and the network is off" in text


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that cannot be reached is the network's or the settings' fault, and no password of an index is shown."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://user:hunter2@127.0.0.1:9/index")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    text = refusal(published("1.6.1"), tmp_path / "cache", offline=False)
    assert "the package index cannot be reached" in text
    assert "UV_DEFAULT_INDEX" in text
    assert "hunter2" not in text


def test_a_package_that_was_exchanged_is_not_installed(own: RuntimeRequest, tmp_path: Path) -> None:
    """The hash is of the file that was checked, not of the one that is served."""
    Path(own.path).write_text(f"demo-model==1.0 --hash=sha256:{'0' * 64}\n")
    assert "serves another file than the one that was checked" in refusal(own, tmp_path / "cache")


def test_a_requirements_file_that_is_not_there(own: RuntimeRequest, tmp_path: Path) -> None:
    """A wrong path of stator.toml is named."""
    Path(own.path).unlink()
    assert f"No such file or directory ({own.path})" in refusal(own, tmp_path / "cache")


def test_a_cache_that_cannot_be_written(own: RuntimeRequest, tmp_path: Path) -> None:
    """What stands in the way is named, without a traceback."""
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(RuntimeUnavailableError, match=r"cannot make the environment .*File exists"):
        ensure(own, cache=tmp_path / "cache", progress=lambda _: None, offline=True)


def test_an_interpreter_of_the_user_is_taken_as_it_is(tmp_path: Path) -> None:
    """Nothing is made for it, and its directory comes first on PATH as a virtual environment's would."""
    request = RuntimeRequest(image="own", profile="custom", version="1.5.1", origin="python", path=sys.executable)
    runtime = ensure(request, cache=tmp_path / "cache", progress=lambda _: None)
    assert (runtime.python, runtime.bin) == (sys.executable, str(Path(sys.executable).parent))
    assert not (tmp_path / "cache").exists()
    missing = msgspec.structs.replace(request, path=str(tmp_path / "no-python"))
    assert "no-python, named in stator.toml, is not an executable file" in refusal(missing, tmp_path / "cache")


def test_the_cache_follows_the_xdg_specification(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`XDG_CACHE_HOME`, else ~/.cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache() == tmp_path / "xdg/stator/runtimes"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache() == tmp_path / ".cache/stator/runtimes"


@pytest.mark.real
def test_the_base_environment_of_a_release_runs_its_frontend_and_mocker(cache: Path) -> None:
    """The shipped list is all that the published packages need to start."""
    runtime = ensure(published("1.6.1"), cache=cache, progress=lambda _: None)
    for module in ("dynamo.frontend", "dynamo.mocker"):
        usage = subprocess.run([runtime.python, "-m", module, "--help"], check=True, capture_output=True, text=True)
        assert "--help" in usage.stdout
    assert runtime.source == "ai-dynamo 1.6.1, list of stator"


@pytest.mark.real
def test_a_release_that_is_not_published_is_answered_with_the_nearest_ones(tmp_path: Path) -> None:
    """A typing error in a tag is told apart from a network failure, and what exists is named."""
    text = refusal(published("1.5.9999"), tmp_path / "cache", offline=False)
    assert "runtime 1.5.9999 is not published" in text
    assert "and 1.6.0" in text
