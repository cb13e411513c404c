"""Stand-in for the rules until they are there. Goes away as a whole."""

from __future__ import annotations

from stator.compat import ContainerFacts, Verdict


def evaluate(_facts: ContainerFacts) -> Verdict:
    """Nothing to say."""
    return Verdict()
