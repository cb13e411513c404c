"""Kubernetes quantities as numbers."""

from __future__ import annotations

import re
from decimal import Decimal

_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


def quantity(text: str) -> Decimal:
    """A Kubernetes quantity (`500m`, `8Gi`, `2e3`) as a number. Raises ValueError if it is none, or beyond counting."""
    found = re.fullmatch(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)", text)
    try:
        return Decimal(found[1]) * _SUFFIXES[found[2]] if found else Decimal(text)
    except (ArithmeticError, KeyError) as error:
        raise ValueError(f"quantities must match the regular expression of resource.Quantity, not {text!r}") from error
