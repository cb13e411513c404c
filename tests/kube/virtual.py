"""Time that jumps: a loop whose clock goes to the next timer when nothing else is to be done."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any


class _Selector(selectors.DefaultSelector):  # type: ignore[misc, valid-type] # chosen by the platform
    """Waits for nothing: it moves the clock instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """What is ready; else the time is over at once."""
        ready: list[Any] = super().select(0)
        if not ready:
            if timeout is None:
                raise AssertionError("the test waits for what will never happen")
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A day takes no time. Not for anything that does I/O."""

    def __init__(self) -> None:
        self._jumping = _Selector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """The virtual clock in seconds."""
        return self._jumping.now


def virtual(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test on such a loop."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def now() -> float:
    """The loop's time."""
    return asyncio.get_running_loop().time()
