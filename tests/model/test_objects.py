"""Objects as an API server returns them become the same graphs as files, with field paths for positions."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from stator.errors import InvalidInputError
from stator.model import load_objects
from stator.model.documents import field_path

TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "main", "image": "reg/frontend:1.6.1"}]}}
BETA: dict[str, Any] = {
    "apiVersion": "nvidia.com/v1beta1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "chat", "namespace": "team", "uid": "u-1", "generation": 3},
    "spec": {"components": [{"name": "front", "type": "frontend", "podTemplate": TEMPLATE}]},
    "status": {"state": "pending"},
}


def test_an_object_is_a_graph() -> None:
    """A live object loads without a file."""
    graph = load_objects([BETA]).graphs[0]
    assert (graph.ref, graph.components[0].name) == ("DynamoGraphDeployment/team/chat", "front")


def test_positions_of_an_object_are_field_paths() -> None:
    """A problem of a live object names the object and the field, as admission has to."""
    graph = load_objects([BETA]).graphs[0]
    position = graph.locate("spec", "components", 0, "type")
    assert str(position) == "DynamoGraphDeployment/team/chat spec.components[0].type"


def test_field_paths_are_those_of_the_submitted_version() -> None:
    """Whoever submitted v1alpha1 is told v1alpha1 fields."""
    alpha = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "chat", "namespace": "team"},
        "spec": {
            "services": {
                "Front": {
                    "componentType": "frontend",
                    "replicas": 2,
                    "extraPodSpec": {"mainContainer": {"image": "reg/frontend:1.6.1"}},
                }
            }
        },
    }
    graph = load_objects([alpha]).graphs[0]
    assert graph.locate(*graph.components[0].path, "replicas").field == "spec.services.Front.replicas"


def test_all_problems_of_all_objects_are_raised_together() -> None:
    """Two broken objects are two problems in one error."""
    broken = [{**BETA, "metadata": {"name": name, "namespace": "team"}, "spec": {}} for name in ("a", "b")]
    with pytest.raises(InvalidInputError) as error:
        load_objects(broken)
    assert [problem.position.file for problem in error.value.problems if problem.position] == [
        "DynamoGraphDeployment/team/a",
        "DynamoGraphDeployment/team/b",
    ]


@pytest.mark.parametrize("field", [("spec", "components", 0, "replicas"), ("metadata", "namespace")])
def test_a_problem_of_a_live_object_names_its_field_once(field: tuple[str | int, ...]) -> None:
    """The object's name and the field's path are its position, and the words after it do not repeat the path."""
    broken = copy.deepcopy(BETA)
    *above, last = field
    place: Any = broken
    for step in above:
        place = place[step]
    place[last] = ["no"]
    with pytest.raises(InvalidInputError) as error:
        load_objects([broken])
    path = field_path(field)
    [line] = str(error.value).splitlines()[:1]
    assert line.count(path) == 1
    assert f"{path}: must be" in line
