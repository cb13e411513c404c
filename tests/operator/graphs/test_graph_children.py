"""A component on its own renders to the objects that it has in its graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from stator.model import Graph, load, load_objects
from stator.operator.graphs.children import component_objects, components_of, shared_objects
from stator.render import RenderOptions, render_graph
from stator.render.restart import restart_ids
from stator.versions import Version

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


ENV = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: ns}
spec:
  components:
  - name: Worker
    type: worker
    podTemplate:
      spec:
        containers:
        - {name: main, image: "reg/sglang-runtime:1.5.0", command: [python3, -m, dynamo.sglang, --embedding-worker]}
        - {name: beside, image: "reg/other:1"}
"""
POLICY = """
experimental:
  kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: preferred, preferredWeight: 0.5}
"""
ROLES = """
multinode: {nodeCount: 2}
roles:
- name: leader
  podTemplate:
    metadata: {labels: {team: leaders}}
    spec:
      containers:
      - name: main
        image: reg/sglang-runtime:1.6.1
        command: [python3, -m, dynamo.sglang]
        env: [{name: A, value: l}]
- name: worker
  podTemplate:
    spec:
      containers:
      - {name: main, image: "reg/sglang-runtime:1.6.1", command: [python3, -m, dynamo.sglang]}
"""


def worker_graph(spec: str = "", worker: str = "", **main: Any) -> Graph:
    """A graph of one worker; `spec`, `worker` and `main` are more of the graph, the component and its container."""
    value = yaml.safe_load(ENV)
    value["spec"] |= yaml.safe_load(spec) or {}
    component = value["spec"]["components"][0]
    component["podTemplate"]["spec"]["containers"][0] |= main
    if more := yaml.safe_load(worker):
        component |= more
        if "roles" in more:
            del component["podTemplate"]
    [graph] = load_objects([value]).graphs
    return graph


def assert_renders_alone(graph: Graph) -> None:
    """The worker on its own is the worker of the graph."""
    [whole] = render_graph(graph).components
    [alone] = load_objects([components(graph, RenderOptions())["Worker"]]).graphs
    [same] = render_graph(alone).components
    assert list(same.objects) == list(component_objects(whole))


NAMES = st.sampled_from(["A", "B", "C", "DYN_SYSTEM_PORT", "DYN_NAMESPACE"])
TEXTS = st.lists(st.one_of(st.just("x"), NAMES.map(lambda name: f"$({name})")), max_size=3).map("-".join)
ENTRIES = st.lists(st.builds(lambda name, value: {"name": name, "value": value}, NAMES, TEXTS), max_size=4)


@given(of_graph=ENTRIES, own=ENTRIES)
def test_variables_that_refer_to_each_other_come_in_the_same_order(of_graph: list[Json], own: list[Json]) -> None:
    """Merged into the component, the graph's variables stand and resolve as they do in the graph."""
    of_graph = list({entry["name"]: entry for entry in of_graph}.values())
    own = list({entry["name"]: entry for entry in own}.values())
    assume(not _has_circle([*of_graph, *own]))
    assert_renders_alone(worker_graph(json.dumps({"env": of_graph}), env=own))


def _has_circle(entries: list[Json]) -> bool:
    """Whether a variable refers to itself, over others or not: which one goes last then is nobody's promise."""
    graph: dict[str, set[str]] = {}
    for entry in entries:
        graph.setdefault(entry["name"], set()).update(
            other["name"] for other in entries if f"$({other['name']})" in entry["value"]
        )
    for _ in range(len(graph)):
        for name, found in graph.items():
            graph[name] = found | {far for near in found for far in graph.get(near, ())}
    return any(name in found for name, found in graph.items())


@pytest.mark.parametrize(
    ("spec", "worker"),
    [
        (POLICY, ""),
        ("env: [{name: A, value: g}, {name: B, value: $(A)}]\nlabels: {team: all, tier: gpu}", ROLES),
        ("restart: {id: now}", ""),
        ("backendFramework: sglang\nannotations: {nvidia.com/deployment-strategy: Recreate}", "sharedMemorySize: 0"),
        ("", "globalDynamoNamespace: true\nreplicas: 0\nscalingAdapter: {}\nmodelRef: {name: Qwen/Qwen3-0.6B}"),
    ],
    ids=["kv-transfer", "roles", "restart", "strategy", "switches"],
)
def test_what_only_a_graph_can_say_reaches_its_component(spec: str, worker: str) -> None:
    """Policies, role templates, restarts and merged metadata are carried by the component, and render the same."""
    assert_renders_alone(worker_graph(spec, worker))


def test_a_restart_is_in_the_pods_alone() -> None:
    """The workload's own annotations do not change with it."""
    graph = worker_graph("restart: {id: now}")
    [alone] = load_objects([components(graph, RenderOptions())["Worker"]]).graphs
    workload = render_graph(alone).components[0].workload
    assert workload["spec"]["template"]["metadata"]["annotations"] == {"nvidia.com/restartAt": "now"}
    assert "annotations" not in workload["metadata"]


@pytest.mark.parametrize("graph", graphs())
def test_a_component_does_not_change_with_the_operator(graph: Graph) -> None:
    """It holds intent only: another release, configuration or repair would replace pods that serve."""
    variable = {"name": "NATS_SERVER", "value": "nats://n"}
    other = RenderOptions(operator=Version(1, 6, 0), repairs=False, infrastructure_env=(variable,))
    assert components(graph, other) == components(graph, RenderOptions())
