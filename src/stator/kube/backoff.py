"""How long to wait before the next attempt: doubling, bounded, spread so that replicas do not meet again."""

from __future__ import annotations

from random import Random

from msgspec import Struct

_DOUBLINGS = 32  # 2**32 times the shortest delay is beyond any bound


class Backoff(Struct, frozen=True):
    """Delays in seconds."""

    shortest: float
    longest: float

    def delay(self, failures: int, random: Random) -> float:
        """Seconds to wait after failures in a row: between half of the full delay and all of it."""
        if failures <= 0:
            return 0.0
        full = min(self.shortest * 2.0 ** min(failures - 1, _DOUBLINGS), self.longest)
        return full * (0.5 + random.random() / 2)
