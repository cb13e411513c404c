"""The typed resources: what stator acts on is a field, everything else stays a plain JSON value.

A `Graph` has the v1beta1 shape whatever version was submitted. Its `origin` leads every path of that shape
back to the line of the source document, also where conversion moved the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from stator.errors import Position
from stator.model.documents import Document, Path

Kind = Literal["DynamoGraphDeployment", "DynamoComponentDeployment"]

# A component's main container is the podTemplate container of this name (v1alpha1: extraPodSpec.mainContainer).
MAIN = "main"

# An init container of this name that always restarts runs Dynamo beside a native engine in `main`.
RUNTIME_CONTAINER = "runtime"
# The container that a v1alpha1 service's inline `frontendSidecar` becomes.
FRONTEND_SIDECAR = "sidecar-frontend"


class Origin(msgspec.Struct, frozen=True):
    """Where a resource came from.

    `moved` maps a path prefix of the v1beta1 shape to the path prefix of the submitted document; the longest
    matching prefix wins. Empty for a v1beta1 document.
    """

    document: Document
    moved: Mapping[Path, Path] = {}

    def locate(self, *path: str | int) -> Position:
        """Position of a v1beta1 path, or of its nearest parent that exists in the document."""
        for length in range(len(path), 0, -1) if self.moved else ():
            if (prefix := self.moved.get(path[:length])) is not None:
                return self.document.locate((*prefix, *path[length:]))
        return self.document.locate(path)


class AlphaOnly(msgspec.Struct, frozen=True, kw_only=True):
    """What a v1alpha1 service can say and v1beta1 cannot; kept because rendering still honours it."""

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    sub_component_type: str = ""
    dynamo_namespace: str = ""
    ingress: Mapping[str, Any] | None = None


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """One component of a graph, in the v1beta1 shape.

    `type` is `""` for an untyped component and any string a v1alpha1 file may carry. `pod_template` is a core
    `PodTemplateSpec` as plain JSON values. `path` is the component's path in the v1beta1 shape, for `Origin.locate`.
    `other` holds the fields rendering does not act on (yet), by their v1beta1 names, so that nothing is dropped
    without being named.
    """

    name: str
    path: Path
    type: str = ""
    replicas: int | None = None
    pod_template: Mapping[str, Any] = {}
    runtime_version_override: str | None = None
    global_dynamo_namespace: bool = False
    shared_memory_size: str | None = None
    other: Mapping[str, Any] = {}
    alpha: AlphaOnly = AlphaOnly()

    @property
    def pod_spec(self) -> Mapping[str, Any]:
        """The pod template's `spec`, empty if absent or null."""
        return self.pod_template.get("spec") or {}

    @property
    def main(self) -> Mapping[str, Any]:
        """The container named `main`, empty if the component has none."""
        for container in self.pod_spec.get("containers") or ():
            if container.get("name") == MAIN:
                return container  # type: ignore[no-any-return]
        return {}

    @property
    def beside(self) -> Mapping[str, Any]:
        """The restartable init container that runs Dynamo beside a native engine, empty if there is none."""
        for container in self.pod_spec.get("initContainers") or ():
            if container.get("name") == RUNTIME_CONTAINER and container.get("restartPolicy") == "Always":
                return container  # type: ignore[no-any-return]
        return {}

    @property
    def main_path(self) -> Path:
        """Path of the main container in the v1beta1 shape (the component's own path if it has none)."""
        for index, container in enumerate(self.pod_spec.get("containers") or ()):
            if container.get("name") == MAIN:
                return (*self.path, "podTemplate", "spec", "containers", index)
        return self.path


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """A DynamoGraphDeployment, or a standalone DynamoComponentDeployment as a graph of one component.

    `labels` and `annotations` are the object's metadata; `spec_labels` and `spec_annotations` are the ones the
    graph gives to its children. `env` is the graph-level list of core `EnvVar` objects, in the user's order.
    """

    kind: Kind
    api_version: str
    name: str
    namespace: str
    components: tuple[Component, ...]
    origin: Origin
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    spec_labels: Mapping[str, str] = {}
    spec_annotations: Mapping[str, str] = {}
    env: tuple[Mapping[str, Any], ...] = ()
    backend_framework: str | None = None
    other: Mapping[str, Any] = {}

    @property
    def ref(self) -> str:
        """`Kind/namespace/name`, the way findings and errors name an object."""
        return f"{self.kind}/{self.namespace}/{self.name}"

    def locate(self, *path: str | int) -> Position:
        """Position in the source of a path of the v1beta1 shape."""
        return self.origin.locate(*path)


class SecretData(msgspec.Struct, frozen=True):
    """A Secret's decoded values, kept out of every `repr` so that no report can print them by accident."""

    values: Mapping[str, bytes]

    def __repr__(self) -> str:
        """Key names only."""
        return f"SecretData(keys={sorted(self.values)})"


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was loaded. References are resolved by `(namespace, name)`.

    `others` are documents of kinds stator does not act on; they are counted, never lost.
    """

    graphs: tuple[Graph, ...] = ()
    config_maps: Mapping[tuple[str, str], Mapping[str, str]] = {}
    secrets: Mapping[tuple[str, str], SecretData] = {}
    others: tuple[Document, ...] = ()
