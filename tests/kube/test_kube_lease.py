"""Who leads, on a clock that jumps. `tests/cluster/test_kube_lease.py` has the same on a real server."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, cast

import pytest
from virtual import now, virtual

from stator.kube.client import Client
from stator.kube.errors import ConflictError, NotFoundError, Request, UnreachableError
from stator.kube.lease import Election, LeaseLostError, Terms
from stator.kube.resources import Json, Key

LEASE = Key("default", "leader")
REQUEST = Request("update", "Lease")
TERMS = Terms()


class Leases:
    """One Lease with the server's optimistic locking. `down` makes a client's requests fail, `slow` delays them."""

    def __init__(self) -> None:
        self.lease: Json | None = None
        self.down: set[str] = set()
        self.slow: dict[str, float] = {}
        self._version = 0

    def client(self, name: str) -> Client:
        """The part of a client that an election uses."""
        return cast("Client", _Reached(self, name))

    def store(self, value: Json) -> Json:
        """Keep it under a new version."""
        self._version += 1
        self.lease = {**value, "metadata": {**value["metadata"], "uid": "1", "resourceVersion": str(self._version)}}
        return self.lease


class _Reached:
    def __init__(self, leases: Leases, name: str) -> None:
        self._leases = leases
        self._name = name

    async def get(self, *_: Any) -> Json:
        await self._reach()
        if self._leases.lease is None:
            raise NotFoundError(REQUEST, "no such lease")
        return self._leases.lease

    async def create(self, _: Any, value: Json) -> Json:
        await self._reach()
        if self._leases.lease is not None:
            raise ConflictError(REQUEST, "exists")
        return self._leases.store(value)

    async def replace(self, _: Any, value: Json) -> Json:
        await self._reach()
        current = self._leases.lease
        if current is None or current["metadata"]["resourceVersion"] != value["metadata"]["resourceVersion"]:
            raise ConflictError(REQUEST, "changed")
        return self._leases.store(value)

    async def _reach(self) -> None:
        await asyncio.sleep(self._leases.slow.get(self._name, 0.01))
        if self._name in self._leases.down:
            raise UnreachableError(REQUEST, "no route")


class Replica:
    """An election whose work notes when it ran; `stubborn` work takes that long to stop."""

    def __init__(self, leases: Leases, name: str, stubborn: float = 0.0, **given: Any) -> None:
        self.spans: list[tuple[float, float]] = []
        self.heard: list[str] = []
        self.election = Election(
            leases.client(name),
            LEASE,
            identity=name,
            terms=TERMS,
            random=Random(name),  # noqa: S311 # a test
            on_leader=self.heard.append,
            **given,
        )
        self._stubborn = stubborn
        self.task = asyncio.create_task(self.election.run(self.work))

    async def work(self) -> None:
        """What only a leader does."""
        start = now()
        try:
            await asyncio.sleep(1e9)
        except asyncio.CancelledError:
            await asyncio.sleep(self._stubborn)
            raise
        finally:
            self.spans.append((start, now()))

    async def end(self) -> BaseException | None:
        """End it in order; what its run ended with."""
        self.task.cancel()
        [outcome] = await asyncio.gather(self.task, return_exceptions=True)
        return outcome


async def two(**given: Any) -> tuple[Leases, Replica, Replica]:
    """Two replicas of which `a` leads."""
    leases = Leases()
    a = Replica(leases, "a", **given)
    await asyncio.sleep(1)
    b = Replica(leases, "b")
    await asyncio.sleep(60)
    assert a.election.is_leader
    assert not b.election.is_leader
    return leases, a, b


@virtual
async def test_one_leads_and_both_say_who() -> None:
    """The second waits for as long as the first renews."""
    _, a, b = await two()
    assert (a.heard, b.heard) == (["a"], ["a"])
    await asyncio.sleep(86_400)
    await a.end()
    await b.end()
    assert len(a.spans) == 1
    assert b.spans == []


@virtual
async def test_a_leader_that_leaves_in_order_is_followed_at_once() -> None:
    """The lease is given back after the work has ended, not before."""
    _, a, b = await two(stubborn=60.0)
    left = now()
    await a.end()
    await asyncio.sleep(10)
    await b.end()
    assert a.spans[0][1] == pytest.approx(left + 60.0)
    assert a.spans[0][1] <= b.spans[0][0] <= left + 60.0 + 5.0


@virtual
async def test_a_leader_that_dies_is_followed_when_its_lease_has_run_out() -> None:
    """A replica whose requests stop, and that never gives the lease back."""
    leases, a, b = await two()
    died = now()
    leases.down.add("a")
    await asyncio.sleep(60)
    assert isinstance(await a.end(), LeaseLostError)
    await b.end()
    assert died + TERMS.duration - TERMS.retry <= b.spans[0][0] <= died + TERMS.duration + 3 * TERMS.retry


@pytest.mark.parametrize("stubborn", [0.0, 3.0, 1e6])
@virtual
async def test_a_leader_that_is_cut_off_stops_before_another_starts(stubborn: float) -> None:
    """Also when its work does not want to stop: two never work at once."""
    leases, a, b = await two(stubborn=stubborn)
    leases.down.add("a")
    with pytest.raises(LeaseLostError, match="could not be renewed for 10 seconds"):
        await a.task
    await asyncio.sleep(60)
    await b.end()
    assert a.spans[0][1] <= b.spans[0][0]
    assert a.heard == ["a", ""]


@virtual
async def test_a_server_that_does_not_answer_is_no_reason_to_go_on_working() -> None:
    """A hanging request counts as a failed one."""
    leases, a, b = await two()
    leases.slow["a"] = 1e6
    with pytest.raises(LeaseLostError):
        await a.task
    await asyncio.sleep(60)
    await b.end()
    assert a.spans[0][1] <= b.spans[0][0]


@virtual
async def test_a_short_outage_is_survived() -> None:
    """Renewing may fail for less than its time."""
    leases, a, b = await two()
    for _ in range(20):
        leases.down |= {"a", "b"}
        await asyncio.sleep(6)
        leases.down.clear()
        await asyncio.sleep(10)
    assert a.election.is_leader
    await a.end()
    await b.end()
    assert len(a.spans) == 1


@virtual
async def test_a_lease_that_another_took_stops_the_work_at_once() -> None:
    """Somebody who edits the lease decides who leads, and the loser names the winner."""
    leases, a, b = await two()
    assert leases.lease
    leases.store({**leases.lease, "spec": {**leases.lease["spec"], "holderIdentity": "somebody"}})
    with pytest.raises(LeaseLostError, match="somebody has taken it"):
        await a.task
    assert a.heard == ["a", "somebody"]
    await b.end()


@virtual
async def test_a_lease_that_was_deleted_is_made_again() -> None:
    """The leader goes on."""
    leases, a, b = await two()
    leases.lease = None
    await asyncio.sleep(60)
    assert leases.lease
    assert len([each for each in (a, b) if each.election.is_leader]) == 1
    await a.end()
    await b.end()


@pytest.mark.parametrize("hours", [-24, 24])
@virtual
async def test_a_wall_clock_that_steps_changes_no_leader(hours: int) -> None:
    """Times in the lease are for people; who leads is decided by how long it has not changed."""
    wall = [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)]
    leases, a, b = await two(now=lambda: wall[0])
    wall[0] += dt.timedelta(hours=hours)
    await asyncio.sleep(600)
    assert a.election.is_leader
    assert leases.lease
    assert leases.lease["spec"]["leaseTransitions"] == 0
    await a.end()
    await b.end()


@virtual
async def test_work_that_ends_or_fails_gives_the_lease_back() -> None:
    """What work raises is raised."""

    async def fails() -> None:
        await asyncio.sleep(5)
        raise OSError("by script")

    async def ends() -> None:
        await asyncio.sleep(5)

    leases = Leases()
    works: list[tuple[Callable[[], Any], Callable[[Awaitable[None]], Awaitable[None]]]] = []
    works += [(ends, _ended), (fails, _failed)]
    for work, outcome in works:
        await outcome(Election(leases.client("a"), LEASE, identity="a").run(work))
        assert leases.lease
        assert leases.lease["spec"]["holderIdentity"] == ""


async def _ended(running: Awaitable[None]) -> None:
    await running


async def _failed(running: Awaitable[None]) -> None:
    with pytest.raises(OSError, match="by script"):
        await running
