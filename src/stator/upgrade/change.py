"""The values a comparison is made of: two sides in, changes with their reasons out."""

from __future__ import annotations

from typing import Literal

import msgspec

from stator.compat import Finding
from stator.errors import Position
from stator.model import Graph
from stator.render import Manifest
from stator.versions import Version

Subject = Literal["image", "env", "env-from", "option", "command", "probe", "field", "hash-input"]

# `rolls`: its pods are replaced. `waits`: only a repair differs, which is for pods that are new or not Ready.
# `scales`: the number of pods changes. `updates`: other objects or fields change, and the pods stay.
Verdict = Literal["same", "updates", "scales", "waits", "rolls", "added", "removed"]


class Side(msgspec.Struct, frozen=True):
    """A graph, what it renders to, and the operator release that renders it."""

    graph: Graph
    manifest: Manifest
    operator: Version


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One difference. `before` is None for what is new, `after` for what is gone; both are texts fit to be shown.

    `why` is who set the new value (who had set the old one, where it is gone), in the words of provenance. `role` is
    the kind of pod (`leader`, `worker`) of a component that has several.
    """

    subject: Subject
    name: str
    before: str | None
    after: str | None
    why: str = ""
    position: Position | None = None
    role: str = ""


class ObjectChange(msgspec.Struct, frozen=True):
    """An object beside the workloads that differs; `ref` is `Kind/namespace/name`."""

    ref: str
    change: Literal["added", "removed", "changed"]


class ComponentChange(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one component. `why` says it in a sentence; `changes` are the differences of its pods."""

    name: str
    type: str
    verdict: Verdict
    why: str = ""
    versions: tuple[str, str] = ("", "")
    changes: tuple[Change, ...] = ()
    objects: tuple[ObjectChange, ...] = ()


class GraphChange(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one graph.

    `operators` and `generations` (worker hashes, empty for none) are before and after; `inputs` are the differences
    of what the worker hash is made of; `gone` and `new` the findings of one side only.
    """

    graph: str
    operators: tuple[str, str]
    generations: tuple[str, str]
    components: tuple[ComponentChange, ...]
    inputs: tuple[Change, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    gone: tuple[Finding, ...] = ()
    new: tuple[Finding, ...] = ()

    @property
    def same(self) -> bool:
        """Whether both sides render to the same objects."""
        return not self.objects and all(part.verdict == "same" for part in self.components)

    @property
    def rolling(self) -> tuple[ComponentChange, ...]:
        """The components whose pods are replaced."""
        return tuple(part for part in self.components if part.verdict == "rolls")
