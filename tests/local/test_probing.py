"""Probe rules, on a clock that only moves when a test says so."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stator.local.kubelet import probing
from stator.local.kubelet.backoff import Backoff, next_restart
from stator.local.kubelet.probing import ProbeSet
from stator.local.plan import ContainerPlan, HttpGet, Probe
from stator.local.settings import Settings


def probe(**fields: Any) -> Probe:
    """A probe with the API's defaults, but for `fields`."""
    return Probe(handler=HttpGet(port=1), **fields)


def container(**probes: Probe) -> ContainerPlan:
    """A container with these probes."""
    return ContainerPlan(name="main", image="", runtime="", argv=(), env={}, directory="", **probes)


def feed(probes: ProbeSet, outcomes: str, kind: Any, *, now: float = 0) -> ProbeSet:
    """Record outcomes, `+` or `-`, one period apart."""
    for outcome in outcomes:
        probes = probing.record(probes, kind, success=outcome == "+", now=now)
    return probes


def test_a_container_without_probes_is_ready_at_once() -> None:
    """Running is enough."""
    probes = probing.begin(container(), 0)
    assert probes.ready
    assert probes.next_due() == math.inf


def test_readiness_counts_as_failed_until_its_first_success() -> None:
    """A new pod takes no traffic before somebody has asked it."""
    probes = probing.begin(container(readiness=probe()), 0)
    assert not probes.ready
    assert feed(probes, "+", "readiness").ready


def test_readiness_is_lost_after_three_failures_in_a_row() -> None:
    """Only consecutive failures count towards failureThreshold; a success in between starts anew."""
    probes = feed(probing.begin(container(readiness=probe()), 0), "+--+--", "readiness")
    assert probes.ready
    probes = feed(probes, "-", "readiness")
    assert not probes.ready
    assert probes.failed is None
    assert feed(probes, "+", "readiness").ready


def test_success_threshold_must_be_reached() -> None:
    """Two successes in a row, if that is what the probe says."""
    probes = probing.begin(container(readiness=probe(success_threshold=2)), 0)
    assert not feed(probes, "+-+", "readiness").ready
    assert feed(probes, "++", "readiness").ready


def test_liveness_failures_end_the_run() -> None:
    """Then nothing is probed any more: the container is to be restarted."""
    probes = feed(probing.begin(container(liveness=probe(failure_threshold=2)), 0), "--", "liveness")
    assert probes.failed == "liveness"
    assert not probes.ready
    assert probes.due(1000) == ()


def test_the_startup_probe_holds_back_the_others() -> None:
    """Only startup is asked; once it succeeds, readiness is asked at once and liveness at its next time."""
    probes = probing.begin(container(startup=probe(period=7), liveness=probe(period=5), readiness=probe(period=10)), 0)
    assert probes.due(0) == ("startup",)
    probes = feed(probes, "-", "startup", now=0)
    assert probes.due(6.9) == ()
    assert probes.due(7) == ("startup",)
    probes = feed(probes, "+", "startup", now=7.5)
    assert not probes.ready
    assert probes.due(7.5) == ("readiness",)
    assert probes.due(10) == ("liveness", "readiness")


def test_a_startup_probe_that_fails_too_often_ends_the_run() -> None:
    """The budget is failureThreshold times periodSeconds."""
    probes = probing.begin(container(startup=probe(failure_threshold=3)), 0)
    assert feed(probes, "--", "startup").failed is None
    assert feed(probes, "---", "startup").failed == "startup"


def test_nothing_is_due_before_its_initial_delay() -> None:
    """The initial delay counts from the start of the container, whatever the startup probe does."""
    probes = probing.begin(container(startup=probe(), readiness=probe(initial_delay=15)), 100)
    assert probes.next_due() == 100
    probes = feed(probes, "+", "startup", now=101)
    assert probes.next_due() == 115


def test_a_slow_probe_skips_times() -> None:
    """An answer after two and a half periods is followed by the third period's probe, not by three at once."""
    probes = feed(probing.begin(container(readiness=probe(period=2)), 0), "+", "readiness", now=5)
    assert probes.next_due() == 6


def test_a_running_probe_is_not_due_again() -> None:
    """What waits for its outcome does not count as the next one."""
    probes = probing.begin(container(liveness=probe(period=3), readiness=probe()), 0)
    assert probes.next_due(("liveness", "readiness")) == math.inf
    assert probes.next_due(("readiness",)) == 0


@given(st.text("+-", max_size=40), st.integers(1, 4), st.integers(1, 4))
def test_readiness_follows_runs_of_equal_outcomes(outcomes: str, success: int, failure: int) -> None:
    """After any history: the last run that reached its threshold decides."""
    probes = probing.begin(container(readiness=probe(success_threshold=success, failure_threshold=failure)), 0)
    expected = False
    for index in range(len(outcomes)):
        seen = outcomes[: index + 1]
        if seen.endswith("+" * success):
            expected = True
        if seen.endswith("-" * failure):
            expected = False
    assert feed(probes, outcomes, "readiness").ready is expected


@given(st.lists(st.floats(0, 30), max_size=20), st.floats(0.1, 10), st.floats(0, 20))
def test_due_times_stay_on_the_grid(waits: list[float], period: float, delay: float) -> None:
    """However late an outcome comes, the next probe is later than it, by at most one period."""
    probes = probing.begin(container(readiness=probe(period=period, initial_delay=delay, failure_threshold=1000)), 0)
    now = 0.0
    for wait in waits:
        now = max(now, probes.next_due()) + wait
        probes = probing.record(probes, "readiness", success=False, now=now)
        assert now < probes.next_due() + 1e-9
        assert probes.next_due() <= now + period + 1e-9


def test_restarts_are_delayed_like_in_a_cluster() -> None:
    """At once, then 10 s, doubling to 300 s; a run of more than ten minutes forgets it all."""
    delays, backoff = [], Backoff()
    for _ in range(8):
        delay, backoff = next_restart(backoff, ran=1, settings=Settings())
        delays.append(delay)
    assert delays == [0, 10, 20, 40, 80, 160, 300, 300]
    delay, backoff = next_restart(backoff, ran=601, settings=Settings())
    assert delay == 0
    assert next_restart(backoff, ran=1, settings=Settings())[0] == 10


def test_a_container_that_is_up_is_seen_before_its_next_probe_is_due() -> None:
    """Until the first success startup and readiness are also asked early, and an early success counts at once."""
    probes = probing.begin(container(startup=probe(period=10), readiness=probe(initial_delay=10)), 0, early=0.25)
    assert probes.due(0) == ("startup",)
    probes = probing.record(probes, "startup", success=False, now=0)
    assert probes.next_due() == 0.25
    probes = probing.record(probes, "startup", success=True, now=0.25)
    assert probes.started
    assert probes.due(0.25) == ("readiness",)
    assert probing.record(probes, "readiness", success=True, now=0.25).ready


def test_an_early_failure_counts_for_nothing() -> None:
    """However often a container is asked early, it has the attempts and the time its manifest gives it."""
    probes = probing.begin(container(startup=probe(period=10, failure_threshold=2)), 0, early=1)
    for second in range(10):
        probes = probing.record(probes, "startup", success=False, now=second)
    assert probes.failed is None
    probes = probing.record(probes, "startup", success=False, now=10)
    assert probes.failed == "startup"


def test_a_failure_that_was_asked_early_and_comes_late_counts_for_nothing() -> None:
    """What decides is when a probe was sent, so a slow early answer takes no attempt away."""
    probes = probing.begin(container(startup=probe(initial_delay=10, failure_threshold=1)), 0, early=1)
    probes = probing.record(probes, "startup", success=False, asked=9, now=12)
    assert probes.failed is None
    assert probes.due(12) == ("startup",)


def test_several_successes_in_a_row_are_not_hurried() -> None:
    """A readiness probe that wants two successes wants the time between them too."""
    probes = probing.begin(container(readiness=probe(initial_delay=5, success_threshold=2)), 0, early=0.25)
    assert probes.next_due() == 5


def test_a_container_that_was_ready_is_probed_on_time_only() -> None:
    """After the first success the grid of the manifest alone decides, as in a cluster."""
    probes = feed(probing.begin(container(readiness=probe(period=10)), 0, early=0.25), "+", "readiness")
    assert probes.next_due() == 10
    assert probing.record(probes, "readiness", success=False, now=10).next_due() == 20
