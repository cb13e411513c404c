"""Whole graphs, rendered and compared byte by byte with files that are reviewed like code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from rendered import graph_of

from stator.render import render_graph
from stator.render.output import to_json, to_yaml

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.name for path in GOLDEN.iterdir())


@pytest.mark.parametrize("case", CASES)
def test_a_graph_renders_to_its_golden_file(case: str, *, request: pytest.FixtureRequest) -> None:
    """Rendering gives exactly the reviewed objects."""
    manifest = render_graph(graph_of((GOLDEN / case / "graph.yaml").read_text()))
    expected = GOLDEN / case / "expected.yaml"
    rendered = to_yaml(manifest.objects)
    if request.config.getoption("--update-golden"):
        expected.write_text(rendered)
    assert rendered == expected.read_text()


@pytest.mark.parametrize("case", CASES)
def test_the_text_reads_back_as_the_objects(case: str) -> None:
    """YAML and JSON say the same, and what a parser reads back is what was rendered."""
    objects = list(render_graph(graph_of((GOLDEN / case / "graph.yaml").read_text())).objects)
    assert list(yaml.safe_load_all(to_yaml(objects))) == objects
    assert json.loads(to_json(objects)) == {"apiVersion": "v1", "kind": "List", "items": objects}
