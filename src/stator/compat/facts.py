"""What a predicate may look at: one rendered main container, fully merged, before any repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from stator.errors import Position
from stator.model.commandline import CommandLine
from stator.versions import ResolvedVersion


class ContainerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The main container of one component.

    `env` is the merged list (infrastructure < type defaults < graph < component), one entry per name, as core
    `EnvVar` objects; `env_from` are the core `EnvFromSource` objects in order. `backend` is `sglang`, `vllm`,
    `trtllm` or `noop`. `locate` gives the source position of `("env", NAME)`, `("args",)`, `("envFrom",)` or `()`.
    """

    object: str
    component: str
    component_type: str
    backend: str
    version: ResolvedVersion
    env: tuple[Mapping[str, Any], ...]
    env_from: tuple[Mapping[str, Any], ...]
    command_line: CommandLine
    locate: Callable[..., Position | None] = lambda *_: None

    def entry(self, name: str) -> Mapping[str, Any] | None:
        """The merged entry called `name`, literal or by reference."""
        return next((entry for entry in self.env if entry["name"] == name), None)

    def could_come_from_env_from(self, name: str) -> bool:
        """Whether any `envFrom` source could carry `name`: a source with prefix P can only if `name` starts with P."""
        return any(name.startswith(source.get("prefix") or "") for source in self.env_from)
