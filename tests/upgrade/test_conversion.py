"""Conversion between v1alpha1 and v1beta1: nothing is lost either way, and no pod changes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from documents import ALPHA, BETA
from hypothesis import HealthCheck, given, settings

from stator.errors import InvalidInputError
from stator.model import Graph, load
from stator.model.conversion import to_alpha, to_beta

QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
EXAMPLES = Path(__file__).parents[2] / "examples"


def loaded(document: dict[str, Any]) -> Graph:
    """The graph of a document, which must be valid."""
    [graph] = load(["-"], stdin=io.StringIO(json.dumps(document))).graphs
    return graph


def meaning(graph: Graph) -> dict[str, Any]:
    """All that rendering reads of a graph: not where it stood, nor in which version, nor what conversion keeps."""
    value = {
        field: getattr(graph, field) for field in graph.__struct_fields__ if field not in {"origin", "api_version"}
    }
    value["annotations"] = {key: text for key, text in graph.annotations.items() if not key.endswith("-spec")}
    value["components"] = [
        {field: getattr(part, field) for field in part.__struct_fields__ if field != "path"}
        for part in graph.components
    ]
    return msgspec.to_builtins(value)  # type: ignore[no-any-return]


@QUIET
@given(document=ALPHA)
def test_v1alpha1_survives_the_way_there_and_back(document: dict[str, Any]) -> None:
    """Any v1alpha1 document is the same after v1beta1, field by field, unknown fields and spelling included."""
    assert to_alpha(to_beta(document)) == document


@QUIET
@given(document=BETA)
def test_v1beta1_survives_the_way_there_and_back(document: dict[str, Any]) -> None:
    """Any v1beta1 document is the same after v1alpha1: order, sidecars and features it cannot say included."""
    assert to_beta(to_alpha(document)) == document


@QUIET
@given(document=ALPHA)
def test_a_v1alpha1_graph_means_the_same_in_v1beta1(document: dict[str, Any]) -> None:
    """What rendering reads is equal before and after, with or without what only the way back needs."""
    before = meaning(loaded(document))
    assert meaning(loaded(to_beta(document))) == before
    assert meaning(loaded(to_beta(document, reversible=False))) == before


@QUIET
@given(document=BETA)
def test_a_v1beta1_graph_means_the_same_in_v1alpha1(document: dict[str, Any]) -> None:
    """What rendering reads is equal before and after."""
    assert meaning(loaded(to_alpha(document))) == meaning(loaded(document))


def component(document: dict[str, Any]) -> dict[str, Any]:
    """The first component of a v1beta1 graph."""
    return document["spec"]["components"][0]  # type: ignore[no-any-return]


SERVICE = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "g"},
    "spec": {
        "services": {
            "Worker": {
                "componentType": "worker",
                "labels": {"team": "a"},
                "envFromSecret": "token",
                "extraPodSpec": {"mainContainer": {"image": "r/sglang-runtime:1.5.1"}},
            }
        }
    },
}


def test_an_edit_made_after_conversion_beats_what_was_kept() -> None:
    """Who edits `envFrom` in v1beta1 gets that in v1alpha1, not the old secret; kept labels stay."""
    beta = to_beta(SERVICE)
    component(beta)["podTemplate"]["spec"]["containers"][0]["envFrom"] = [{"secretRef": {"name": "other"}}]
    service = to_alpha(beta)["spec"]["services"]["Worker"]
    assert "envFromSecret" not in service
    assert service["extraPodSpec"]["mainContainer"]["envFrom"] == [{"secretRef": {"name": "other"}}]
    assert service["labels"] == {"team": "a"}


def test_what_each_version_alone_can_say_lives_side_by_side() -> None:
    """A v1beta1 feature added to a converted graph survives going down and up, and so do the service's labels."""
    beta = to_beta(SERVICE)
    component(beta)["experimental"] = {"grove": {"forceScalingGroup": True}}
    alpha = to_alpha(beta)
    assert alpha["spec"]["services"]["Worker"]["labels"] == {"team": "a"}
    assert to_beta(alpha) == beta


def test_an_edit_elsewhere_keeps_the_spelling() -> None:
    """A new image does not turn `envFromSecret` into something else on the way back."""
    beta = to_beta(SERVICE)
    component(beta)["podTemplate"]["spec"]["containers"][0]["image"] = "r/sglang-runtime:1.6.1"
    service = to_alpha(beta)["spec"]["services"]["Worker"]
    assert service["envFromSecret"] == "token"
    assert service["extraPodSpec"] == {"mainContainer": {"image": "r/sglang-runtime:1.6.1"}}


def test_a_plain_graph_needs_no_annotation() -> None:
    """The example twin converts to the v1beta1 example and keeps nothing."""
    graphs = [load([str(EXAMPLES / name)]).graphs[0] for name in ("chat-v1alpha1.yaml", "chat.yaml")]
    alpha, beta = (graph.origin.document.value for graph in graphs)
    assert to_beta(alpha) == beta
    assert to_alpha(beta) == alpha


@pytest.mark.parametrize("text", ["{", "[]", '"x"'])
def test_an_annotation_that_cannot_be_read_is_a_problem(text: str) -> None:
    """A damaged annotation is reported at its line: what it kept may be in pods that run."""
    document = to_beta(SERVICE)
    document["metadata"]["annotations"]["nvidia.com/dgd-spec"] = text
    with pytest.raises(InvalidInputError, match="dgd-spec is no JSON object"):
        loaded(document)


@pytest.mark.parametrize("text", ['{"services": []}', '{"services": {"Worker": {"labels": {"a": 1}, "ingress": 3}}}'])
def test_an_annotation_of_another_shape_counts_for_nothing(text: str) -> None:
    """What someone else keeps there in another shape is no part of the graph, and breaks nothing."""
    document = to_beta(SERVICE)
    document["metadata"]["annotations"]["nvidia.com/dgd-spec"] = text
    assert loaded(document).components[0].alpha.labels == {}
    assert to_alpha(document)["spec"]["services"]["Worker"].get("labels", {}) in ({}, {"a": 1})
