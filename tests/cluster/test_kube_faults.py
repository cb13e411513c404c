"""Clients, caches and writes while the way to the API server, or the server itself, misbehaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import proxy as faults
import pytest
from following import Changes, running
from proxy import Fault, Proxy, lists, watches, writes

from stator.kube import client as client_module
from stator.kube.apply import Applier
from stator.kube.client import Client
from stator.kube.controller import Controller, Outcome
from stator.kube.errors import ConflictError, ServerError, TooManyRequestsError, UnreachableError
from stator.kube.informer import Informer, Scope
from stator.kube.queue import Limits, Queue
from stator.kube.resources import CONFIG_MAP, Json, Key, Kinds

KINDS = Kinds()
OURS = "metadata.name!=kube-root-ca.crt"


def config_map(namespace: str, name: str = "settings", **data: str) -> Json:
    """A ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name},
        "data": data,
    }


@asynccontextmanager
async def following(faulty: Client, namespace: str, silence: float = 60.0) -> AsyncIterator[tuple[Informer, Changes]]:
    """An informer of ConfigMaps behind the proxy, in sync."""
    informer = Informer(faulty, CONFIG_MAP, scope=Scope(namespace=namespace, fields=OURS), silence=silence)
    changes = Changes(informer)
    async with running(informer):
        yield informer, changes


def names(informer: Informer) -> list[str]:
    """What the cache has."""
    return [key.name for key in sorted(informer.store)]


@pytest.mark.parametrize(
    "fault",
    [
        faults.cut(after=1),
        faults.expire(after=1),
        faults.swap(number=1),
    ],
    ids=["a connection that breaks", "410 in the stream", "events in the wrong order"],
)
async def test_a_watch_that_goes_wrong_is_made_up_for(
    client: Client, faulty: Client, proxy: Proxy, namespace: str, fault: Fault
) -> None:
    """Whatever ends a watch, the cache comes to what the server has, deletions included."""
    await client.create(CONFIG_MAP, config_map(namespace, "old"))
    proxy.on(watches("configmaps"), fault)
    async with following(faulty, namespace) as (informer, changes):
        await client.create(CONFIG_MAP, config_map(namespace, "a"))
        await client.delete(CONFIG_MAP, "old", namespace)
        await client.create(CONFIG_MAP, config_map(namespace, "b"))
        await changes.until(lambda: names(informer) == ["a", "b"])
        assert proxy.spent
        assert len([each for each in proxy.seen if "watch" not in each]) == 2


@pytest.mark.parametrize(
    "fault",
    [
        faults.answer(410, "Expired"),
        faults.answer(429, "TooManyRequests"),
        faults.answer(500, "InternalError"),
        faults.answer(401, "Unauthorized"),
    ],
    ids=["410", "429", "500", "401"],
)
@pytest.mark.parametrize("what", [watches, lists])
async def test_a_refused_list_or_watch_is_tried_again(
    client: Client, faulty: Client, proxy: Proxy, namespace: str, fault: Fault, what: object
) -> None:
    """An informer gets in sync and follows although its first request of a kind is refused."""
    await client.create(CONFIG_MAP, config_map(namespace, "a"))
    proxy.on(what("configmaps"), fault)  # type: ignore[operator] # one of the two above
    async with following(faulty, namespace) as (informer, changes):
        await client.create(CONFIG_MAP, config_map(namespace, "b"))
        await changes.until(lambda: names(informer) == ["a", "b"])
        assert proxy.spent


async def test_a_list_that_expires_between_pages_is_read_in_one(
    client: Client, faulty: Client, proxy: Proxy, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that compacts faster than pages are read does not keep a cache from getting in sync."""
    monkeypatch.setattr(client_module.Client.pages, "__kwdefaults__", {"labels": "", "fields": "", "limit": 1})
    for name in "abc":
        await client.create(CONFIG_MAP, config_map(namespace, name))
    proxy.on(lambda request: "continue" in request.query, faults.answer(410, "Expired"))
    async with following(faulty, namespace) as (informer, _):
        assert proxy.spent
        assert names(informer) == ["a", "b", "c"]


async def test_a_half_open_watch_is_noticed_by_its_silence(
    client: Client, faulty: Client, proxy: Proxy, namespace: str
) -> None:
    """A connection that is open and dead is given up, and what it hid is listed."""
    proxy.on(watches("configmaps"), faults.silence(after=1))
    async with following(faulty, namespace, silence=1.0) as (informer, changes):
        await client.create(CONFIG_MAP, config_map(namespace, "a"))
        await changes.until(lambda: names(informer) == ["a"])
        await client.create(CONFIG_MAP, config_map(namespace, "b"))
        await changes.until(lambda: names(informer) == ["a", "b"])


async def test_a_lost_event_is_made_up_for_when_the_watch_ends(
    client: Client, faulty: Client, proxy: Proxy, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each watch ends after a while and is followed by a list, which knows what an event has hidden."""
    monkeypatch.setattr("stator.kube.informer.WATCH_SECONDS", (3, 3))
    proxy.on(watches("configmaps"), faults.drop(number=1))
    async with following(faulty, namespace) as (informer, changes):
        await client.create(CONFIG_MAP, config_map(namespace, "lost"))
        await client.create(CONFIG_MAP, config_map(namespace, "seen"))
        await changes.until(lambda: "seen" in names(informer))
        assert names(informer) == ["seen"]
        await changes.until(lambda: names(informer) == ["lost", "seen"])


async def test_events_that_come_twice_wake_once(client: Client, faulty: Client, proxy: Proxy, namespace: str) -> None:
    """A duplicate is no change, and no reason to list anew."""
    proxy.on(watches("configmaps"), faults.duplicate())
    async with following(faulty, namespace) as (informer, changes):
        await client.create(CONFIG_MAP, config_map(namespace, "a"))
        await client.delete(CONFIG_MAP, "a", namespace)
        await client.create(CONFIG_MAP, config_map(namespace, "b"))
        await changes.until(lambda: names(informer) == ["b"])
        assert [key.name for key in changes.keys] == ["a", "a", "b"]
        assert len([each for each in proxy.seen if "watch" not in each]) == 1


async def test_a_server_that_asks_to_come_back_is_left_alone_that_long(
    faulty: Client, proxy: Proxy, namespace: str
) -> None:
    """429 with Retry-After is repeated after that time and not before, and the caller notices nothing."""
    proxy.on(writes("configmaps"), faults.answer(429, "TooManyRequests", **{"Retry-After": "1"}))
    clock = asyncio.get_running_loop().time
    start = clock()
    await faulty.create(CONFIG_MAP, config_map(namespace, a="1"))
    assert clock() - start >= 1.0
    assert (await faulty.get(CONFIG_MAP, "settings", namespace))["data"] == {"a": "1"}


async def test_a_refusal_without_a_time_is_the_callers_to_repeat(faulty: Client, proxy: Proxy, namespace: str) -> None:
    """429 and 500 without Retry-After are errors at once: the queue knows better when to try again."""
    proxy.on(writes("configmaps"), faults.answer(429, "TooManyRequests"))
    proxy.on(writes("configmaps"), faults.answer(500, "InternalError"))
    with pytest.raises(TooManyRequestsError):
        await faulty.create(CONFIG_MAP, config_map(namespace))
    with pytest.raises(ServerError, match="cannot create ConfigMap"):
        await faulty.create(CONFIG_MAP, config_map(namespace))


async def test_a_server_that_never_answers_is_given_up(
    faulty: Client, proxy: Proxy, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request has an end, and the error says that none came."""
    monkeypatch.setattr(client_module, "REQUEST_TIMEOUT", 0.5)
    proxy.on(writes("configmaps"), faults.hang())
    with pytest.raises(UnreachableError, match="no answer in time"):
        await faulty.create(CONFIG_MAP, config_map(namespace))


async def test_an_apply_whose_answer_was_lost_is_no_second_write(faulty: Client, proxy: Proxy, namespace: str) -> None:
    """The write was done although its answer never came: repeating it changes nothing on the server."""
    informer = Informer(faulty, CONFIG_MAP, scope=Scope(namespace=namespace, fields=OURS), manager="stator")
    changes, key, applier = Changes(informer), Key(namespace, "settings"), Applier(faulty, KINDS)
    wanted = config_map(namespace, a="1")
    async with running(informer):
        proxy.on(writes("configmaps"), faults.lose_answer())
        with pytest.raises(UnreachableError):
            await applier.apply(wanted, None)
        await changes.until(lambda: key in informer.store)
        entry = informer.store.entry(key)
        again = await Applier(faulty, KINDS).apply(wanted, None)
        assert again.live
        assert entry
        assert again.live["metadata"]["resourceVersion"] == entry.version
        assert (await applier.apply(wanted, entry)).action == "none"


@pytest.mark.parametrize(
    "fault",
    [
        faults.answer(409, "Conflict"),
        faults.answer(429, "TooManyRequests"),
        faults.answer(500, "InternalError"),
        faults.answer(504, "Timeout"),
        faults.lose_answer(),
    ],
    ids=["409", "429", "500", "504", "lost answer"],
)
async def test_a_failed_reconcile_comes_back_until_it_is_done(
    faulty: Client, proxy: Proxy, namespace: str, fault: Fault
) -> None:
    """Three failures in a row of any kind end in the wanted object, and hold up no other key."""
    applier, done = Applier(faulty, KINDS), asyncio.Event()
    outcomes: list[Outcome] = []

    async def reconcile(key: Key) -> None:
        await applier.apply(config_map(*key, a="1"), None)

    def note(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if len([each for each in outcomes if each.error is None]) == 2:
            done.set()

    queue: Queue[Key] = Queue(limits=Limits(rate=1000.0))
    controller = Controller("settings", reconcile, queue=queue, workers=2, grace=1.0, on_outcome=note)
    proxy.on(lambda request: request.path.endswith("/broken"), fault, times=3)
    working = asyncio.create_task(controller.run())
    try:
        queue.add(Key(namespace, "broken"))
        queue.add(Key(namespace, "other"))
        async with asyncio.timeout(30):
            await done.wait()
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    assert [each.key.name for each in outcomes if each.error is None] == ["other", "broken"]
    assert len([each for each in outcomes if each.error]) == 3
    assert (await faulty.get(CONFIG_MAP, "broken", namespace))["data"] == {"a": "1"}


async def test_a_replace_whose_answer_was_lost_is_not_done_twice(faulty: Client, proxy: Proxy, namespace: str) -> None:
    """Its version has passed: repeating it, which the HTTP library does for a PUT on an old connection, conflicts."""
    old = await faulty.create(CONFIG_MAP, config_map(namespace))
    proxy.on(writes("configmaps"), faults.lose_answer())
    with pytest.raises((UnreachableError, ConflictError)):
        await faulty.replace(CONFIG_MAP, {**old, "data": {"a": "1"}})
    with pytest.raises(ConflictError):
        await faulty.replace(CONFIG_MAP, {**old, "data": {"a": "2"}})
    assert (await faulty.get(CONFIG_MAP, "settings", namespace))["data"] == {"a": "1"}
