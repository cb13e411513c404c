"""From a graph to the graph of one cell: what it serves, its releases, its canary, its repairs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from matrix_graphs import OPTIONS, component, embedder, frontend, inventory, scenario, worker

from stator.errors import InvalidInputError
from stator.matrix.cells import Cell, Pair, Variant
from stator.matrix.scenarios import broken_by, check_names, graph_of, inventory_of, read_scenarios, variants
from stator.model import Graph
from stator.render import render_graph
from stator.versions import Version

V16, V15, V14 = Version(1, 6, 1), Version(1, 5, 1), Version(1, 4, 2)


def environment(graph: Graph, name: str) -> dict[str, Any]:
    """The literal variables that a component's main container gets."""
    manifest = render_graph(graph, OPTIONS)
    part = next(part for part in manifest.components if part.name == name)
    (container,) = part.workload["spec"]["template"]["spec"]["containers"]
    return {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}


def test_what_a_graph_serves_is_read_from_its_workers() -> None:
    """The model's served name, else its path; embedding if the worker is in that mode."""
    chat = scenario(frontend(), worker())
    assert (chat.kind, chat.model, chat.engine) == ("chat", "tiny", "dynamo.mocker")
    assert scenario(frontend(), worker("dynamo.sglang", "--model-path", "/m")).model == "/m"
    embedding = scenario(frontend(), embedder())
    assert (embedding.kind, embedding.model) == ("embedding", "minilm")
    by_variable = worker("dynamo.sglang", "--model", "x", env=[{"name": "DYN_SGL_EMBEDDING_WORKER", "value": "true"}])
    assert scenario(frontend(), by_variable).kind == "embedding"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([worker()], "no frontend with workers"),
        ([frontend()], "no frontend with workers"),
        ([frontend(), worker("dynamo.sglang", "--tp", "2")], "which model it serves"),
        ([frontend(), component("Worker", "worker", "r/own:1")], "which model it serves"),
    ],
)
def test_a_graph_that_is_no_scenario_is_refused_by_name(parts: list[dict[str, Any]], said: str) -> None:
    """With what is missing."""
    with pytest.raises(InvalidInputError, match=said):
        read_scenarios(inventory(*parts), OPTIONS)


def test_two_graphs_of_one_name_are_refused() -> None:
    """Cells are named after graphs."""
    one = inventory(frontend(), worker())
    both = msgspec.structs.replace(one, graphs=one.graphs * 2)
    with pytest.raises(InvalidInputError, match="two graphs are called chat"):
        read_scenarios(both, OPTIONS)


def test_all_workers_move_together_and_the_frontend_alone() -> None:
    """Prefill and decode must be of one release, whatever the pair."""
    given = scenario(frontend(), worker(name="Prefill", kind="prefill"), worker(name="Decode", kind="decode"))
    graph = graph_of(given, Cell("chat", Pair(V16, V14)))
    versions = {part.name: str(part.version.core) for part in render_graph(graph, OPTIONS).components}
    assert versions == {"Frontend": "1.6.1", "Prefill": "1.4.2", "Decode": "1.4.2"}


def test_a_cell_has_a_namespace_of_its_own_with_what_the_graph_refers_to() -> None:
    """So that cells that run at once cannot find each other."""
    given = scenario(frontend(), worker())
    given = msgspec.structs.replace(
        given,
        inventory=msgspec.structs.replace(
            given.inventory, config_maps={("home", "settings"): {"a": "b"}, ("other", "x"): {}}
        ),
    )
    cell = Cell("chat", Pair(V16, V15))
    own = inventory_of(given, cell)
    assert [graph.namespace for graph in own.graphs] == [cell.id]
    assert own.config_maps == {(cell.id, "settings"): {"a": "b"}}
    assert environment(own.graphs[0], "Worker")["DYN_NAMESPACE"] == f"{cell.id}-chat"


def test_the_canary_is_as_rendered_or_set_by_hand_on_workers_only() -> None:
    """An older release has it off by default, a newer one on."""
    given = scenario(frontend(), worker())
    name = "DYN_HEALTH_CHECK_ENABLED"

    def seen(canary: Any, release: Version) -> str:
        return str(environment(graph_of(given, Cell("chat", Pair(V16, release), Variant(canary))), "Worker").get(name))

    assert [seen(canary, V15) for canary in ("default", "on", "off")] == ["true", "true", "false"]
    assert [seen(canary, V14) for canary in ("default", "on", "off")] == ["false", "true", "false"]
    graph = graph_of(given, Cell("chat", Pair(V16, V15), Variant("on")))
    assert name not in environment(graph, "Frontend")


def test_runs_without_repairs_are_planned_where_a_repair_matters() -> None:
    """A chat graph needs none, so leaving it out shows nothing."""
    window, both = [V16, V15, V14], (True, False)

    def planned(given: Any) -> list[bool]:
        return [each.repairs for each in variants(given, window, canaries=["default"], repairs=both, options=OPTIONS)]

    assert planned(scenario(frontend(), worker())) == [True]
    assert planned(scenario(frontend(), embedder(), backendFramework="sglang")) == [True, False]


def test_only_the_cell_that_goes_without_its_repair_has_to_fail() -> None:
    """DYN101: the 1.5 embedding worker; neither with the repair, nor 1.6, nor 1.4 whose checks are off."""
    given = scenario(frontend(), embedder(), backendFramework="sglang")

    def rules(release: Version, variant: Variant) -> tuple[str, ...]:
        return broken_by(given, Cell("chat", Pair(V16, release), variant), OPTIONS)

    assert rules(V15, Variant(repairs=False)) == ("DYN101",)
    assert rules(V15, Variant()) == ()
    assert rules(V16, Variant(repairs=False)) == ()
    assert rules(V14, Variant(repairs=False)) == ()
    assert rules(V14, Variant("on", repairs=False)) == ("DYN101",)


def test_a_cell_whose_name_is_no_namespace_is_refused() -> None:
    """Before anything runs."""
    with pytest.raises(InvalidInputError, match="longer than 63"):
        check_names([Cell("g" * 60, Pair(V16, V15))])
