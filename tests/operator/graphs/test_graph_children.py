"""A component on its own renders to the objects that it has in its graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stator.model import Graph, load, load_objects
from stator.operator.graphs.children import component_objects, components_of, shared_objects
from stator.render import RenderOptions, render_graph
from stator.render.restart import restart_ids

Json = dict[str, Any]

GOLDEN = Path(__file__).parents[2] / "render" / "golden"
EXAMPLES = Path(__file__).parents[3] / "examples"


def graphs() -> list[Any]:
    """Every golden graph and every graph of the examples that is made of components."""
    return [
        pytest.param(graph, id=f"{path.parent.name}-{graph.name}")
        for path in (*sorted(GOLDEN.glob("*/graph.yaml")), *sorted(EXAMPLES.glob("**/*.yaml")))
        for graph in load([str(path)]).graphs
        if graph.kind == "DynamoGraphDeployment" and render_graph(graph).provider == "component"
    ]


def components(graph: Graph, options: RenderOptions) -> dict[str, Json]:
    """The components of a graph as the API server gives them back: plain JSON."""
    made = components_of(graph, render_graph(graph, options), restart_ids(graph))
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


@pytest.mark.parametrize("graph", graphs())
@pytest.mark.parametrize(
    "options",
    [RenderOptions(), RenderOptions(repairs=False, infrastructure_env=({"name": "NATS_SERVER", "value": "nats://n"},))],
    ids=["defaults", "configured"],
)
def test_a_component_renders_alone_to_what_it_is_in_its_graph(graph: Graph, options: RenderOptions) -> None:
    """Deployment, Service, Ingress and repair of each component are byte for byte those of the graph."""
    whole = render_graph(graph, options)
    made = components(graph, options)
    assert list(made) == [component.name for component in graph.components]
    for rendered in whole.components:
        [alone] = load_objects([made[rendered.name]]).graphs
        [same] = render_graph(alone, options).components
        assert list(same.objects) == list(component_objects(rendered))


@pytest.mark.parametrize("graph", graphs())
def test_what_components_do_not_make_the_graph_makes(graph: Graph) -> None:
    """Each rendered object is made by exactly one of the two."""
    whole = render_graph(graph)
    own = [item for component in whole.components for item in component_objects(component)]
    together = [*own, *shared_objects(whole)]
    assert sorted(map(str, together)) == sorted(map(str, whole.objects))
