"""What a rule of admission looks at, and what it answers with.

A rule is a function from a `Subject` to `Breach`es. It reads values only: what a cluster has is an argument
(`Installed`), and what nobody knows (None) refuses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from stator.errors import Problem
from stator.model import MAIN, Component, Graph, Path
from stator.model.commandline import read_command_line
from stator.render import RenderOptions, names
from stator.render.backends.detection import backends_of
from stator.versions import InvalidVersionError, Version, resolve

Occasion = Literal["create", "update", "file"]
Json = Mapping[str, Any]

# v1beta1 DynamoGraphDeployment, multinode.nodeCount.
DEFAULT_NODES = 2
_RECORDED = "nvidia.com/workload-provider"
_GROVE = "nvidia.com/enable-grove"


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster has; None where nobody has asked it.

    `topologies` are the cluster topologies by name, each with its domains from the widest to the narrowest.
    """

    grove: bool | None = None
    inference_pools: bool | None = None
    snapshots: bool | None = None
    topologies: Mapping[str, tuple[str, ...]] | None = None


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that a graph breaks.

    `rule` is a name for tests and tools (`multinode-type`), `path` the field in the v1beta1 shape. `what` and `given`,
    the values that broke it, make it the same breach on an object as it was and as it is to be.
    """

    rule: str
    path: Path
    what: str
    why: str = ""
    remedy: str = ""
    given: Any = None

    def problem(self, graph: Graph) -> Problem:
        """The breach at its place in the document, in the version that was submitted."""
        return Problem(what=self.what, position=graph.locate(*self.path), why=self.why, remedy=self.remedy)


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A graph, where it is to run, and why it is looked at.

    `occasion` is `file` where nobody knows whether the object is there already. `user` is None if it is not known;
    `trusted` are the names of the operator's own users.
    """

    graph: Graph
    installed: Installed = Installed()
    options: RenderOptions = RenderOptions()
    occasion: Occasion = "create"
    user: str | None = None
    trusted: frozenset[str] = frozenset()

    @property
    def on_grove(self) -> bool | None:
        """Whether Grove runs the pods: the recorded choice, else the graph's wish, else what the cluster has."""
        annotations = self.graph.annotations
        recorded = annotations.get(_RECORDED)
        declined = annotations.get(_GROVE, "").lower() == "false"
        if self.graph.kind == "DynamoComponentDeployment" or recorded == "component":
            return False
        return True if recorded == "grove" else False if declined else self.installed.grove

    @property
    def by_operator(self) -> bool | None:
        """Whether the operator itself asks; None if nobody knows who does."""
        return None if self.user is None else self.user in self.trusted

    def version(self, component: Component) -> Version | None:
        """The release of the component's runtime; None if it cannot be told."""
        runtime = component.beside or main_of(component)
        try:
            return resolve(component.runtime_version_override, runtime.get("image")).core
        except InvalidVersionError:
            return None

    def backend(self, component: Component) -> str:
        """The component's framework, `noop` if it shows none. What contradicts itself is rendering's to refuse."""
        lines = {}
        for each in self.graph.components:
            main = main_of(each)
            lines[each.name] = read_command_line(main.get("command") or (), main.get("args") or ())
        return backends_of(self.graph, lines, [])[component.name]


Rule = Callable[[Subject], Iterable[Breach]]


def templates(component: Component) -> Iterator[tuple[Path, Json]]:
    """The component's pod templates and their paths: those of its roles, else its own; nothing if it has none."""
    of_roles = [
        ((*component.path, "roles", index, "podTemplate"), role["podTemplate"])
        for index, role in enumerate(component.other.get("roles") or ())
        if role.get("podTemplate")
    ]
    yield from of_roles
    if component.pod_template and not of_roles:
        yield (*component.path, "podTemplate"), component.pod_template


def containers(path: Path, template: Json) -> Iterator[tuple[Path, Json]]:
    """Every container of a template and its path, init containers first."""
    spec = template.get("spec") or {}
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield (*path, "spec", field, index), container


def container_names(template: Json) -> list[str]:
    """The names of a template's containers, init containers left out."""
    return [container.get("name", "") for container in (template.get("spec") or {}).get("containers") or ()]


def main_of(component: Component) -> Json:
    """The main container of the component, of its leader if its roles have templates; empty if there is none."""
    for _, template in templates(component):
        for container in (template.get("spec") or {}).get("containers") or ():
            if container.get("name") == MAIN:
                return container  # type: ignore[no-any-return]
    return {}


def nodes(component: Component) -> int:
    """Nodes of one replica."""
    multinode = component.other.get("multinode")
    return 1 if multinode is None else multinode.get("nodeCount") or DEFAULT_NODES


def experimental(component: Component, feature: str) -> Json | None:
    """An experimental feature's settings, None if it is not asked for."""
    return (component.other.get("experimental") or {}).get(feature)


def is_worker(component: Component) -> bool:
    """Whether it is a worker, prefill or decode component."""
    return component.type in names.WORKER_TYPES
