"""Every container has an image, the main one first of all: there is no default.

A rule of admission upstream; an object that was stored before it cannot be rendered either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stator.errors import Problem
from stator.model import MAIN, Component, Graph, Path

# The grammar of references of the distribution specification ("reference" package).
_DOMAIN = r"(?:(?:[a-zA-Z0-9](?:[-a-zA-Z0-9.]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?"
_PATH = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(rf"{_DOMAIN}{_PATH}(?::[\w][\w.-]{{0,127}})?(?:@{_DIGEST})?", re.ASCII)
_REMEDY = "name the runtime image, for example nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.6.1"


def is_reference(image: str) -> bool:
    """Whether a text can be an image: `[REGISTRY/]NAME[:TAG][@DIGEST]`."""
    return bool(_REFERENCE.fullmatch(image))


def problems(graph: Graph, component: Component) -> Iterator[Problem]:
    """Containers of the component, in each of its roles, that have no image."""
    roles = component.other.get("roles") or ()
    templates: list[tuple[Path, Mapping[str, Any]]] = [
        ((*component.path, "roles", index, "podTemplate"), role["podTemplate"])
        for index, role in enumerate(roles)
        if role.get("podTemplate")
    ]
    for path, template in templates or [((*component.path, "podTemplate"), component.pod_template)]:
        spec = template.get("spec") or {}
        for field in ("initContainers", "containers"):
            for index, container in enumerate(spec.get(field) or ()):
                if not container.get("image"):
                    name = container.get("name", "")
                    yield _problem(graph, component, f'"{name}"', (*path, "spec", field, index, "image"))
        if MAIN not in [container.get("name") for container in spec.get("containers") or ()]:
            # In v1alpha1 the main container has a field of its own.
            field = "mainContainer" if graph.api_version.endswith("/v1alpha1") else "containers"
            yield _problem(graph, component, f'"{MAIN}"', (*path, "spec", field), there=False)


def _problem(graph: Graph, component: Component, container: str, path: Path, *, there: bool = True) -> Problem:
    return Problem(
        what=f"component {component.name}: the container {container} {'has no image' if there else 'is missing'}",
        position=graph.locate(*path),
        why="" if there else "the image of the component is its main container's, and there is no default",
        remedy=_REMEDY,
    )
