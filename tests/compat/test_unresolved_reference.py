"""DYN403 at the size of generated environments."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from stator.compat import ContainerFacts, rules
from stator.compat.predicates.container import unresolved_reference

RULE = next(rule for rule in rules() if rule.id == "DYN403")


class _Counted(str):
    """A name that counts how often it is compared."""

    compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _Counted.compared += 1
        return str.__eq__(self, other)


def test_a_long_chain_of_references_is_gone_through_once(container: Callable[..., ContainerFacts]) -> None:
    """Each of many entries that refer to one another costs a few comparisons, however many there are."""
    _Counted.compared, size = 0, 600
    env = [{"name": _Counted(f"V{number}"), "value": f"$(V{number + 1})"} for number in range(size)]
    facts = msgspec.structs.replace(container(), env=tuple(reversed(env)))
    found = list(unresolved_reference(facts, RULE))
    assert [(outcome.key, outcome.values["reference"]) for outcome in found] == [("nowhere", f"V{size}")]
    assert _Counted.compared < 20 * size
