"""Which cells a matrix has: pure planning, controls first.

A pair is a frontend and a worker at two releases. A failure of a mixed pair says something about the mix only if both
same-version pairs pass, so these *controls* come first. By default the newest release meets every release of the
window in both directions, which is what a candidate is judged by; `every` adds the pairs of older releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from stator.versions import Version

Canary = Literal["default", "on", "off"]
Direction = Literal["control", "worker-older", "frontend-older"]


class Pair(msgspec.Struct, frozen=True, order=True):
    """A frontend's release and a worker's."""

    frontend: Version
    worker: Version

    @property
    def direction(self) -> Direction:
        """Which of the two is older."""
        if self.frontend == self.worker:
            return "control"
        return "worker-older" if self.worker < self.frontend else "frontend-older"

    @property
    def controls(self) -> tuple[Pair, ...]:
        """The same-version pairs that must pass before this pair's failure can be put down to the mix."""
        if self.direction == "control":
            return ()
        return (Pair(self.frontend, self.frontend), Pair(self.worker, self.worker))

    def __str__(self) -> str:
        return f"frontend {self.frontend}, worker {self.worker}"


class Variant(msgspec.Struct, frozen=True):
    """What is varied beside the releases.

    `canary`: active health checks as the operator renders them for the worker's release, or set on or off by hand.
    `repairs`: rendered with the compatibility repairs, or as an operator without them would.
    """

    canary: Canary = "default"
    repairs: bool = True

    def __str__(self) -> str:
        words = [] if self.canary == "default" else [f"canary {self.canary}"]
        return ", ".join([*words, *([] if self.repairs else ["no repairs"])])


class Cell(msgspec.Struct, frozen=True):
    """One thing to run: a scenario (named after its graph) at a pair of releases, in a variant."""

    scenario: str
    pair: Pair
    variant: Variant = Variant()

    @property
    def id(self) -> str:
        """Unique in a matrix, and the name of a namespace (RFC 1123): `chat-f1-6-1-w1-5-1-on-raw`."""
        words = [self.scenario, f"f{self.pair.frontend}", f"w{self.pair.worker}"]
        words += [] if self.variant.canary == "default" else [self.variant.canary]
        words += [] if self.variant.repairs else ["raw"]
        return "-".join(words).replace(".", "-").lower()

    @property
    def title(self) -> str:
        """For people."""
        variant = f" ({self.variant})" if str(self.variant) else ""
        return f"{self.scenario}: {self.pair}{variant}"

    @property
    def controls(self) -> tuple[Cell, ...]:
        """The same scenario and variant at the pair's controls."""
        return tuple(msgspec.structs.replace(self, pair=pair) for pair in self.pair.controls)


def plan_pairs(window: Sequence[Version], *, every: bool = False) -> tuple[Pair, ...]:
    """The pairs of a window (newest release first): controls, then mixes from the newest on, each pair once."""
    newest = window[0]
    controls = [Pair(version, version) for version in window]
    older_workers = [Pair(newest, version) for version in window[1:]]
    older_frontends = [Pair(version, newest) for version in window[1:]]
    rest = [Pair(one, two) for one in window[1:] for two in window[1:] if one != two] if every else []
    return (*controls, *older_workers, *older_frontends, *rest)


def plan_cells(
    scenarios: Iterable[tuple[str, Sequence[Variant]]], window: Sequence[Version], *, every: bool = False
) -> tuple[Cell, ...]:
    """All cells: of each scenario, with its variants. Every control stands before every mix."""
    wanted = list(scenarios)
    return tuple(
        Cell(name, pair, variant)
        for pairs in _controls_first(plan_pairs(window, every=every))
        for name, variants in wanted
        for variant in variants
        for pair in pairs
    )


def _controls_first(pairs: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
    together = list(pairs)
    controls = [pair for pair in together if pair.direction == "control"]
    return controls, [pair for pair in together if pair.direction != "control"]
