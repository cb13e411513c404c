"""A restart: which components carry the new id, one after another or all at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rendered import graph_of, render

from stator.render import RenderOptions
from stator.render.restart import RestartProgress, is_sequential, restart_ids

COMPONENTS = ("a", "b", "c")


def text(strategy: str = "") -> str:
    """A graph of three components whose restart is asked for by the id `new`."""
    components = ", ".join(
        f"{{name: {name}, type: frontend, podTemplate: {{spec: {{containers: [{{name: main, image: i}}]}}}}}}"
        for name in COMPONENTS
    )
    return (
        "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {name: g, namespace: ns}\n"
        f"spec: {{restart: {{id: new{strategy}}}, components: [{components}]}}\n"
    )


def test_a_file_is_rendered_as_if_its_restart_were_over() -> None:
    """Without progress all pods carry the id, whatever the order."""
    assert restart_ids(graph_of(text())) == dict.fromkeys(COMPONENTS, "new")


def test_a_parallel_restart_reaches_all_at_once() -> None:
    """`Parallel` waits for nobody."""
    graph = graph_of(text(", strategy: {type: Parallel}"))
    assert not is_sequential(graph)
    assert restart_ids(graph, RestartProgress(previous={"a": "old"})) == dict.fromkeys(COMPONENTS, "new")


def test_a_sequential_restart_goes_by_name() -> None:
    """The next component follows when the one before is ready; the rest keeps what it carried."""
    graph = graph_of(text())
    before = {"a": "old", "c": "old"}
    assert restart_ids(graph, RestartProgress(previous=before)) == {"a": "new", "c": "old"}
    one = RestartProgress(previous=before, restarted=frozenset({"a"}))
    assert restart_ids(graph, one) == {"a": "new", "b": "new", "c": "old"}


def test_a_declared_order_counts() -> None:
    """`strategy.order` is followed instead of the names."""
    graph = graph_of(text(", strategy: {type: Sequential, order: [c, a, b]}"))
    assert restart_ids(graph, RestartProgress(restarted=frozenset({"c"}))) == {"c": "new", "a": "new"}


@given(st.permutations(COMPONENTS))
def test_one_component_at_a_time_and_all_in_the_end(order: list[str]) -> None:
    """From turn to turn one component more carries the new id, in the declared order, until all do."""
    graph = graph_of(text(f", strategy: {{type: Sequential, order: [{', '.join(order)}]}}"))
    for done in range(len(order) + 1):
        ids = restart_ids(graph, RestartProgress(restarted=frozenset(order[:done])))
        assert list(ids) == order[: done + 1]


def test_only_the_pods_of_the_one_whose_turn_it_is_change() -> None:
    """The annotation is on the pod template of that component alone, and nothing is left unsaid."""
    manifest = render(text(), RenderOptions(restarts=RestartProgress()))
    carried = {
        item.name: item.workload["spec"]["template"]["metadata"].get("annotations", {}).get("nvidia.com/restartAt")
        for item in manifest.components
    }
    assert carried == {"a": "new", "b": None, "c": None}
    assert manifest.not_rendered == ()
