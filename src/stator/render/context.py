"""Everything about one component, in one role, that is settled before its pod is built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from stator.errors import Position
from stator.model import MAIN, Component, Graph, Path
from stator.model.commandline import CommandLine
from stator.render import names
from stator.render.manifest import RenderOptions
from stator.render.multinode import MAIN_ROLE, Provider, Role
from stator.versions import ResolvedVersion

_SCALARS = frozenset({str, int, bool})


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """One component in one role, the graph around it, and the answers every later step needs.

    `component` has the role's own pod template, if it has one. `workload` is the Deployment's name; `generation` the
    worker hash or `""`; `annotations` are the merged pod annotations, from which the discovery backend and mode are
    read; `command_line` is the merged main container's. `container` is the one that is being merged. With
    `runs_native_engine` the main container is no Dynamo worker: the container `runtime` is.
    """

    graph: Graph
    component: Component
    options: RenderOptions
    workload: str
    generation: str
    annotations: Mapping[str, str]
    version: ResolvedVersion
    backend: str
    command_line: CommandLine
    provider: Provider = "component"
    role: Role = MAIN_ROLE
    container: str = MAIN
    runs_native_engine: bool = False

    @property
    def type(self) -> str:
        """The component's type, `""` if it has none."""
        return self.component.type

    @property
    def is_worker(self) -> bool:
        """Whether it is a worker, prefill or decode component."""
        return self.component.type in names.WORKER_TYPES

    @property
    def where(self) -> str:
        """What provenance calls the container that is being merged."""
        return self.role.label(self.container)

    @property
    def parent(self) -> str:
        """Name of the graph it belongs to."""
        return names.parent_name(self.graph)

    @property
    def dynamo_namespace(self) -> str:
        """`DYN_NAMESPACE`."""
        return names.dynamo_namespace(self.graph, self.component)

    @property
    def discovery(self) -> str:
        """The discovery backend in effect: the annotation verbatim, else the operator's configuration."""
        return discovery(self.annotations, self.options)

    def at(self, *path: str | int) -> Position:
        """Position of a path below the component."""
        return self.graph.locate(*self.component.path, *path)

    @property
    def user_container(self) -> Mapping[str, Any]:
        """The container that is being merged, as the user wrote it; empty if it is not there."""
        return next((body for body, _ in self._containers() if body.get("name") == self.container), {})

    @property
    def container_path(self) -> Path:
        """Path of the container that is being merged, of the component if it is not there."""
        found = next((where for body, where in self._containers() if body.get("name") == self.container), ())
        return (*self.component.path, *found)

    def at_container(self, *path: str | int) -> Position:
        """Position of a path below that."""
        return self.graph.locate(*self.container_path, *path)

    def _containers(self) -> Iterator[tuple[Mapping[str, Any], Path]]:
        for field in ("containers", "initContainers"):
            for index, body in enumerate(self.component.pod_spec.get(field) or ()):
                yield body, ("podTemplate", "spec", field, index)


def discovery(annotations: Mapping[str, str], options: RenderOptions) -> str:
    """The discovery backend for these annotations; any value that is set counts, also one nobody knows."""
    return annotations.get(names.DISCOVERY_BACKEND, options.discovery_backend)


def copied(value: Any) -> Any:
    """A deep copy of a plain JSON value without its nulls, which mean "absent" in every Kubernetes object."""
    # Exact types first: loaded values are made of them, and asking an abstract class costs more than copying.
    kind = type(value)
    if kind is dict:
        return {
            key: item if type(item) in _SCALARS else copied(item) for key, item in value.items() if item is not None
        }
    if kind is list:
        return [item if type(item) in _SCALARS else copied(item) for item in value]
    if kind in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return copied(dict(value))
    return [copied(item) for item in value] if isinstance(value, Sequence) else value
