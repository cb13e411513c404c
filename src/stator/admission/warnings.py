"""What is admitted and will not do what its author may think: deprecated forms, and fields that are dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stator.admission.containers import unknown_product
from stator.admission.subject import experimental
from stator.errors import Problem
from stator.model import Graph
from stator.model.conversion import ALPHA, BETA
from stator.model.documents import field_path
from stator.model.identity import GRAPH_KINDS
from stator.model.unknown import unknown_fields

_DROPPED = {
    "dynamoNamespace": "the operator derives it from the graph's namespace and name",
    "autoscaling": "use scalingAdapter, and an autoscaler on its scale subresource",
}


def warnings(graph: Graph) -> tuple[Problem, ...]:
    """Everything worth a warning, at its place. The text of each is one line for a client to show."""
    document = graph.origin.document
    unknown = (
        Problem(
            what=f"unknown field {field_path(field.path)}" + (f", did you mean {field.meant}?" if field.meant else ""),
            position=document.locate(field.path),
            why="the API server drops it",
        )
        for field in unknown_fields(document)
    )
    return (*deprecated_version(graph), *ignored(graph), *unknown, *_discouraged(graph))


def deprecated_version(graph: Graph) -> Iterator[Problem]:
    """The API version is deprecated; the words are those of the custom resource definition."""
    if graph.api_version == ALPHA and graph.kind in GRAPH_KINDS:
        what = f"{ALPHA} {graph.kind} is deprecated; use {BETA} {graph.kind}"
        yield Problem(what=what, position=graph.origin.document.locate(("apiVersion",)))


def ignored(graph: Graph) -> Iterator[Problem]:
    """Fields of a v1alpha1 service that every operator ignores."""
    document = graph.origin.document
    for path, service in _services(document.value):
        for field, why in _DROPPED.items():
            if service.get(field):
                full = (*path, field)
                what = f"{field_path(full)} is deprecated and ignored"
                yield Problem(what=what, position=document.locate(full), why=why)


def _services(value: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    spec = value["spec"]
    if value["apiVersion"] != ALPHA:
        return
    if value["kind"] == "DynamoComponentDeployment":
        yield ("spec",), spec
        return
    for key, service in spec["services"].items():
        yield ("spec", "services", key), service or {}


def _discouraged(graph: Graph) -> Iterator[Problem]:
    for component in graph.components:
        settings = experimental(component, "checkpoint") or {}
        for field in ("mode", "identity"):
            if field in settings:
                path = (*component.path, "experimental", "checkpoint", field)
                what = f"component {component.name}: checkpoint.{field} is deprecated"
                yield Problem(what=what, position=graph.locate(*path))
        if product := unknown_product(component):
            path = (*component.path, "podTemplate", "spec", "nodeSelector")
            yield Problem(
                what=f"component {component.name}: the power range of {product} is not known here",
                position=graph.locate(*path),
                why="the limit is not checked against it",
            )
