"""What a predicate answers: which of the rule's outcomes holds, how sure that is, and what would repair it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from stator.compat.facts import ContainerFacts
from stator.compat.findings import Repair
from stator.compat.rule import Rule

# `possible`: it depends on something that is only known at container start, and the manifest points to it.
# `remote`: as possible, but nothing in the manifest points to it.
Certainty = Literal["certain", "possible", "remote"]
_CERTAINTIES: tuple[Certainty, ...] = ("certain", "possible", "remote")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome of a rule for one container.

    `key` is a key of `Rule.outcomes`, `values` fill its placeholders, `where` are arguments for
    `ContainerFacts.locate`.
    """

    key: str
    certainty: Certainty = "certain"
    where: tuple[str, ...] = ()
    values: dict[str, str] = {}
    repairs: tuple[Repair, ...] = ()


Predicate = Callable[[ContainerFacts, Rule], Sequence[Outcome]]


def least(*certainties: Certainty) -> Certainty:
    """The certainty of something that needs all of these to be so."""
    return max(certainties, key=_CERTAINTIES.index)
