"""How long a crashed container waits before it is started again."""

from __future__ import annotations

import msgspec

from stator.local.settings import Settings


class Backoff(msgspec.Struct, frozen=True):
    """The delay in force after the last restart; 0 before the first crash."""

    delay: float = 0


def next_restart(backoff: Backoff, *, ran: float, settings: Settings) -> tuple[float, Backoff]:
    """Seconds to wait after a container that `ran` seconds has ended, and the delay to remember.

    The first restart is immediate; then `backoff_initial`, doubling up to `backoff_limit`. A run of more than
    `backoff_reset` seconds forgets the past.
    """
    if ran > settings.backoff_reset:
        backoff = Backoff()
    following = min(backoff.delay * 2 or settings.backoff_initial, settings.backoff_limit)
    return backoff.delay, Backoff(following)
