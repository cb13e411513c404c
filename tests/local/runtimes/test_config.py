"""How stator.toml is found, read and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from stator.errors import InvalidInputError
from stator.local.config import ImageMapping, LocalConfig, ScriptContent, WheelContent, load_config

COMPLETE = f"""
[images]
"reg/own:*" = {{ python = "env/bin/python" }}
"reg/other:dev" = {{ requirements = "/etc/other.txt" }}
"reg/third:main" = {{ ai-dynamo = "1.5.1", profile = "base" }}

[volumes.models]
path = "data/models"
[volumes.models.contents.tiny]
script = "make.py"
runtime = "1.6.1"
[volumes.models.contents."deep/minilm"]
requirement = "a-wheel==0.1.0"
sha256 = "{"a" * 64}"
directory = "a_wheel/model"
[volumes."other-claim"]
path = "/srv/other"

[ignore]
sidecars = ["log-shipper"]
"""

CONTENTS = "contents are a script with its runtime, or a requirement with sha256 and directory"


def problems(path: Path, text: str) -> list[str]:
    """The problems of a file with this text, without the directory in front."""
    file = path / "stator.toml"
    file.write_text(text)
    with pytest.raises(InvalidInputError) as refused:
        load_config(file, [])
    return [str(problem).removeprefix(f"{path}/") for problem in refused.value.problems]


def test_everything_a_file_can_say(tmp_path: Path) -> None:
    """Paths are relative to the file, image patterns keep their order."""
    file = tmp_path / "stator.toml"
    file.write_text(COMPLETE)
    assert load_config(file, []) == LocalConfig(
        file=str(file),
        images=(
            ImageMapping(pattern="reg/own:*", python=f"{tmp_path}/env/bin/python"),
            ImageMapping(pattern="reg/other:dev", requirements="/etc/other.txt"),
            ImageMapping(pattern="reg/third:main", ai_dynamo="1.5.1", profile="base"),
        ),
        volumes={"models": tmp_path / "data/models", "other-claim": Path("/srv/other")},
        contents={
            ("models", "tiny"): ScriptContent(script=f"{tmp_path}/make.py", runtime="1.6.1"),
            ("models", "deep/minilm"): WheelContent(
                requirement="a-wheel==0.1.0", sha256="a" * 64, directory="a_wheel/model"
            ),
        },
        ignored_sidecars=frozenset({"log-shipper"}),
    )


def test_the_file_beside_the_first_source_comes_before_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph brings its configuration along; standard input has no directory of its own."""
    graphs, here = tmp_path / "graphs", tmp_path / "here"
    for directory in (graphs, here):
        directory.mkdir()
        (directory / "stator.toml").write_text(f'[ignore]\nsidecars = ["{directory.name}"]\n')
    monkeypatch.chdir(here)
    assert load_config(None, [graphs / "graph.yaml"]).ignored_sidecars == {"graphs"}
    assert load_config(None, [str(graphs)]).ignored_sidecars == {"graphs"}
    assert load_config(None, ["-", graphs / "graph.yaml"]).ignored_sidecars == {"here"}
    assert load_config(None, [tmp_path / "graph.yaml"]).ignored_sidecars == {"here"}
    assert load_config(graphs / "stator.toml", ["-"]).ignored_sidecars == {"graphs"}


def test_no_file_is_an_empty_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has to be configured to run graphs of published images."""
    monkeypatch.chdir(tmp_path)
    assert load_config(None, ["graph.yaml"]) == LocalConfig()


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    """--config with a typing error is not silently an empty configuration."""
    with pytest.raises(InvalidInputError, match=r"absent\.toml: cannot read the configuration: No such file"):
        load_config(tmp_path / "absent.toml", [])


def test_a_syntax_error_is_located(tmp_path: Path) -> None:
    """An editor can jump to the broken line."""
    assert problems(tmp_path, '[images]\n"a" = { python = }\n') == ["stator.toml:2: not valid TOML: Invalid value"]


def test_every_problem_is_reported_with_its_line(tmp_path: Path) -> None:
    """One run shows all that is to correct: unknown keys with the known ones, types, and contradictions."""
    text = """\
[image]
[images]
"a" = { pyhton = "x" }
"b" = { python = "x", ai-dynamo = "1.5.1" }
"c" = { ai-dynamo = 1.5 }
"d" = { python = "x", profile = "base" }
"e" = { ai-dynamo = "1.5.1", profile = "gpu" }
"f" = "1.5.1"
[volumes.models]
contents.up."../x" = { script = "s", runtime = "1" }
[volumes.data]
path = "d"
[volumes.data.contents.one]
script = "s"
[volumes.data.contents.two]
requirement = "a>=1"
sha256 = "short"
directory = "/etc"
[volumes.data.contents."../three"]
script = "s"
runtime = "1.6.1"
[volumes.data.contents.four]
[ignore]
sidecars = "x"
"""
    expected = [
        'stator.toml:1: image: unknown key "image": known here: images, volumes, ignore, check',
        'stator.toml:3: images.a.pyhton: unknown key "pyhton": known here: python, requirements, ai-dynamo, profile',
        "stator.toml:3: images.a: give exactly one of python, requirements, ai-dynamo: there is none of them",
        "stator.toml:4: images.b: give exactly one of python, requirements, ai-dynamo: there is python and ai-dynamo",
        "stator.toml:5: images.c.ai-dynamo: Expected `str`, got `float`",
        "stator.toml:6: images.d.profile: profile goes with ai-dynamo, not with python",
        "stator.toml:7: images.e.profile: Invalid enum value 'gpu'",
        "stator.toml:8: images.f: f is a table, not str",
        'stator.toml:9: volumes.models: a volume needs a path\n  do: path = "DIRECTORY"',
        f"stator.toml:10: volumes.models.contents.up: {CONTENTS}",
        "stator.toml:13: volumes.data.contents.one: Object missing required field `runtime`",
        'stator.toml:16: volumes.data.contents.two.requirement: "a>=1" is not of the form name==version',
        "stator.toml:17: volumes.data.contents.two.sha256: not a SHA-256 (64 hexadecimal digits, lower case)",
        'stator.toml:18: volumes.data.contents.two.directory: "/etc" is not a directory inside the wheel',
        'stator.toml:19: volumes.data.contents."../three": "../three" is not a directory below the volume',
        f"stator.toml:22: volumes.data.contents.four: {CONTENTS}",
        "stator.toml:24: ignore.sidecars: sidecars is a list of container names",
    ]
    assert problems(tmp_path, text) == expected


@pytest.mark.parametrize("release", ["1.5", "v1.5.1", "latest", "==1.5.1", "1.5.1.post1"])
def test_a_release_is_three_numbers(tmp_path: Path, release: str) -> None:
    """An environment is made for it: another text would fail only when the graph starts."""
    images = f'[images]\n"a" = {{ ai-dynamo = "{release}" }}\n'
    [problem] = problems(tmp_path, images)
    assert problem.startswith(f'stator.toml:2: images.a.ai-dynamo: "{release}" is no release of ai-dynamo')
    volume = f'[volumes.v]\npath = "v"\n[volumes.v.contents.c]\nscript = "s"\nruntime = "{release}"\n'
    [problem] = problems(tmp_path, volume)
    assert problem.startswith(f'stator.toml:5: volumes.v.contents.c.runtime: "{release}" is no release of ai-dynamo')
