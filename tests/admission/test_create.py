"""New objects: each rule of the table, and what no table holds."""

from __future__ import annotations

import pytest
from rows import CONFIG, MODE, ROWS, Row, worker
from submitted import Json, alpha, graph, part, pod, services

from stator.admission import Installed, review

MAIN_IMAGE = "spec.extraPodSpec.mainContainer.image"
OVERRIDE = {"apiVersion": "grove.io/v1alpha1", "value": {"minAvailable": 1}}


@pytest.mark.parametrize("row", ROWS, ids=[row.rule for row in ROWS])
def test_a_rule_refuses_at_the_field_of_v1beta1(row: Row) -> None:
    """One mistake is one problem, at the field to change, in words that name it."""
    found = [problem for problem in review(row.refused, installed=row.installed).problems if row.words in str(problem)]
    assert [problem.position and problem.position.field for problem in found] == [row.beta]


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.alpha is not None], ids=[row.rule for row in ROWS if row.alpha is not None]
)
def test_a_rule_refuses_at_the_field_of_v1alpha1(row: Row) -> None:
    """Whoever writes v1alpha1 is told its fields, not those of the version it is converted to."""
    refused = review(alpha(row.refused), installed=row.installed).problems
    found = [problem for problem in refused if row.words in str(problem)]
    assert [problem.position and problem.position.field for problem in found] == [row.alpha]


@pytest.mark.parametrize("row", ROWS, ids=[row.rule for row in ROWS])
def test_the_neighbour_is_admitted_in_both_versions(row: Row) -> None:
    """What differs only where the rule looks, and is right there, is admitted."""
    installed = row.admitted_by or row.installed
    assert review(row.admitted, installed=installed).problems == ()
    assert review(alpha(row.admitted), installed=installed).problems == ()


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.admitted_by], ids=[row.rule for row in ROWS if row.admitted_by]
)
def test_what_nobody_knows_of_the_cluster_refuses_nothing(row: Row) -> None:
    """Without a cluster its rules are silent: a file is not wrong because nobody asked."""
    assert [problem for problem in review(row.refused).problems if row.words in str(problem)] == []


@pytest.mark.parametrize(
    ("refused", "admitted", "field", "words"),
    [
        (
            {"volumeMounts": [{"name": "v"}]},
            {"volumeMounts": [{"name": "v", "useAsCompilationCache": True, "mountPoint": "/c"}]},
            "volumeMounts[0].mountPoint",
            "is required",
        ),
        ({"ingress": {"enabled": True}}, {"ingress": {"enabled": False}}, "ingress.host", "is required"),
        (
            {
                "frontendSidecar": {"image": "x:1.6.1"},
                "extraPodSpec": {
                    "mainContainer": {"image": "x:1.6.1"},
                    "containers": [{"name": "sidecar-frontend", "image": "y"}],
                },
            },
            {"frontendSidecar": {"image": "x:1.6.1"}},
            "extraPodSpec.containers[0].name",
            "is the name of the container that frontendSidecar describes",
        ),
        (
            {"sharedMemory": {"disabled": True, "size": "1Gi"}},
            {"sharedMemory": {"disabled": True}},
            "sharedMemory.size",
            "absent if disabled",
        ),
        (
            {"annotations": {"nvidia.com/vllm-distributed-executor-backend": "dask"}},
            {"annotations": {"nvidia.com/vllm-distributed-executor-backend": "mp"}},
            'annotations["nvidia.com/vllm-distributed-executor-backend"]',
            'is "dask"',
        ),
        (
            {"resources": {"limits": {"gpu": "0.5"}}},
            {"resources": {"limits": {"gpu": "2"}}},
            "resources.limits.gpu",
            "devices are whole",
        ),
    ],
)
def test_rules_of_v1alpha1_alone(refused: Json, admitted: Json, field: str, words: str) -> None:
    """What only a v1alpha1 service can say has its rules too."""
    [problem] = review(services(refused)).problems
    assert problem.position is not None
    assert (problem.position.field, words in problem.what) == (f"spec.services.w.{field}", True)
    assert review(services(admitted)).problems == ()


def test_a_claim_needs_a_name() -> None:
    """A v1alpha1 graph's claims are made by name."""
    assert [str(problem.position) for problem in review(services({}, pvcs=[{"create": False}])).problems] == [
        "DynamoGraphDeployment/ns/g spec.pvcs[0].name"
    ]
    assert review(services({}, pvcs=[{"name": "models"}])).problems == ()


DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize("tag", ["1.1.1-efa-amd64", "v0.4.0", "1.2.0-post.1"])
def test_tags_that_tell_a_release(tag: str) -> None:
    """A `v` in front and parts behind the release are fine."""
    assert review(worker(template=pod(image=f"reg:5000/r:{tag}@{DIGEST}"))).problems == ()


@pytest.mark.parametrize("image", ["r:my-tag", "r:latest", f"r@{DIGEST}", "r", "reg:5000/r", "r:20260101"])
def test_images_that_tell_no_release(image: str) -> None:
    """They need an override, unless a component stands alone; an endpoint picker needs it even then."""
    component = part(template=pod(image=image))
    assert len(review(graph(component)).problems) == 1
    assert review(graph(component, kind="DynamoComponentDeployment")).problems == ()
    assert len(review(graph({**component, "type": "epp"}, kind="DynamoComponentDeployment")).problems) == 1


def test_everything_is_said_at_once() -> None:
    """Problems of the schema's kind apart, one submission shows them all."""
    broken = graph(
        part("a", "frontend", multinode={}, template=pod(image="r:x")),
        part("b", eppConfig=CONFIG, template=pod(resources={"limits": {"nvidia.com/gpu": "0.5"}})),
        restart={"id": "1"},
        annotations={MODE: "node"},
    )
    assert len(review(broken).problems) == 6
    assert len({problem.position for problem in review(broken).problems}) == 6


def test_only_the_operator_records_who_runs_the_pods() -> None:
    """The record is final, so nobody else makes it; who is not known may be the operator."""
    recorded = graph(part(), annotations={"nvidia.com/workload-provider": "grove"})
    operator = "system:serviceaccount:dynamo:stator"
    assert review(recorded, user="ann", trusted=frozenset({operator})).problems
    assert review(recorded, user=operator, trusted=frozenset({operator})).problems == ()
    assert review(recorded).problems == ()


def test_what_the_operator_makes_of_a_graph_is_admitted() -> None:
    """A graph of older days goes on: its components are not judged by newer rules."""
    made = graph(part(minAvailable=1), kind="DynamoComponentDeployment")
    operator = "system:serviceaccount:dynamo:stator"
    assert review(made, user="ann", trusted=frozenset({operator})).problems
    assert review(made, user=operator, trusted=frozenset({operator})).problems == ()


@pytest.mark.parametrize(
    ("amount", "said"),
    [("1e999999999", "beyond counting"), ("1e-9", "devices are whole"), ("-0.5", "below zero"), ("1e1", "")],
)
def test_amounts_at_the_edge(amount: str, said: str) -> None:
    """Whatever is a quantity by its spelling gets an answer."""
    found = review(worker(template=pod(resources={"limits": {"nvidia.com/gpu": amount}}))).problems
    assert [said in problem.what for problem in found] == ([True] if said else [])


@pytest.mark.parametrize(
    ("component", "beta", "old"),
    [
        (part(kind="frontend", multinode={}), "spec.multinode", "spec.multinode"),
        (part(template=pod(args=["-x"], image="")), "spec.podTemplate.spec.containers[0].image", MAIN_IMAGE),
        (part(kind="epp", template=pod(image="r:x")), "spec.runtimeVersionOverride", "spec.runtimeVersionOverride"),
        (part(minAvailable=1), "spec.minAvailable", "spec.minAvailable"),
        (part(providerOverride=OVERRIDE), "spec.providerOverride", "spec.providerOverride"),
    ],
    ids=["multinode", "image", "endpoint picker", "Grove's field", "provider override"],
)
def test_a_component_that_stands_alone_has_the_same_rules(component: Json, beta: str, old: str) -> None:
    """Its fields are those of its own spec; what only a graph can ask of Grove it cannot."""
    value = graph(component, kind="DynamoComponentDeployment")
    for document, field in ((value, beta), (alpha(value), old)):
        assert [problem.position and problem.position.field for problem in review(document).problems] == [field]


def test_a_graph_with_a_dot_in_its_name_is_refused_where_grove_would_run_it() -> None:
    """Grove takes the set and never gets a pod of it; on the component pathway, and where nobody knows, it is fine."""
    dotted = graph(part())
    dotted["metadata"]["name"] = "chat.v2"
    [found] = review(dotted, installed=Installed(grove=True)).problems
    assert found.position
    assert found.position.field == "metadata.name"
    assert "enable-grove" in found.remedy
    [found] = review(alpha(dotted), installed=Installed(grove=True)).problems
    assert found.position
    assert found.position.field == "metadata.name"
    assert review(dotted, installed=Installed(grove=False)).problems == ()
    assert review(dotted).problems == ()
    dotted["metadata"]["annotations"] = {"nvidia.com/enable-grove": "false"}
    assert review(dotted, installed=Installed(grove=True)).problems == ()
