"""Models, scaling adapters, and what is admitted with a warning."""

from __future__ import annotations

import pytest
from submitted import Json, alpha, graph, part, pod

from stator.admission import review


def model(**spec: str | Json) -> Json:
    """A DynamoModel."""
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoModel",
        "metadata": {"name": "m", "namespace": "ns"},
        "spec": {"modelName": "qwen", "baseModelName": "qwen", **spec},
    }


def adapter(**spec: object) -> Json:
    """A scaling adapter."""
    given = {"replicas": 1, "dgdRef": {"name": "g", "componentName": "w"}, **spec}
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeploymentScalingAdapter",
        "metadata": {"name": "g-w", "namespace": "ns"},
        "spec": given,
    }


def fields(new: Json, old: Json | None = None) -> list[str]:
    """The fields that are refused."""
    return [problem.position.field for problem in review(new, old).problems if problem.position]


LORA = {"modelType": "lora"}


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        (model(), []),
        (model(modelName=""), ["spec.modelName"]),
        (model(modelType="other"), ["spec.modelType"]),
        (model(**LORA), ["spec.source"]),
        (model(**LORA, source={}), ["spec.source.uri"]),
        (model(**LORA, source={"uri": "http://x/y"}), ["spec.source.uri"]),
        (model(**LORA, source={"uri": "hf://x/y"}), []),
        (model(**LORA, source={"uri": "s3://x/y"}), []),
    ],
)
def test_models(value: Json, refused: list[str]) -> None:
    """A model has a name and a base; a LoRA says where its weights are."""
    assert fields(value) == refused


def test_what_is_frozen_in_a_model() -> None:
    """Its base and its type; a default that is written out is no change."""
    assert fields(model(baseModelName="other"), model()) == ["spec.baseModelName"]
    assert fields(model(modelType="adapter"), model()) == ["spec.modelType"]
    assert fields(model(modelType="base", modelName="new"), model()) == []


def test_an_old_model_that_is_wrong_can_be_labelled() -> None:
    """Ratcheting holds for every kind."""
    old = model(**LORA)
    assert fields({**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}, old) == []


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        (adapter(), []),
        (adapter(replicas=-1), ["spec.replicas"]),
        (adapter(dgdRef={"name": "g"}), ["spec.dgdRef.componentName"]),
        (adapter(dgdRef={"name": "", "componentName": "w"}), ["spec.dgdRef.name"]),
    ],
)
def test_scaling_adapters(value: Json, refused: list[str]) -> None:
    """An adapter names a component and a number."""
    assert fields(value) == refused


def test_objects_of_other_kinds_are_let_through() -> None:
    """A webhook that is sent something else does not stand in its way."""
    assert review({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}).problems == ()


def warned(value: Json) -> list[tuple[str, str]]:
    """Field and words of each warning, of an object that is admitted."""
    found = review(value)
    assert found.problems == ()
    return [(warning.position.field, warning.what) for warning in found.warnings if warning.position]


def test_nothing_to_warn_of() -> None:
    """A current object has no warnings."""
    assert warned(graph(part())) == []


def test_the_deprecated_version() -> None:
    """The words are the definition's own, so that a client that shows both shows one."""
    words = "nvidia.com/v1alpha1 DynamoGraphDeployment is deprecated; use nvidia.com/v1beta1 DynamoGraphDeployment"
    assert warned(alpha(graph(part()))) == [("apiVersion", words)]


def test_a_power_limit_of_an_unknown_product() -> None:
    """Its range cannot be checked; it may well be right."""
    template = pod(
        metadata={"annotations": {"dynamo.nvidia.com/gpu-power-limit": "500"}},
        spec={"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-X1"}},
    )
    [(_, words)] = warned(graph(part(template=template)))
    assert words == "component w: the power range of NVIDIA-X1 is not known here"


def test_deprecated_settings_of_a_checkpoint() -> None:
    """They still work."""
    checkpoint = {"enabled": True, "mode": "Auto"}
    assert warned(graph(part(experimental={"checkpoint": checkpoint}))) == [
        ("spec.components[0].experimental.checkpoint.mode", "component w: checkpoint.mode is deprecated")
    ]


def test_the_same_mistake_in_another_place_is_a_new_one() -> None:
    """What is stored excuses itself, not an equal mistake of another field."""

    def broken(*replicas: int | str) -> Json:
        parts = [part(name=f"w{index}", replicas=count) for index, count in enumerate(replicas)]
        return graph(*parts)

    assert fields(broken("x", 1), broken("x", 1)) == []
    assert fields(broken("x", "x"), broken("x", 1)) == ["spec.components[1].replicas"]
