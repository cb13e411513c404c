"""How many pods a component may have too many, and too few, while its generations change.

The annotations are those of its Deployment's own rolling update, and mean the same: a number of pods or a percentage
of the desired ones; surge is rounded up, unavailable down, and both at zero would never move (Kubernetes
documentation, "Deployments": max surge, max unavailable).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from stator.render.workloads.deployment import QUARTER, STRATEGY, SURGE, UNAVAILABLE

_AMOUNT = re.compile(r"\d{1,9}%?")


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """`surge` pods more than desired may exist, `unavailable` fewer may serve; with `recreate` none overlap."""

    surge: int
    unavailable: int
    recreate: bool = False


def budget(annotations: Mapping[str, str], desired: int) -> Budget:
    """The budget of a component that is to have `desired` replicas."""
    surge = _amount(annotations.get(SURGE, QUARTER), desired, up=True)
    unavailable = _amount(annotations.get(UNAVAILABLE, QUARTER), desired, up=False)
    if not surge and not unavailable:
        surge = 1
    return Budget(surge=surge, unavailable=unavailable, recreate=annotations.get(STRATEGY) == "Recreate")


def _amount(text: str, desired: int, *, up: bool) -> int:
    """The pods that an annotation's text comes to; rendering has said of a text that is neither form what it is."""
    text = text.strip() if _AMOUNT.fullmatch(text.strip()) else QUARTER
    number = int(text.rstrip("%"))
    if not text.endswith("%"):
        return number
    return -(-number * desired // 100) if up else number * desired // 100
