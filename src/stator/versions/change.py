"""What a graph would be with a component at another release: the question behind `--set component=version`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stator.errors import InvalidInputError, Problem
from stator.model import MAIN, RUNTIME_CONTAINER, Component, Graph
from stator.versions.resolve import resolve
from stator.versions.version import Version


def with_versions(graph: Graph, settings: Mapping[str, Version]) -> Graph:
    """The graph with each named component at the given release.

    A key is a component's name (case does not matter) or, if none is called so, a component type, which means every
    component of that type. Raises InvalidInputError naming every key that fits nothing.
    """
    chosen: dict[str, Version] = {}
    problems = []
    for key, version in settings.items():
        fitting = [part.name for part in graph.components if part.name.lower() == key.lower()] or [
            part.name for part in graph.components if part.type == key.lower()
        ]
        chosen.update(dict.fromkeys(fitting, version))
        if not fitting:
            names = ", ".join(part.name for part in graph.components)
            problems.append(
                Problem(
                    what=f"{graph.ref} has no component {key!r} to set to {version}",
                    position=graph.locate("spec"),
                    why=f"its components are {names}",
                )
            )
    if problems:
        raise InvalidInputError(*problems)
    parts = tuple(_at_version(part, chosen[part.name]) if part.name in chosen else part for part in graph.components)
    return msgspec.structs.replace(graph, components=parts)


def with_versions_where_named(graphs: Sequence[Graph], settings: Mapping[str, Version]) -> tuple[Graph, ...]:
    """Each graph with the settings that fit it. Raises InvalidInputError naming every one that fits no graph."""
    if lost := [key for key in settings if not any(fits(graph, key) for graph in graphs)]:
        names = ", ".join(f"{part.name} ({part.type})" for graph in graphs for part in graph.components) or "none"
        raise InvalidInputError(
            *(
                Problem(what=f"there is no component {key!r} to set to {settings[key]}", why=f"there are {names}")
                for key in lost
            )
        )
    return tuple(
        with_versions(graph, {key: version for key, version in settings.items() if fits(graph, key)})
        for graph in graphs
    )


def fits(graph: Graph, key: str) -> bool:
    """Whether a setting's key is one of the graph's components or types."""
    return any(key.lower() in (part.name.lower(), part.type) for part in graph.components)


def image_at(image: str, version: Version) -> str | None:
    """The image reference with the tag of `version`, None if its tag is no release that could be replaced.

    Only the tag is edited; a digest is dropped, because it names the old image.
    """
    if resolve(None, image).core is None:
        return None
    named = image.strip().partition("@")[0]
    repository, _, tag = named.rpartition(":")
    return f"{repository}:{tag[0] if tag[0] in 'vV' else ''}{version}"


def _at_version(component: Component, version: Version) -> Component:
    """The component at `version`: by its images' tags, or by the override where a tag does not name a release.

    The image is that of the container which holds the runtime: `main`, or the restartable init container `runtime`.
    The roles of a component that spans nodes may have pod templates of their own, each with its image.
    """
    holder = ("initContainers", RUNTIME_CONTAINER) if component.beside else ("containers", MAIN)
    roles = tuple(component.other.get("roles") or ())
    written = [component.pod_template, *(role.get("podTemplate") for role in roles)]
    edited = [_template_at(template, holder, version) if template else None for template in written]
    override = component.runtime_version_override
    if override or not any(edited) or any(old and not new for old, new in zip(written[1:], edited[1:], strict=True)):
        override = str(version)
    other = component.other
    if any(edited[1:]):
        pairs = zip(roles, edited[1:], strict=True)
        other = {**other, "roles": [{**role, "podTemplate": new} if new else role for role, new in pairs]}
    return msgspec.structs.replace(
        component,
        pod_template=edited[0] or component.pod_template,
        other=other,
        runtime_version_override=override or None,
    )


def _template_at(template: Mapping[str, Any], holder: tuple[str, str], version: Version) -> dict[str, Any] | None:
    """The pod template with its runtime's image at `version`, None if it holds no image whose tag names a release."""
    kind, name = holder
    spec = template.get("spec") or {}
    containers = spec.get(kind) or ()
    image = next((image_at(item.get("image") or "", version) for item in containers if item.get("name") == name), None)
    if image is None:
        return None
    changed = [{**item, "image": image} if item.get("name") == name else item for item in containers]
    return {**template, "spec": {**spec, kind: changed}}
