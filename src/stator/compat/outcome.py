"""What a predicate answers: which of the rule's outcomes holds, how sure that is, and what would repair it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from stator.compat.edits import Edit
from stator.compat.facts import ContainerFacts, FleetFacts, GraphFacts, MoveFacts
from stator.compat.findings import Repair
from stator.compat.platform import PlatformFacts
from stator.compat.rule import Rule
from stator.errors import Position

# `possible`: it depends on something that is only known at container start, and the manifest points to it.
# `remote`: as possible, but nothing in the manifest points to it.
Certainty = Literal["certain", "possible", "remote"]
_CERTAINTIES: tuple[Certainty, ...] = ("certain", "possible", "remote")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome of a rule.

    `key` is a key of `Rule.outcomes`, `values` fill its placeholders. The place is `position`, or `where`: arguments
    for `ContainerFacts.locate`. What looks at more than a container names the `component` or the `object` it is about,
    if it is about one, and the `versions` it compared, by role. `edit` would mend the manifest at the place.
    """

    key: str
    certainty: Certainty = "certain"
    where: tuple[str | int, ...] = ()
    position: Position | None = None
    object: str = ""
    component: str = ""
    values: dict[str, str] = {}
    versions: dict[str, str] = {}
    repairs: tuple[Repair, ...] = ()
    edit: Edit | None = None


Predicate = Callable[[ContainerFacts, Rule], Iterable[Outcome]]
GraphPredicate = Callable[[GraphFacts, Rule], Iterable[Outcome]]
FleetPredicate = Callable[[FleetFacts, Rule], Iterable[Outcome]]
MovePredicate = Callable[[MoveFacts, Rule], Iterable[Outcome]]
PlatformPredicate = Callable[[PlatformFacts, Rule], Iterable[Outcome]]


def least(*certainties: Certainty) -> Certainty:
    """The certainty of something that needs all of these to be so."""
    return max(certainties, key=_CERTAINTIES.index)
