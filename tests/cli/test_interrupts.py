"""Ctrl-C, and a second one by a person who cannot wait."""

from __future__ import annotations

import signal

import pytest

from stator.cli.interrupts import as_interrupt, deferred


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_does_not_cut_short_what_the_first_one_ends(second: signal.Signals) -> None:
    """What was started is stopped whole; afterwards the signals are what they were."""
    done: list[str] = []
    before = signal.getsignal(second)

    def work() -> None:
        with as_interrupt():
            try:
                signal.raise_signal(signal.SIGTERM)
                done.append("went on")
            finally:
                signal.raise_signal(second)
                done.append("stopped")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["stopped"]
    assert signal.getsignal(second) is before


def test_a_signal_waits_for_what_must_not_be_half_done() -> None:
    """It is heard when the block is over, or forgotten if nothing is left to be interrupted."""
    done: list[str] = []

    def work(*, forget: bool) -> None:
        with as_interrupt(), deferred(forget=forget):
            signal.raise_signal(signal.SIGINT)
            done.append("stopped" if forget else "started")

    work(forget=True)
    with pytest.raises(KeyboardInterrupt):
        work(forget=False)
    assert done == ["stopped", "started"]
