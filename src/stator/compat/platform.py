"""What a graph goes to, as far as known: custom resource definitions, the chart's values, the Kubernetes release.

A definition's schema is structural: what it does not name is pruned by the API server (Kubernetes documentation,
"Custom resources", field pruning). Nothing here asks a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from stator.errors import Position
from stator.model import Document, Path
from stator.versions import Version

_GROUP = "nvidia.com"


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of ours as a CustomResourceDefinition has it. `versions` are the served ones with their schemas.

    `converted` says whether a webhook converts between them; `stored` are the versions in which objects may lie.
    """

    kind: str
    versions: Mapping[str, Mapping[str, Any]]
    converted: bool
    stored: tuple[str, ...]
    position: Position

    def pruned(self, version: str, value: Mapping[str, Any]) -> Iterator[Path]:
        """The fields of an object that would be dropped, outermost first."""
        schema = self.versions[version]
        spec = (schema.get("properties") or {}).get("spec")
        if spec is not None and "spec" in value:
            yield from _pruned(spec, value["spec"], ("spec",))


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known; empty where nothing is. `values` is the chart's file of values.

    `kinds` are the kinds of all definitions, also of other groups.
    """

    definitions: Mapping[str, Definition] = {}
    kinds: frozenset[str] = frozenset()
    values: Document | None = None
    kubernetes: Version | None = None

    def value(self, *path: str) -> Any:
        """What the chart's values say at a path, None if nothing."""
        found = self.values.value if self.values else None
        for step in path:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found


class PlatformFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The platform by itself, under an operator of release `operator`; `objects` are documents of other kinds."""

    platform: Platform
    operator: Version
    objects: tuple[Document, ...] = ()


def definition(document: Document) -> Definition | None:
    """One of our kinds, or None for a definition of something else."""
    spec = document.value.get("spec") or {}
    if spec.get("group") != _GROUP:
        return None
    versions = {
        item["name"]: (item.get("schema") or {}).get("openAPIV3Schema") or {}
        for item in spec.get("versions") or ()
        if item.get("served")
    }
    return Definition(
        kind=(spec.get("names") or {}).get("kind", ""),
        versions=versions,
        converted=(spec.get("conversion") or {}).get("strategy") == "Webhook",
        stored=tuple((document.value.get("status") or {}).get("storedVersions") or ()),
        position=document.locate(("metadata", "name")),
    )


def _pruned(schema: Mapping[str, Any], value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, list):
        items = schema.get("items")
        for index, item in enumerate(value):
            yield from _pruned(items, item, (*path, index)) if isinstance(items, Mapping) else ()
        return
    if not isinstance(value, Mapping):
        return
    known = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    keep = bool(schema.get("x-kubernetes-preserve-unknown-fields")) or others is True
    embedded = {"apiVersion", "kind", "metadata"} if schema.get("x-kubernetes-embedded-resource") else set()
    for key, item in value.items():
        if key in known:
            yield from _pruned(known[key], item, (*path, key))
        elif isinstance(others, Mapping):
            yield from _pruned(others, item, (*path, key))
        elif not keep and key not in embedded:
            yield (*path, key)
