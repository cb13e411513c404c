"""Every container has an image; what has none is refused at its field, in the version that was submitted."""

from __future__ import annotations

from typing import Any

import pytest

from stator.errors import InvalidInputError
from stator.model import load_objects
from stator.render import render_graph

ROLE = {"spec": {"containers": [{"name": "main", "image": ""}]}}


def problems(version: str, spec: dict[str, Any]) -> list[tuple[str, str]]:
    """The field and the words of each problem of rendering a graph with this spec."""
    value = {
        "apiVersion": f"nvidia.com/{version}",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g", "namespace": "ns"},
        "spec": spec,
    }
    with pytest.raises(InvalidInputError) as raised:
        render_graph(load_objects([value]).graphs[0])
    return [(item.position.field, item.what) for item in raised.value.problems if item.position]


@pytest.mark.parametrize(
    ("component", "field", "words"),
    [
        ({}, "podTemplate.spec.containers", '"main" is missing'),
        ({"podTemplate": {"spec": {"containers": None}}}, "podTemplate.spec.containers", '"main" is missing'),
        (
            {"podTemplate": {"spec": {"containers": [{"name": "main"}]}}},
            "podTemplate.spec.containers[0].image",
            '"main" has no image',
        ),
        (
            {"podTemplate": {"spec": {"containers": [{"name": "side"}, {"name": "main", "image": "x:1.6.1"}]}}},
            "podTemplate.spec.containers[0].image",
            '"side" has no image',
        ),
        (
            {
                "podTemplate": {
                    "spec": {
                        "initContainers": [{"name": "first"}],
                        "containers": [{"name": "main", "image": "x:1.6.1"}],
                    }
                }
            },
            "podTemplate.spec.initContainers[0].image",
            '"first" has no image',
        ),
        (
            {"multinode": {}, "roles": [{"name": name, "podTemplate": ROLE} for name in ("leader",)]},
            "roles[0].podTemplate.spec.containers[0].image",
            '"main" has no image',
        ),
    ],
)
def test_a_container_without_an_image_is_refused(component: dict[str, Any], field: str, words: str) -> None:
    """There is no default image, for the main container or any other."""
    found = problems("v1beta1", {"components": [{"name": "w", "type": "frontend", **component}]})
    assert found == [(f"spec.components[0].{field}", f"component w: the container {words}")]


@pytest.mark.parametrize(
    ("service", "field", "words"),
    [
        ({}, "extraPodSpec.mainContainer", '"main" is missing'),
        (
            {"extraPodSpec": {"mainContainer": {"args": ["-x"]}}},
            "extraPodSpec.mainContainer.image",
            '"main" has no image',
        ),
        (
            {"extraPodSpec": {"mainContainer": {"image": "x:1.6.1"}, "containers": [{"name": "side"}]}},
            "extraPodSpec.containers[0].image",
            '"side" has no image',
        ),
    ],
)
def test_a_service_without_an_image_is_refused(service: dict[str, Any], field: str, words: str) -> None:
    """Whoever wrote v1alpha1 is told its fields."""
    found = problems("v1alpha1", {"services": {"w": {"componentType": "frontend", **service}}})
    assert found == [(f"spec.services.w.{field}", f"component w: the container {words}")]
