"""Fields and annotations of a graph that have no effect, judged on the document as it was submitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from stator.compat.edits import RemoveField, RenameField
from stator.compat.facts import GraphFacts
from stator.compat.outcome import Outcome
from stator.compat.rule import Rule
from stator.model import Path
from stator.model.documents import field_path
from stator.model.unknown import unknown_fields

_CUTOFF = 0.85


def unknown_field(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Fields that no API knows: outcomes `misspelt` and `unknown`."""
    del rule
    document = facts.graph.origin.document
    for field in unknown_fields(document):
        name = str(field.path[-1])
        free = field.meant and field.meant not in _at(document.value, field.path[:-1])
        yield Outcome(
            key="misspelt" if field.meant else "unknown",
            component=component_at(facts, field.path),
            position=document.locate(field.path),
            values={"field": field_path(field.path), "meant": field.meant},
            edit=RenameField(name=name, to=field.meant) if free else None,
        )


def dropped_field(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Fields of v1alpha1 that are accepted and ignored: outcome `dropped`. `looks_for`: `fields`, with what does it."""
    document = facts.graph.origin.document
    if not facts.graph.api_version.endswith("/v1alpha1"):
        return
    spec = document.value["spec"]
    parts: list[tuple[Path, Any]] = [(("spec", "services", key), item) for key, item in _services(spec)]
    parts += [(("spec",), spec)] if facts.graph.kind == "DynamoComponentDeployment" else []
    for path, part in parts:
        for name, instead in rule.looks_for["fields"].items():
            if isinstance(part, Mapping) and part.get(name):
                yield Outcome(
                    key="dropped",
                    component=component_at(facts, path),
                    position=document.locate((*path, name)),
                    values={"field": field_path((*path, name)), "instead": instead},
                    edit=RemoveField(name=name),
                )


def _services(spec: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    services = spec.get("services")
    yield from services.items() if isinstance(services, Mapping) else ()


def misspelt_annotation(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Annotations that look like one the operator reads: outcome `misspelt`. `looks_for`: `annotations`, the known."""
    document = facts.graph.origin.document
    known: list[str] = rule.looks_for["annotations"]
    for path in _annotated(document.value):
        found = _at(document.value, path)
        for name in found:
            if name in known or not name.startswith("nvidia.com/"):
                continue
            if meant := next(iter(get_close_matches(name, known, n=1, cutoff=_CUTOFF)), ""):
                yield Outcome(
                    key="misspelt",
                    component=component_at(facts, path),
                    position=document.locate((*path, name)),
                    values={"annotation": name, "meant": meant},
                    edit=None if meant in found else RenameField(name=name, to=meant),
                )


def _annotated(value: Mapping[str, Any]) -> Iterator[Path]:
    """Where a graph's document holds annotations."""
    yield ("metadata", "annotations")
    spec = value["spec"]
    yield ("spec", "annotations")
    parts = spec.get("components") or spec.get("services") or ()
    field = "components" if spec.get("components") else "services"
    for key, _ in parts.items() if isinstance(parts, Mapping) else enumerate(parts):
        yield ("spec", field, key, "annotations")
        yield ("spec", field, key, "extraPodMetadata", "annotations")
        yield ("spec", field, key, "podTemplate", "metadata", "annotations")


def component_at(facts: GraphFacts, path: Path) -> str:
    """The component whose part of the submitted document holds `path`, empty if it is none's."""
    moved = facts.graph.origin.moved
    for part in facts.graph.components:
        own = moved.get(part.path, part.path)
        if path[: len(own)] == own:
            return part.name
    return ""


def _at(value: Any, path: Path) -> Mapping[str, Any]:
    """The mapping at a path, empty if there is none."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(str(step))
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
        else:
            return {}
    return value if isinstance(value, Mapping) else {}
