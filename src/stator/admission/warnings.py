"""What is admitted and may not do what its author thinks, beside what the compatibility rules say.

Fields that are dropped (DYN410) or ignored (DYN411) are such rules: whoever shows their findings shows those.
"""

from __future__ import annotations

from collections.abc import Iterator

from stator.admission.containers import unknown_product
from stator.admission.subject import experimental
from stator.errors import Problem
from stator.model import Graph
from stator.model.conversion import ALPHA, BETA


def warnings(graph: Graph) -> tuple[Problem, ...]:
    """Everything worth a warning, at its place."""
    return (*_deprecated_version(graph), *_of_components(graph))


def _deprecated_version(graph: Graph) -> Iterator[Problem]:
    """The words are those of the custom resource definition, so that a client that shows both shows one."""
    if graph.api_version == ALPHA:
        what = f"{ALPHA} {graph.kind} is deprecated; use {BETA} {graph.kind}"
        yield Problem(what=what, position=graph.origin.document.locate(("apiVersion",)))


def _of_components(graph: Graph) -> Iterator[Problem]:
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
