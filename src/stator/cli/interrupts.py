"""What Ctrl-C, SIGTERM and SIGHUP do to a command that has started something: the same, and never halfway."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def as_interrupt() -> Iterator[None]:
    """Within the block each of the signals raises KeyboardInterrupt, a closed terminal among them."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def deferred(*, forget: bool = False) -> Iterator[None]:
    """Let the signals wait until the block is done; they are then one KeyboardInterrupt, or with `forget` nothing.

    Python-level handlers, not a blocked mask: a mask would be inherited by the processes that the block starts.
    """
    received: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received and not forget:
        raise KeyboardInterrupt
