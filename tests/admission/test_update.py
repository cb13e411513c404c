"""Rules on changes: what is frozen, who may change what, and that old mistakes refuse no unrelated change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from rows import ROWS, Row
from submitted import GPU, Json, alpha, graph, part, pod

from stator.admission import Installed, review

OPERATOR = "system:serviceaccount:dynamo:stator"
TRUSTED = frozenset({OPERATOR})
GROVE = Installed(grove=True)
POWER = "dynamo.nvidia.com/gpu-power-limit"
RECORD = "nvidia.com/workload-provider"
TOPOLOGY = {"clusterTopologyName": "dc", "packDomain": "rack"}
POLICY = {"kvTransferPolicy": {"labelKey": "a/b", "domain": "rack"}}
H100 = {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}}


def between_pods(**features: Json) -> Json:
    """A worker with these experimental features."""
    return graph(part(template=pod(resources=GPU), experimental=features), backendFramework="vllm")


def limited(watts: str | None) -> Json:
    """A worker whose GPUs are limited, or not."""
    metadata = {"annotations": {POWER: watts}} if watts else None
    return graph(part(template=pod(metadata=metadata, spec=H100)))


def of_nodes(*roles: str, **multinode: int) -> Json:
    """A worker that spans nodes."""
    described = {"roles": [{"name": name} for name in roles]} if roles else {}
    return graph(part(multinode=multinode, **described))


def override(target: str | None, api_version: str = "grove.io/v1alpha1") -> Json:
    """A worker with a provider override."""
    given = {"apiVersion": api_version, "value": {"minAvailable": 1}} | ({"target": target} if target else {})
    return graph(part(providerOverride=given))


FROZEN = [
    ("components", graph(part("a")), graph(part("b")), "spec.components", "spec.services", "added: b; removed: a"),
    (
        "framework",
        graph(part(), backendFramework="vllm"),
        graph(part(), backendFramework="sglang"),
        "spec.backendFramework",
        "spec.backendFramework",
        "was vllm, and cannot become sglang",
    ),
    (
        "type",
        graph(part(kind="worker")),
        graph(part(kind="frontend")),
        "spec.components[0].type",
        "spec.services.w.componentType",
        "the type was worker, and cannot become frontend",
    ),
    (
        "single to multi",
        graph(part()),
        of_nodes(nodeCount=2),
        "spec.components[0].multinode",
        "spec.services.w.multinode",
        "multinode cannot change",
    ),
    (
        "nodes",
        of_nodes(),
        of_nodes(nodeCount=3),
        "spec.components[0].multinode.nodeCount",
        "spec.services.w.multinode.nodeCount",
        "nodeCount was 2, and cannot become 3",
    ),
    (
        "roles",
        of_nodes(),
        of_nodes("leader", "worker"),
        "spec.components[0].roles",
        "spec.services.w.roles",
        "roles cannot change",
    ),
    (
        "minAvailable",
        graph(part(replicas=3)),
        graph(part(replicas=3, minAvailable=2)),
        "spec.components[0].minAvailable",
        "spec.services.w.minAvailable",
        "minAvailable cannot change",
    ),
    (
        "graph topology",
        graph(part(), topologyConstraint=TOPOLOGY),
        graph(part(), topologyConstraint={**TOPOLOGY, "packDomain": "zone"}),
        "spec.topologyConstraint",
        "spec.topologyConstraint",
        "spec.topologyConstraint cannot change",
    ),
    (
        "component topology",
        graph(part(), topologyConstraint=TOPOLOGY),
        graph(part(topologyConstraint={"packDomain": "rack"}), topologyConstraint=TOPOLOGY),
        "spec.components[0].topologyConstraint",
        "spec.services.w.topologyConstraint",
        "component w: topologyConstraint cannot change",
    ),
    (
        "kv transfer",
        graph(part(), experimental=POLICY),
        graph(part()),
        "spec.experimental.kvTransferPolicy",
        "spec.experimental.kvTransferPolicy",
        "kvTransferPolicy cannot change",
    ),
    (
        "memory between pods",
        between_pods(gpuMemoryService={"mode": "InterPod"}),
        between_pods(gpuMemoryService={"mode": "IntraPod"}),
        "spec.components[0].experimental.gpuMemoryService",
        "spec.services.w.gpuMemoryService",
        "gpuMemoryService cannot change",
    ),
    (
        "failover between pods",
        between_pods(gpuMemoryService={"mode": "InterPod"}),
        between_pods(gpuMemoryService={"mode": "InterPod"}, failover={"mode": "InterPod"}),
        "spec.components[0].experimental.failover",
        "spec.services.w.failover",
        "failover cannot change",
    ),
    (
        "override target",
        override("PodCliqueTemplateSpec"),
        override("PodCliqueScalingGroupConfig"),
        "spec.components[0].providerOverride.target",
        "spec.services.w.providerOverride.target",
        "providerOverride.target cannot change",
    ),
    (
        "power",
        limited("300"),
        limited("400"),
        f'spec.components[0].podTemplate.metadata.annotations["{POWER}"]',
        f'spec.services.w.extraPodMetadata.annotations["{POWER}"]',
        "cannot change",
    ),
]
IDS = [row[0] for row in FROZEN]


@pytest.mark.parametrize(("_name", "old", "new", "beta", "_alpha", "words"), FROZEN, ids=IDS)
def test_what_is_frozen_in_v1beta1(_name: str, old: Json, new: Json, beta: str, _alpha: str, words: str) -> None:
    """A change of it is refused at its field, and leaving it is not."""
    found = [problem for problem in review(new, old, installed=GROVE).problems if words in str(problem)]
    assert [problem.position and problem.position.field for problem in found] == [beta]
    assert review(old, old, installed=GROVE).problems == ()


@pytest.mark.parametrize(("_name", "old", "new", "_beta", "field", "words"), FROZEN, ids=IDS)
def test_what_is_frozen_in_v1alpha1(_name: str, old: Json, new: Json, _beta: str, field: str, words: str) -> None:
    """The same change in v1alpha1 is refused at the fields of v1alpha1."""
    found = [problem for problem in review(alpha(new), alpha(old), installed=GROVE).problems if words in str(problem)]
    assert [problem.position and problem.position.field for problem in found] == [field]


def test_a_scaling_group_is_frozen() -> None:
    """Forcing one makes other objects, so it cannot be switched; v1alpha1 has no field for it."""
    forced = graph(part(experimental={"grove": {"forceScalingGroup": True}}))
    [problem] = review(forced, graph(part()), installed=GROVE).problems
    assert problem.position is not None
    assert problem.position.field == "spec.components[0].experimental.grove.forceScalingGroup"


def test_a_component_that_stands_alone_keeps_its_name() -> None:
    """Its name is what a graph calls it."""
    old, new = (graph(part(name), kind="DynamoComponentDeployment") for name in ("a", "b"))
    for before, after, field in ((old, new, "spec.name"), (alpha(old), alpha(new), "spec.serviceName")):
        [problem] = review(after, before).problems
        assert problem.position is not None
        assert (problem.position.field, "was a, and cannot become b" in problem.what) == (field, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (graph(part(kind="")), graph(part(kind="worker"))),
        (graph(part()), graph(part(), backendFramework="vllm")),
        (graph(part()), graph(part(minAvailable=1))),
        (of_nodes(), of_nodes(nodeCount=2)),
        (override(None), override("PodCliqueTemplateSpec")),
        (between_pods(gpuMemoryService={}), between_pods()),
        (graph(part("a"), part("b")), graph(part("b"), part("a"))),
        (graph(part()), graph(part(replicas=3, template=pod(image="reg/vllm-runtime:1.6.2")))),
        (graph(part()), graph(part(), restart={"id": "1"})),
    ],
    ids=[
        "a type is set",
        "a framework is named",
        "a default is written",
        "a default number of nodes is written",
        "a default target is written",
        "memory service within a pod",
        "order",
        "image and replicas",
        "restart",
    ],
)
def test_what_may_change(old: Json, new: Json) -> None:
    """What is not frozen changes, and a default that is written out is no change."""
    assert review(new, old, installed=GROVE).problems == ()


def scaled(replicas: int, *, adapter: bool = True) -> Json:
    """A worker with so many replicas."""
    return graph(part(replicas=replicas, **({"scalingAdapter": {}} if adapter else {})))


@pytest.mark.parametrize(
    ("user", "admitted"),
    [
        ("ann", False),
        ("system:serviceaccount:other:planner-serviceaccount", False),
        ("system:serviceaccount:ns:planner-serviceaccount", True),
        (OPERATOR, True),
        (None, True),
    ],
)
def test_who_scales_what_an_adapter_owns(user: str | None, admitted: bool) -> None:  # noqa: FBT001 (a column of the table)
    """Only the operator and the graph's own planner do; where the user is not known nothing is refused."""
    found = review(scaled(2), scaled(1), user=user, trusted=TRUSTED).problems
    assert [problem.position and problem.position.field for problem in found] == (
        [] if admitted else ["spec.components[0].replicas"]
    )


def test_anybody_scales_what_no_adapter_owns() -> None:
    """Without an adapter, and when one is added with its first number, replicas are the user's."""
    plain = scaled(1, adapter=False)
    assert review(scaled(2, adapter=False), plain, user="ann", trusted=TRUSTED).problems == ()
    assert review(scaled(2), plain, user="ann", trusted=TRUSTED).problems == ()


@pytest.mark.parametrize(("phase", "admitted"), [("Pending", False), ("InProgress", False), ("Completed", True)])
def test_no_restart_during_a_rolling_update(phase: str, admitted: bool) -> None:  # noqa: FBT001 (a column of the table)
    """A new restart id waits for the end of the update; the same id, and other changes, do not."""
    old = {**graph(part(), restart={"id": "1"}), "status": {"rollingUpdate": {"phase": phase}}}
    new = graph(part(), restart={"id": "2"})
    found = [problem.position and problem.position.field for problem in review(new, old).problems]
    assert found == ([] if admitted else ["spec.restart.id"])
    assert review(graph(part(replicas=2), restart={"id": "1"}), old).problems == ()


def test_the_record_of_the_provider_is_the_operators() -> None:
    """A person may neither write, change nor remove it."""
    without, recorded = graph(part()), graph(part(), annotations={RECORD: "component"})
    for old, new in ((without, recorded), (recorded, without)):
        [problem] = review(new, old, user="ann", trusted=TRUSTED).problems
        assert RECORD in problem.what
        assert review(new, old, user=OPERATOR, trusted=TRUSTED).problems == ()
    assert review(recorded, recorded, user="ann", trusted=TRUSTED).problems == ()


BROKEN: list[tuple[str, Json]] = [
    ("no image", graph(part(template={}))),
    ("unreadable tag", graph(part(template=pod(image="r:latest")))),
    ("eppConfig of the old picker", graph(part(kind="epp", eppConfig={"config": {}}))),
    ("multinode without a type", graph(part(kind="", multinode={}))),
    ("half a GPU", graph(part(template=pod(resources={"limits": {"nvidia.com/gpu": "0.5"}})))),
    ("restart order", graph(part(), restart={"id": "1", "strategy": {"order": ["x"]}})),
    ("two frameworks", graph(part(template=pod(command=["python3", "-m", "dynamo.vllm"])), backendFramework="sglang")),
    ("schema: restart without an id", graph(part(), restart={})),
    ("schema: unreadable quantity", graph(part(template=pod(resources={"limits": {"memory": "lots"}})))),
]


@pytest.mark.parametrize("broken", [row[1] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_old_mistakes_refuse_no_unrelated_change(broken: Json) -> None:
    """An object that was admitted under older rules can be labelled, though it would not be admitted anew."""
    labelled = copy.deepcopy(broken)
    labelled["metadata"]["labels"] = {"team": "a"}
    assert review(broken).problems
    assert review(labelled, broken).problems == ()


@pytest.mark.parametrize("row", ROWS, ids=[row.rule for row in ROWS])
def test_no_rule_refuses_an_unrelated_change(row: Row) -> None:
    """Whatever a new object is refused for, a stored one can be labelled, in both versions."""
    for stored in (row.refused, alpha(row.refused)):
        labelled = copy.deepcopy(stored)
        labelled["metadata"]["labels"] = {"team": "a"}
        assert review(labelled, stored, installed=row.installed, user="ann", trusted=TRUSTED).problems == ()


def change(value: Json, *path: Any, to: Any) -> Json:
    """The document with one value replaced."""
    changed = copy.deepcopy(value)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return changed


MAIN = ("spec", "components", 0, "podTemplate", "spec", "containers", 0)


@pytest.mark.parametrize(
    ("broken", "touch"),
    [
        (BROKEN[1][1], lambda value: change(value, *MAIN, "image", to="r:newest")),
        (BROKEN[2][1], lambda value: change(value, *MAIN, "image", to="reg/epp:1.6.2")),
        (BROKEN[4][1], lambda value: change(value, *MAIN, "resources", "limits", "nvidia.com/gpu", to="1.5")),
        (BROKEN[5][1], lambda value: change(value, "spec", "restart", "strategy", "order", to=["y"])),
        (BROKEN[8][1], lambda value: change(value, *MAIN, "resources", "limits", "memory", to="many")),
    ],
    ids=["tag", "picker's release", "GPU", "order", "quantity"],
)
def test_an_old_mistake_that_is_touched_counts(broken: Json, touch: Callable[[Json], Json]) -> None:
    """Whoever changes the wrong value has to make it right."""
    assert review(touch(broken), broken).problems


def test_a_mistake_moves_with_its_component() -> None:
    """Another order of the components makes no old mistake new."""
    wrong, right = part("a", template=pod(image="r:latest")), part("b")
    assert review(graph(right, wrong), graph(wrong, right)).problems == ()


def test_mending_one_of_two_mistakes_is_admitted() -> None:
    """A change for the better need not be perfect, of the schema's rules as of the others."""
    for two in (
        graph(part("a", template=pod(image="r:x")), part("b", template=pod(image="r:y"))),
        graph(part("a", replicas=-1), part("b", replicas=-2)),
    ):
        better = change(two, "spec", "components", 0, to=part("a"))
        assert review(better, two).problems == ()


def test_mending_what_the_schema_refuses_is_admitted() -> None:
    """What makes a stored object readable again is judged as a change, not as a new object."""
    assert review(graph(part(), restart={"id": "1"}), graph(part(), restart={})).problems == ()
    unreadable = graph(part(template=pod(image="r:x")), restart={"id": "1"})
    assert review(unreadable, graph(part(), restart={})).problems


def test_a_new_mistake_beside_an_old_one_is_refused() -> None:
    """Ratcheting excuses the old one only."""
    old = graph(part("a", template=pod(image="r:x")), part("b"))
    new = change(old, "spec", "components", 1, "podTemplate", to=pod(image="r:y"))
    [problem] = review(new, old).problems
    assert problem.position is not None
    assert problem.position.field == "spec.components[1].runtimeVersionOverride"
