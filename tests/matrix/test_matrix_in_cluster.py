"""What a cell in a cluster applies, and what is made of its pods: pure judgements, without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matrix_graphs import OPTIONS, frontend, scenario, worker

from stator.matrix.cells import Cell, Pair, Variant
from stator.matrix.cluster import objects
from stator.matrix.cluster.observing import PodView, Timelines, view
from stator.matrix.cluster.settling import OPERATOR_PATIENCE, PULL_PATIENCE, repairs_in_force, settle
from stator.matrix.results import Moment
from stator.matrix.running.settling import CANARY_PATIENCE
from stator.matrix.scenarios import read_scenarios
from stator.model import load
from stator.versions import Version

Json = dict[str, Any]

V16, V15 = Version(1, 6, 1), Version(1, 5, 1)
EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_graph_is_the_users_but_for_the_releases() -> None:
    """Images and the canary of the cell; everything else, also what stator does not act on, as it was written."""
    given = scenario(frontend(), worker(resources={"limits": {"cpu": "1"}}), restart={"id": "1"})
    value = objects.graph(given, Cell("chat", Pair(V15, V16), Variant("on")), "cell")
    before = given.graph.origin.document.value
    assert value["metadata"] == {"name": "chat", "namespace": "cell"}
    assert value["spec"]["restart"] == {"id": "1"}
    containers = [part["podTemplate"]["spec"]["containers"][0] for part in value["spec"]["components"]]
    assert [item["image"] for item in containers] == ["r/dynamo-frontend:1.5.1", "r/sglang-runtime:1.6.1"]
    assert containers[1]["env"] == [{"name": "DYN_HEALTH_CHECK_ENABLED", "value": "true"}]
    assert containers[1]["resources"] == {"limits": {"cpu": "1"}}
    assert before["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]["image"].endswith(":1.6.1")


def test_a_v1alpha1_graph_is_applied_in_the_version_every_operator_serves() -> None:
    """A namespaced installation converts nothing, so the graph comes converted."""
    (given,) = read_scenarios(load([str(EXAMPLES / "chat-v1alpha1.yaml")]), OPTIONS)
    value = objects.graph(given, Cell(given.name, Pair(V16, V15)), "cell")
    assert value["apiVersion"] == "nvidia.com/v1beta1"
    images = [part["podTemplate"]["spec"]["containers"][0]["image"] for part in value["spec"]["components"]]
    assert sorted(image.rpartition(":")[2] for image in images) == ["1.5.1", "1.6.1"]


def test_what_the_graph_refers_to_comes_along(tmp_path: Path) -> None:
    """ConfigMaps, Secrets (pull secrets as such) and claims of its namespace; what is left out is named."""
    (tmp_path / "all.yaml").write_text(
        (EXAMPLES / "chat.yaml").read_text()
        + """
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: pull}, data: {.dockerconfigjson: e30=}}
---
{apiVersion: v1, kind: Secret, metadata: {name: token}, stringData: {token: hunter22}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: models, uid: x}, spec: {accessModes: [ReadOnlyMany]}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: other}}
"""
    )
    (given,) = read_scenarios(load([str(tmp_path / "all.yaml")]), OPTIONS)
    values = {f"{value['kind']}/{value['metadata']['name']}": value for value in objects.beside(given, "cell")}
    assert set(values) == {"ConfigMap/settings", "Secret/pull", "Secret/token", "PersistentVolumeClaim/models"}
    assert {value["metadata"]["namespace"] for value in values.values()} == {"cell"}
    assert values["Secret/pull"]["type"] == "kubernetes.io/dockerconfigjson"
    assert values["Secret/token"]["data"] == {"token": "aHVudGVyMjI="}
    assert values["PersistentVolumeClaim/models"]["metadata"] == {"name": "models", "namespace": "cell"}
    assert objects.left_out(given) == (str(tmp_path / "all.yaml"),)


def test_a_namespace_is_recognisable_short_and_new(tmp_path: Path) -> None:
    """Its labels say which cell it is and whose; two of one cell have different names."""
    cell = Cell("a-graph-with-quite-a-long-name", Pair(V16, V15), Variant("off", repairs=False))
    one, two = (objects.namespace(cell, objects.holder(tmp_path)) for _ in range(2))
    assert one["metadata"]["name"] != two["metadata"]["name"]
    assert len(one["metadata"]["name"]) <= 40
    assert one["metadata"]["name"].startswith("stator-a-graph")
    assert one["metadata"]["labels"] == two["metadata"]["labels"]
    assert one["metadata"]["labels"][objects.CELL] == cell.id
    assert objects.holder(tmp_path) != objects.holder(tmp_path / "other")


def pod(state: Json | None = None, *, ready: bool = False, phase: str = "Running", **conditions: Json) -> Json:
    """A pod of the worker with one container in this state."""
    found = {"Ready": {"status": str(ready)}, **conditions}
    return {
        "metadata": {"name": "w", "labels": {"nvidia.com/dynamo-component": "Worker"}},
        "status": {
            "phase": phase,
            "conditions": [{"type": kind, **item} for kind, item in found.items()],
            "containerStatuses": [{"name": "main", "restartCount": 2, "state": state or {"running": {}}}],
        },
    }


@pytest.mark.parametrize(
    ("seen", "reason", "message"),
    [
        (pod(ready=True), "", ""),
        (pod(), "Probe", "its containers run"),
        (pod(phase="Pending"), "Starting", ""),
        (pod({"waiting": {"reason": "ContainerCreating"}}, phase="Pending"), "Starting", ""),
        (pod({"waiting": {"reason": "ErrImagePull", "message": "no such tag"}}), "ErrImagePull", "main: no such tag"),
        (pod({"terminated": {"exitCode": 3}}), "Error", "exit code 3"),
        (
            pod(PodScheduled={"status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}),
            "Unschedulable",
            "0/3",
        ),
    ],
)
def test_why_a_pod_is_not_ready_is_said_in_the_kubelets_words(seen: Json, reason: str, message: str) -> None:
    """The most specific reason there is, with its message."""
    found = view(seen)
    assert found.reason == reason
    assert message in found.message
    assert found.ready is (reason == "")
    assert (found.component, found.restarts) == ("Worker", 2)


def test_a_rejected_check_is_a_reason_of_its_own() -> None:
    """As long as the pod is not Ready."""
    assert view(pod(), "rejected").reason == "Canary"
    assert view(pod(ready=True), "rejected").rejection == ""


def test_a_timeline_has_every_change_once_and_the_end_of_a_pod() -> None:
    """Seen twice the same is one moment; a pod that is not there any more is gone."""
    seen = Timelines({"Worker": "1.5.1"})
    seen.saw([view(pod())], 1)
    assert seen.saw([view(pod())], 2)[0].since == 1
    seen.saw([view(pod(ready=True))], 3)
    seen.saw([], 4)
    seen.saw([], 5)
    (told,) = seen.told()
    assert told.version == "1.5.1"
    assert told.transitions == (
        Moment(after=1, ready=False, reason="Probe"),
        Moment(after=3, ready=True, reason=""),
        Moment(after=4, ready=False, reason="Gone"),
    )


def graph(status: str = "False", *, state: str = "pending", seen: int = 1, **parts: Json) -> Json:
    """A live graph of generation 1."""
    condition = {"type": "Ready", "status": status, "reason": "some", "message": "Worker: not yet"}
    return {
        "metadata": {"generation": 1},
        "spec": {"components": [{"name": "Worker"}]},
        "status": {"observedGeneration": seen, "state": state, "conditions": [condition], "components": parts},
    }


def late(reason: str, *, since: float = 0, restarts: int = 0) -> PodView:
    """A pod that is not Ready."""
    return PodView(name="w", component="Worker", ready=False, reason=reason, since=since, restarts=restarts)


@pytest.mark.parametrize(
    ("live", "pods", "waited", "state"),
    [
        (graph("True"), [], 1, "ready"),
        (graph("True", seen=0), [late("Probe")], 1, ""),
        (graph(seen=0), [], OPERATOR_PATIENCE, "no operator"),
        (graph(), [], OPERATOR_PATIENCE, ""),
        (graph(state="failed"), [], 1, ""),
        (graph(state="failed"), [], 10, "not run"),
        (graph(), [late("InvalidImageName")], 1, "not run"),
        (graph(), [late("ImagePullBackOff", since=5)], 4 + PULL_PATIENCE, ""),
        (graph(), [late("ImagePullBackOff", since=5)], 5 + PULL_PATIENCE, "not run"),
        (graph(), [late("CrashLoopBackOff", restarts=1)], 1, "failed"),
        (graph(), [late("Canary", since=5)], 4 + CANARY_PATIENCE, ""),
        (graph(), [late("Canary", since=5)], 5 + CANARY_PATIENCE, "canary"),
        (graph(), [late("Canary"), late("Probe")], 5 + CANARY_PATIENCE, ""),
        (graph(), [late("Probe")], 300, "failed"),
        (graph(), [late("Probe"), late("Unschedulable")], 300, "not run"),
        (graph(), [], 300, "not run"),
    ],
)
def test_when_a_start_in_a_cluster_is_decided(live: Json, pods: list[PodView], waited: float, state: str) -> None:
    """A process that ran and failed is a failure; what kept one from running is no evidence; nothing sooner."""
    settlement = settle(live, pods, waited=waited, timeout=300)
    assert settlement.state == state
    assert bool(settlement.why) == (state not in {"ready", ""})


def test_repairs_are_known_once_every_component_has_a_status() -> None:
    """Before that nobody can say that there is none."""
    assert repairs_in_force(graph()) is None
    assert repairs_in_force(graph(Worker={})) == frozenset()
    assert repairs_in_force(graph(Worker={"repairs": ["DYN101"]})) == {"DYN101"}
    assert repairs_in_force(graph(Worker={"repairs": ["DYN101"]}, seen=0)) is None
