"""Every graph in the published `ai-dynamo` wheels, as files and inside their Python sources, on every provider."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from published import EVERY_RELEASE, embedded, files, unpack
from stator.errors import InvalidInputError, Problem
from stator.model import Graph
from stator.model.load import load
from stator.render import RenderOptions, render_graph
from stator.render.output import to_yaml

pytestmark = pytest.mark.real

PROVIDERS = (RenderOptions(), RenderOptions(provider="grove"))
MISSING = re.compile(r'component (.+): the container "main" (?:has no image|is missing)')
REQUIRED = re.compile(r"([\w.]+): is required")


@pytest.fixture(scope="module", params=EVERY_RELEASE)
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release's files."""
    return unpack(request.param, tmp_path_factory.mktemp("wheel"))


def render_everywhere(graphs: tuple[Graph, ...]) -> None:
    """Render for every provider; the text has to be YAML again, and every pod needs a named container."""
    for graph in graphs:
        for options in PROVIDERS:
            manifest = render_graph(graph, options)
            assert list(yaml.safe_load_all(to_yaml(manifest.objects))) == list(manifest.objects)
            for component in manifest.components:
                names = [item["name"] for pod in component.pods for item in pod.template["spec"]["containers"]]
                assert names[0] == "main"
                assert len(set(names)) == len(names) / len(component.pods)


def is_true(problem: Problem, value: dict[str, Any]) -> bool:
    """Whether a problem says something that a look at the fragment confirms."""
    if required := REQUIRED.fullmatch(problem.what):
        *parents, name = required[1].split(".")
        for parent in parents:
            value = value[parent]
        return name not in value
    if problem.what.startswith("spec.components: must be a list of 1 to 25 items"):
        return value["spec"]["components"] == []
    if problem.what.startswith("apiVersion: DynamoGraphDeployment is known in"):
        return not value["apiVersion"].startswith("nvidia.com/")
    if missing := MISSING.fullmatch(problem.what):
        component = next(item for item in value["spec"]["components"] if item["name"] == missing[1])
        containers = component.get("podTemplate", {}).get("spec", {}).get("containers", [])
        return all(item["name"] != "main" or "image" not in item for item in containers)
    return False


def test_every_published_file_renders(wheel: Path) -> None:
    """Templates, examples and test configurations are what people start from."""
    found = list(files(wheel))
    assert found
    for path in found:
        render_everywhere(load([str(path)], namespace="published").graphs)


def test_every_embedded_manifest_renders_or_says_truly_why_not(wheel: Path) -> None:
    """The sources also hold fragments, which are refused with the line and a reason that holds."""
    for place, text in embedded(wheel):
        try:
            render_everywhere(load(["-"], stdin=io.StringIO(text)).graphs)
        except InvalidInputError as error:
            value = yaml.safe_load(text)
            for problem in error.problems:
                assert problem.position is not None, place
                assert problem.position.line, place
                assert is_true(problem, value), (place, str(problem))
