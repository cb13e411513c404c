"""Whether an object already is as it is wanted: the server adds fields to what was applied, and changes none."""

from __future__ import annotations

from typing import Any


def contains(live: Any, wanted: Any) -> bool:
    """Whether everything that is wanted is in the live value; lists have the same length and order."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(key in live and contains(live[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list | tuple):
        same = isinstance(live, list | tuple) and len(live) == len(wanted)
        return same and all(contains(one, other) for one, other in zip(live, wanted, strict=True))
    return bool(live == wanted)
