"""Whole graphs, rendered and compared byte by byte with files that are reviewed like code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from stator.model.load import load
from stator.render import Manifest, render_graph
from stator.render.output import to_json, to_yaml

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.name for path in GOLDEN.iterdir())


def rendered(case: str) -> Manifest:
    """The manifest of a case's one graph."""
    [graph] = load([str(GOLDEN / case / "graph.yaml")]).graphs
    return render_graph(graph)


@pytest.mark.parametrize("case", CASES)
def test_a_graph_renders_to_its_golden_file(case: str, *, request: pytest.FixtureRequest) -> None:
    """Rendering gives exactly the reviewed objects."""
    expected = GOLDEN / case / "expected.yaml"
    text = to_yaml(rendered(case).objects)
    if request.config.getoption("--update-golden"):
        expected.write_text(text)
    assert text == expected.read_text()


@pytest.mark.parametrize("case", CASES)
def test_the_text_reads_back_as_the_objects(case: str) -> None:
    """YAML and JSON say the same, and what a parser reads back is what was rendered."""
    objects = list(rendered(case).objects)
    assert list(yaml.safe_load_all(to_yaml(objects))) == objects
    assert json.loads(to_json(objects)) == {"apiVersion": "v1", "kind": "List", "items": objects}


def test_a_v1alpha1_graph_renders_like_its_v1beta1_twin() -> None:
    """The version in which a graph was written does not show in a single byte."""
    assert to_yaml(rendered("chat-sglang-v1alpha1").objects) == to_yaml(rendered("chat-sglang").objects)


def test_the_hash_seed_does_not_show() -> None:
    """Two processes with different hash seeds write the same bytes."""
    script = (
        "import sys; from stator.model.load import load; from stator.render import render_graph; "
        "from stator.render.output import to_json, to_yaml; from stator.render.explain import explain_json; "
        "manifests = [render_graph(load([path]).graphs[0]) for path in sys.argv[1:]]; "
        "objects = [item for manifest in manifests for item in manifest.objects]; "
        "print(to_yaml(objects), to_json(objects), explain_json(manifests))"
    )
    paths = [str(GOLDEN / case / "graph.yaml") for case in CASES]
    texts = {
        subprocess.run(
            [sys.executable, "-c", script, *paths],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
