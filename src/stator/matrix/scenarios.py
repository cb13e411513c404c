"""From a user's graph to what a matrix runs of it: what it serves, and the graph of one cell.

A scenario is a graph that one frontend and its workers make up. Everything that is no frontend moves together to the
worker's release of a cell, because workers of one graph must be of one release (prefill and decode).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from stator.compat import ContainerFacts, sglang
from stator.compat.given import given
from stator.compat.predicates.sglang_canary import CHECKS
from stator.compat.roles import WORKERS
from stator.errors import InvalidInputError, Problem
from stator.matrix.cells import Canary, Cell, Pair, Variant
from stator.matrix.checks import Kind
from stator.model import MAIN, Component, Graph, Inventory
from stator.render import RenderOptions, render_graph
from stator.versions import Version, with_versions

MOCKER = "dynamo.mocker"
ENGINES = ("dynamo.sglang", "dynamo.vllm", "dynamo.trtllm", MOCKER)
_NAMES = ("--served-model-name", "--model-name")
_PATHS = ("--model-path", "--model")
_FRONTEND = "frontend"
# A label, and so a namespace, is no longer (RFC 1123).
_LONGEST = 63


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A graph to run: `model` is the name it serves, `engine` the module of its workers."""

    inventory: Inventory
    graph: Graph
    kind: Kind
    model: str
    engine: str

    @property
    def name(self) -> str:
        """The graph's name."""
        return self.graph.name


def read_scenarios(inventory: Inventory, options: RenderOptions) -> tuple[Scenario, ...]:
    """Every graph as a scenario. Raises InvalidInputError with all reasons why one cannot be."""
    problems: list[Problem] = []
    scenarios = []
    seen: set[str] = set()
    for graph in inventory.graphs:
        if graph.name in seen:
            problems.append(
                Problem(
                    what=f"two graphs are called {graph.name}",
                    position=graph.locate("metadata", "name"),
                    why="a cell is named after its graph",
                    remedy="rename one, or run them one after the other",
                )
            )
        seen.add(graph.name)
        try:
            scenarios.append(_scenario(inventory, graph, options))
        except InvalidInputError as error:
            problems += error.problems
    if problems:
        raise InvalidInputError(*problems)
    return tuple(scenarios)


def _scenario(inventory: Inventory, graph: Graph, options: RenderOptions) -> Scenario:
    manifest = render_graph(graph, options)
    types = [component.type for component in manifest.components]
    if types.count(_FRONTEND) != 1 or not any(kind in WORKERS for kind in types):
        raise InvalidInputError(
            Problem(
                what=f"{graph.ref} is no frontend with workers",
                position=graph.locate("spec"),
                why=f"its components are of the types {', '.join(kind or 'none' for kind in types) or 'none'}",
                remedy="give a graph with one frontend and at least one worker",
            )
        )
    facts = [component.facts for component in manifest.components if component.type in WORKERS and component.facts]
    engine = next((run.module for each in facts for run in each.command_line.invocations if run.module in ENGINES), "")
    model = next((name for each in facts if (name := _model(each))), "")
    if not model:
        raise InvalidInputError(
            Problem(
                what=f"{graph.ref}: no worker says which model it serves",
                position=graph.locate("spec"),
                why=f"none runs {', '.join(ENGINES)} with a literal {' or '.join((*_NAMES, *_PATHS))}",
                remedy="write the command as python3 -m dynamo.MODULE with the flag",
            )
        )
    kind: Kind = "embedding" if any(_embeds(each) for each in facts) else "chat"
    return Scenario(inventory=inventory, graph=graph, kind=kind, model=model, engine=engine)


def _model(facts: ContainerFacts) -> str:
    """The name the model is served under: a name that was given, else its path."""
    for flags in (_NAMES, _PATHS):
        if values := [use.value for use in given(facts, ENGINES, flags) if use.value]:
            return values[-1]
    return ""


def _embeds(facts: ContainerFacts) -> bool:
    return any(sglang.embedding(facts, worker).on for worker in sglang.workers(facts))


def variants(
    scenario: Scenario,
    window: Sequence[Version],
    *,
    canaries: Sequence[Canary],
    repairs: Sequence[bool],
    options: RenderOptions,
) -> tuple[Variant, ...]:
    """What to vary. Without repairs is only another run where some release of the window would be repaired."""
    chosen = []
    for canary in canaries:
        cells = [Cell(scenario.name, Pair(window[0], version), Variant(canary)) for version in window]
        matters = any(repaired(scenario, cell, options) for cell in cells)
        chosen += [Variant(canary, on) for on in repairs if on or matters or True not in repairs]
    return tuple(chosen)


def repaired(scenario: Scenario, cell: Cell, options: RenderOptions) -> tuple[str, ...]:
    """The rules whose repair the cell's graph gets, or would get: without it they break the worker."""
    manifest = render_graph(graph_of(scenario, cell), msgspec.structs.replace(options, repairs=True))
    return tuple(dict.fromkeys(rule for component in manifest.components for rule in component.repairs))


def broken_by(scenario: Scenario, cell: Cell, options: RenderOptions) -> tuple[str, ...]:
    """The rules because of which the cell must fail: it goes without repairs that it needs."""
    return () if cell.variant.repairs else repaired(scenario, cell, options)


def inventory_of(scenario: Scenario, cell: Cell) -> Inventory:
    """The cell's graph alone, in a namespace of its own, with what the graph refers to."""
    graph, home = graph_of(scenario, cell), scenario.graph.namespace
    inventory = scenario.inventory
    return msgspec.structs.replace(
        inventory,
        graphs=(graph,),
        config_maps={
            (graph.namespace, name): data for (where, name), data in inventory.config_maps.items() if where == home
        },
        secrets={(graph.namespace, name): data for (where, name), data in inventory.secrets.items() if where == home},
    )


def graph_of(scenario: Scenario, cell: Cell) -> Graph:
    """The graph with its parts at the cell's releases, the canary as the cell has it, and the cell as its namespace."""
    graph = msgspec.structs.replace(scenario.graph, namespace=cell.id)
    releases = {
        part.name: cell.pair.frontend if part.type == _FRONTEND else cell.pair.worker for part in graph.components
    }
    graph = with_versions(graph, releases)
    if cell.variant.canary == "default":
        return graph
    checks = {"name": CHECKS, "value": "true" if cell.variant.canary == "on" else "false"}
    parts = tuple(_with_env(part, checks) if part.type in WORKERS else part for part in graph.components)
    return msgspec.structs.replace(graph, components=parts)


def _with_env(component: Component, entry: Mapping[str, Any]) -> Component:
    containers = [
        {**item, "env": [*(one for one in item.get("env") or () if one.get("name") != entry["name"]), entry]}
        if item.get("name") == MAIN
        else item
        for item in component.pod_spec.get("containers") or ()
    ]
    template = {**component.pod_template, "spec": {**component.pod_spec, "containers": containers}}
    return msgspec.structs.replace(component, pod_template=template)


def check_names(cells: Iterable[Cell]) -> None:
    """Raise InvalidInputError for cells whose name would be no namespace."""
    problems = [
        Problem(
            what=f"{cell.id} is longer than {_LONGEST} characters",
            why="a cell is a namespace of its own",
            remedy=f"give graph {cell.scenario} a shorter name",
        )
        for cell in cells
        if len(cell.id) > _LONGEST
    ]
    if problems:
        raise InvalidInputError(*problems)
