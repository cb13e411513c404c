"""The graphs in examples/ run on a machine with nothing but their own stator.toml."""

from __future__ import annotations

import filecmp
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from stator.local.config import load_config
from stator.local.runtimes import RuntimeRequest, directories_in_use, ensure

EXAMPLES = Path(__file__).parents[3] / "examples"


def load(name: str) -> dict[str, Any]:
    """The graph of an example file."""
    graph: dict[str, Any] = yaml.safe_load((EXAMPLES / name).read_text())
    return graph


@pytest.mark.parametrize(("name", "directory"), [("chat.yaml", "tiny"), ("embedding.yaml", "minilm")])
def test_the_models_of_an_example_are_described_and_found(name: str, directory: str) -> None:
    """stator.toml lies beside the graphs and says how the one model each of them names is made."""
    config = load_config(None, [EXAMPLES / name])
    assert config.file == str(EXAMPLES / "stator.toml")
    pods = [component["podTemplate"]["spec"] for component in load(name)["spec"]["components"]]
    assert directories_in_use(config, pods) == {("models", directory)}


def test_the_older_api_version_says_the_same_graph() -> None:
    """The twin has the same components, containers and volumes as the graph it is shown beside."""
    beta = {component["name"]: component for component in load("chat.yaml")["spec"]["components"]}
    alpha = load("chat-v1alpha1.yaml")["spec"]["services"]
    assert beta.keys() == alpha.keys()
    for name, service in alpha.items():
        spec = beta[name]["podTemplate"]["spec"]
        pod = dict(service["extraPodSpec"])
        main = {"name": "main", **pod.pop("mainContainer")}
        assert {"containers": [main], **pod} == spec
        assert (service["componentType"], service["replicas"]) == (beta[name]["type"], beta[name]["replicas"])


@pytest.mark.real
def test_the_tiny_model_is_the_same_every_time(tmp_path: Path, cache: Path) -> None:
    """A model made on another machine answers with the same words, and the vocabulary is large enough for any."""
    request = RuntimeRequest(image="example", profile="base", version="1.6.1")
    runtime = ensure(request, cache=cache, progress=lambda _: None)
    made = [tmp_path / "one", tmp_path / "two"]
    for output in made:
        subprocess.run(
            [runtime.python, str(EXAMPLES / "make_tiny_model.py"), str(output)], check=True, capture_output=True
        )
    names = sorted(path.name for path in made[0].iterdir())
    assert names == ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"]
    assert filecmp.cmpfiles(*made, names, shallow=False) == (names, [], [])
    assert json.loads((made[0] / "config.json").read_text())["vocab_size"] == 4096
