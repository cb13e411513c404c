"""What Ctrl-C, SIGTERM and SIGHUP do to a command that has started something: the same, and never halfway."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def as_interrupt() -> Iterator[None]:
    """Within the block the first of the signals raises KeyboardInterrupt, also that of a closed terminal.

    The others are not heard: what the first one began to take down is taken down (`timeout` sends two at once, and so
    do people).
    """
    raised = False

    def once(_number: int, _frame: FrameType | None) -> None:
        nonlocal raised
        if not raised:
            raised = True
            raise KeyboardInterrupt

    before = {number: signal.signal(number, once) for number in _SIGNALS}
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
