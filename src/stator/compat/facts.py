"""What a predicate may look at: a merged main container, a graph of them, several graphs, or one graph at two times.

Everything is as rendered and before any repair, so that a rule judges what the user's manifest leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

import msgspec

from stator.compat.platform import Platform
from stator.errors import Position, Problem
from stator.model import Component, Graph
from stator.model.commandline import CommandLine
from stator.versions import ResolvedVersion, Version


class ContainerFacts(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The main container of one component.

    `env` is the merged list (infrastructure < type defaults < graph < component), one entry per name, as core
    `EnvVar` objects; `env_from` are the core `EnvFromSource` objects in order. `backend` is `sglang`, `vllm`,
    `trtllm` or `noop`. `body` is the rest of the merged container (ports, probes, resources), without environment.
    `locate` gives the source position of `("env", NAME)`, `("args",)`, `("envFrom",)`, any other path below the
    container, or `()`.
    """

    object: str
    component: str
    component_type: str
    backend: str
    version: ResolvedVersion
    env: tuple[Mapping[str, Any], ...]
    env_from: tuple[Mapping[str, Any], ...]
    command_line: CommandLine
    body: Mapping[str, Any] = {}
    locate: Callable[..., Position | None] = lambda *_: None

    def entry(self, name: str) -> Mapping[str, Any] | None:
        """The merged entry called `name`, literal or by reference."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, Mapping[str, Any]]:
        return {entry["name"]: entry for entry in self.env}

    @cached_property
    def given(self) -> frozenset[str]:
        """What is there under a name: the entries of the environment, and the options of all invocations."""
        words = (word for run in self.command_line.invocations for word in run.argv if word.startswith("-"))
        return frozenset(self._by_name).union(word.partition("=")[0] for word in words)

    def could_come_from_env_from(self, name: str) -> bool:
        """Whether any `envFrom` source could carry `name`: a source with prefix P can only if `name` starts with P."""
        return any(name.startswith(source.get("prefix") or "") for source in self.env_from)


class GraphFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One graph with all of its main containers, under an operator of release `operator`.

    `config_maps` and `secrets` are the keys of the ones that are known, by `(namespace, name)`; `absent` are those that
    are known not to exist, by kind, namespace and name. `refused` is what admission would refuse, `platform` what is
    known of the cluster the graph goes to.
    """

    graph: Graph
    containers: tuple[ContainerFacts, ...]
    operator: Version
    config_maps: Mapping[tuple[str, str], Collection[str]] = {}
    secrets: Mapping[tuple[str, str], Collection[str]] = {}
    absent: Collection[tuple[str, str, str]] = ()
    refused: tuple[Problem, ...] = ()
    platform: Platform = Platform()

    def of_type(self, *types: str) -> tuple[ContainerFacts, ...]:
        """The containers whose component is of one of the types."""
        return tuple(container for container in self.containers if container.component_type in types)

    def component(self, container: ContainerFacts) -> Component:
        """The component as the graph has it."""
        return next(part for part in self.graph.components if part.name == container.component)


class FrontendNames(msgspec.Struct, frozen=True):
    """The Dynamo namespaces a frontend looks for: those that begin with `prefix`, or only it if `exact`."""

    component: str
    version: Version | None
    prefix: str
    exact: bool
    position: Position | None


class GraphNames(msgspec.Struct, frozen=True, kw_only=True):
    """The names by which a graph meets others. `workers` are the Dynamo namespaces of its workers.

    All that is kept of a graph when many are checked: the graphs themselves would fill the memory.
    """

    ref: str
    namespace: str
    name: str
    frontends: tuple[FrontendNames, ...]
    workers: tuple[str, ...]


class FleetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """All graphs that are looked at together."""

    graphs: tuple[GraphNames, ...]


class MoveFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One graph before and after its components moved to another release."""

    before: GraphFacts
    after: GraphFacts
