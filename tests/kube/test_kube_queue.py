"""Keys that wait, on a clock that jumps."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual import now, virtual

from stator.errors import Problem, StatorError
from stator.kube.backoff import Backoff
from stator.kube.controller import Controller, Outcome
from stator.kube.queue import Limits, Queue, QueueClosedError
from stator.kube.resources import Key

FAST = Limits(rate=1e9, burst=1_000_000)


@virtual
async def test_a_key_that_waits_is_not_added_twice() -> None:
    """A burst of events about one object is one reconcile."""
    queue: Queue[str] = Queue()
    for _ in range(100):
        queue.add("a")
    assert len(queue) == 1
    key, _ = await queue.get()
    assert (key, len(queue)) == ("a", 0)


@virtual
async def test_a_key_is_never_worked_on_by_two() -> None:
    """What is added while it runs waits until that is done, and is then done once more."""
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert (await queue.get())[0] == "a"
    queue.done("a")
    assert len(queue) == 0


@virtual
async def test_keys_come_in_the_order_they_were_added_and_say_how_long_they_waited() -> None:
    """No key overtakes another."""
    queue: Queue[str] = Queue()
    for key in "cab":
        queue.add(key)
        await asyncio.sleep(10)
    got = [await queue.get() for _ in range(3)]
    assert got == [("c", 30.0), ("a", 20.0), ("b", 10.0)]


@virtual
async def test_what_was_begun_takes_turns_with_what_waits_to_be_begun() -> None:
    """An urgent key does not wait behind everything that a start listed, and keeps nothing else from its turn."""
    queue: Queue[str] = Queue()
    for key in ("a", "b", "c", "d"):
        queue.add(key)
    for key in ("d", "e"):
        queue.add(key, urgent=True)
    assert len(queue) == 5
    assert [(await queue.get())[0] for _ in range(5)] == ["d", "a", "e", "b", "c"]


@virtual
async def test_what_becomes_urgent_while_it_runs_is_urgent_after_that() -> None:
    """A child that changes during the pass over its owner does not send the owner to the end of the line."""
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    for key in ("b", "c"):
        queue.add(key)
    queue.add("a", urgent=True)
    queue.done("a")
    assert (await queue.get())[0] == "a"


@virtual
async def test_failures_wait_longer_each_time_and_success_forgets_them() -> None:
    """Delays double up to their bound; after a success the first is short again."""
    queue: Queue[str] = Queue(limits=Limits(backoff=Backoff(shortest=1.0, longest=60.0), rate=1e9))
    delays = []
    for _ in range(10):
        queue.add("a")
        await queue.get()
        delays.append(queue.retry("a"))
        queue.done("a")
    for number, delay in enumerate(delays):
        full = min(2.0**number, 60.0)
        assert full / 2 <= delay <= full
    queue.forget("a")
    assert queue.retry("a") <= 1.0


@virtual
async def test_retries_of_all_keys_together_are_limited() -> None:
    """A dependency that is down sees a bounded rate, however many objects fail at once."""
    limits = Limits(backoff=Backoff(shortest=0.001, longest=0.001), rate=20.0, burst=100)
    queue: Queue[int] = Queue(limits=limits)
    for key in range(1100):
        queue.retry(key)
    got = 0
    while now() < 10.0:
        async with asyncio.timeout_at(10.0 + 1e-6):
            try:
                await queue.get()
            except asyncio.CancelledError:
                break
            got += 1
            if got > 290:
                break
    assert 290 <= got <= 302
    assert now() == pytest.approx((got - 100) / 20.0, abs=0.2)


@virtual
async def test_of_two_delays_the_shorter_counts_and_an_event_ends_both() -> None:
    """A requeue never puts off what is due sooner."""
    queue: Queue[str] = Queue()
    queue.add_after("a", 60.0)
    queue.add_after("a", 10.0)
    queue.add_after("a", 300.0)
    assert queue.delayed == 1
    await queue.get()
    assert now() == pytest.approx(10.0)
    queue.done("a")
    queue.add_after("a", 60.0)
    queue.add("a")
    await queue.get()
    assert now() == pytest.approx(10.0)
    assert queue.delayed == 0


@virtual
async def test_closing_ends_workers_and_waits_for_what_runs() -> None:
    """Nothing new is handed out, and the end comes when the running key is done."""
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add("b")
    await queue.get()
    queue.close()
    with pytest.raises(QueueClosedError):
        await queue.get()
    idle = asyncio.create_task(queue.wait_idle())
    await asyncio.sleep(5)
    assert not idle.done()
    queue.done("a")
    await idle
    queue.add("c")
    assert len(queue) == 0


@virtual
async def test_a_worker_that_is_cancelled_as_it_is_woken_loses_no_key() -> None:
    """The key goes to the next worker."""
    queue: Queue[str] = Queue()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    queue.add("a")
    first.cancel()
    key, _ = await second
    assert key == "a"


@settings(deadline=None)
@given(st.integers(1, 5), st.lists(st.tuples(st.integers(0, 3), st.floats(0, 20), st.booleans()), max_size=30))
@virtual
async def test_every_key_is_seen_after_its_last_event(workers: int, script: list[tuple[int, float, bool]]) -> None:
    """Whatever the order of events, failures and workers: no update is missed, and no key runs twice at once."""
    wanted: dict[int, int] = {}
    seen: dict[int, int] = {}
    failing: set[int] = set()
    running: set[int] = set()

    async def reconcile(key: Key) -> None:
        number = int(key.name)
        assert number not in running
        running.add(number)
        state = wanted[number]
        await asyncio.sleep(3)
        running.discard(number)
        if number in failing:
            failing.discard(number)
            raise StatorError(Problem(what="by script"))
        seen[number] = state

    broken: list[Outcome] = []
    controller = Controller(
        "script",
        reconcile,
        queue=Queue(limits=FAST, random=Random(1)),  # noqa: S311 # a test
        workers=workers,
        on_outcome=lambda outcome: broken.append(outcome) if isinstance(outcome.error, AssertionError) else None,
    )
    task = asyncio.create_task(controller.run())
    for state, (number, pause, fails) in enumerate(script):
        wanted[number] = state
        if fails:
            failing.add(number)
        controller.queue.add(Key("", str(number)))
        await asyncio.sleep(pause)
    await asyncio.sleep(3600)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert seen == wanted
    assert not broken


@virtual
async def test_shutdown_lets_running_reconciles_end_and_cancels_those_that_do_not() -> None:
    """Grace is bounded, and a second cancel means at once."""
    ended: list[str] = []

    async def reconcile(key: Key) -> None:
        await asyncio.sleep(5 if key.name == "quick" else 10_000)
        ended.append(key.name)

    for cancels, names, took in ((1, ["quick"], 20.0), (2, [], 1.0)):
        ended.clear()
        controller = Controller("graceful", reconcile, grace=20.0)
        task = asyncio.create_task(controller.run())
        for name in ("quick", "slow"):
            controller.queue.add(Key("", name))
        await asyncio.sleep(1)
        start = now()
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(1)
        await asyncio.gather(task, return_exceptions=True)
        assert ended == names
        assert now() - start == pytest.approx(max(took, cancels))
