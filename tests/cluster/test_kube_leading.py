"""Election, events and health on a real API server."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt

import proxy as faults
import pytest
from following import running
from proxy import Proxy, writes

from stator.kube.client import Client
from stator.kube.events import BURST, Recorder
from stator.kube.health import Health
from stator.kube.informer import Informer, Scope
from stator.kube.lease import Election, LeaseLostError, Terms
from stator.kube.resources import CONFIG_MAP, EVENT, LEASE, Json, Key, Kind

QUICK = Terms(duration=2, renew_within=1.0, retry=0.2)
WITHIN = 20.0


@dataclasses.dataclass(frozen=True)
class Happened:
    """An event to be told."""

    type: str = "Warning"
    reason: str = "Broken"
    message: str = "it broke"


class Replica:
    """An election, and whether its work runs."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self.leads = asyncio.Event()
        self.election = Election(client, Key(namespace, "leader"), identity=name, terms=QUICK)
        self.task = asyncio.create_task(self.election.run(self._work))

    async def _work(self) -> None:
        self.leads.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.leads.clear()

    async def end(self) -> None:
        """End it in order."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_a_replica_takes_over_from_one_that_leaves(client: Client, namespace: str) -> None:
    """One works at a time, the lease says which, and `kubectl get lease` shows it."""
    a = Replica(client, namespace, "a")
    async with asyncio.timeout(WITHIN):
        await a.leads.wait()
        b = Replica(client, namespace, "b")
        await asyncio.sleep(2 * QUICK.retry)
        assert not b.leads.is_set()
        assert b.election.leader == "a"
        await a.end()
        await b.leads.wait()
        lease = await client.get(LEASE, "leader", namespace)
        await b.end()
    assert lease["spec"]["holderIdentity"] == "b"
    assert (await client.get(LEASE, "leader", namespace))["spec"]["holderIdentity"] in ("", None)


async def test_a_replica_that_cannot_renew_stops_and_another_works(
    client: Client, faulty: Client, proxy: Proxy, namespace: str
) -> None:
    """A leader behind a proxy that swallows its renewals."""
    cut_off = Replica(faulty, namespace, "cut-off")
    async with asyncio.timeout(WITHIN):
        await cut_off.leads.wait()
        other = Replica(client, namespace, "other")
        proxy.on(writes("leases"), faults.hang(), times=1000)
        with pytest.raises(LeaseLostError):
            await cut_off.task
        assert not other.leads.is_set()
        await other.leads.wait()
        await other.end()


@pytest.mark.parametrize(
    "fault", [faults.answer(409, "Conflict"), faults.lose_answer(), faults.answer(500, "Internal")]
)
async def test_a_renewal_that_fails_once_is_no_loss(
    faulty: Client, proxy: Proxy, namespace: str, fault: faults.Fault
) -> None:
    """A conflict, a lost answer or an error is looked into, and the leader goes on."""
    replica = Replica(faulty, namespace, "a")
    async with asyncio.timeout(WITHIN):
        await replica.leads.wait()
        proxy.on(writes("leases"), fault)
        await asyncio.sleep(2 * QUICK.renew_within)
    assert proxy.spent
    assert replica.leads.is_set()
    await replica.end()


@pytest.fixture
async def subject(client: Client, namespace: str) -> Json:
    """An object to tell of."""
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": "settings"}}
    return await client.create(CONFIG_MAP, value)


async def test_what_happens_again_is_counted_in_one_event(client: Client, namespace: str, subject: Json) -> None:
    """`kubectl describe` shows one line with a count, for the object it is about."""
    recorder = Recorder(client, "stator.dev/operator", instance="here")
    for _ in range(3):
        await recorder.record(subject, Happened())
    await recorder.record(subject, Happened(reason="Repaired", type="Normal"))
    events = {each["reason"]: each for each in (await client.list(EVENT, namespace)).items}
    assert sorted(events) == ["Broken", "Repaired"]
    assert events["Broken"]["series"]["count"] == 3
    assert "series" not in events["Repaired"]
    assert events["Broken"]["regarding"]["uid"] == subject["metadata"]["uid"]
    assert events["Broken"]["note"] == "it broke"


async def test_an_event_that_was_deleted_is_told_anew(client: Client, namespace: str, subject: Json) -> None:
    """Events live for an hour; a count in one that is gone would be lost."""
    recorder = Recorder(client, "stator.dev/operator")
    await recorder.record(subject, Happened())
    [event] = (await client.list(EVENT, namespace)).items
    await client.delete(EVENT, event["metadata"]["name"], namespace)
    await recorder.record(subject, Happened())
    assert len((await client.list(EVENT, namespace)).items) == 1


async def test_an_object_that_never_stops_changing_does_not_flood(
    client: Client, namespace: str, subject: Json
) -> None:
    """Messages that always differ use up the object's share."""
    recorder = Recorder(client, "stator.dev/operator")
    for number in range(BURST + 10):
        await recorder.record(subject, Happened(message=f"attempt {number}"))
    assert len((await client.list(EVENT, namespace)).items) == BURST


async def test_a_long_message_is_cut_to_what_the_server_takes(client: Client, namespace: str, subject: Json) -> None:
    """By bytes, and not within a character."""
    await Recorder(client, "stator.dev/operator").record(subject, Happened(message="é" * 2000))
    [event] = (await client.list(EVENT, namespace)).items
    assert event["note"] == "é" * 510 + "…"


async def test_an_event_that_cannot_be_written_fails_nothing(
    faulty: Client, client: Client, proxy: Proxy, namespace: str, subject: Json
) -> None:
    """A courtesy is no reason to repeat a reconcile; the next event is told."""
    recorder = Recorder(faulty, "stator.dev/operator", now=lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    proxy.on(writes("events"), faults.answer(403, "Forbidden"))
    await recorder.record(subject, Happened())
    await recorder.record(subject, Happened(reason="Repaired"))
    [event] = (await client.list(EVENT, namespace)).items
    assert event["reason"] == "Repaired"


async def test_one_kind_that_cannot_be_listed_is_named_and_kills_nothing(client: Client, namespace: str) -> None:
    """The probes tell a missing definition from a dead process."""
    scope = Scope(namespace=namespace)
    good, missing = Informer(client, CONFIG_MAP, scope=scope), Informer(client, Kind("x.test", "v1", "X", "xs"))
    health = Health([good, missing], dead_after=60.0)
    assert health.why_not_ready() == "not listed yet: configmaps, xs.x.test"
    task = asyncio.create_task(missing.run())
    async with running(good):
        assert health.why_not_ready() == "not listed yet: xs.x.test"
        assert health.why_dead() == ""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert "no watch is alive" in Health([missing], dead_after=0.0).why_dead()
