"""Applying on a real API server: what changes, what does not, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from following import Changes, running

from stator.kube.apply import Applier, OwnershipConflictError
from stator.kube.client import Client
from stator.kube.errors import FieldConflictError
from stator.kube.informer import Informer, Scope
from stator.kube.resources import CONFIG_MAP, DEPLOYMENT, Json, Key, Kinds

KINDS = Kinds()


def deployment(namespace: str, **limits: str) -> Json:
    """A Deployment that leaves most to the server's defaults."""
    labels = {"app": "web"}
    container: dict[str, Any] = {
        "name": "main",
        "image": "example.test/web:1",
        "ports": [{"containerPort": 80, "name": "http"}],
        "env": [{"name": "B", "value": "1"}, {"name": "A", "value": "$(B)"}],
        "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
    }
    if limits:
        container["resources"] = {"limits": limits}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": "web", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "replicas": 0,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]},
            },
        },
    }


@pytest.fixture
def web(client: Client, namespace: str) -> Informer:
    """The cache of Deployments, with what we own of them."""
    return Informer(client, DEPLOYMENT, scope=Scope(namespace=namespace), manager="stator")


async def settled(changes: Changes, informer: Informer, key: Key, version: str) -> None:
    """Wait until the cache has seen a version."""
    await changes.until(lambda: int(getattr(informer.store.entry(key), "version", 0)) >= int(version))


async def test_what_the_server_fills_in_is_no_difference(client: Client, namespace: str, web: Informer) -> None:
    """After the first apply the same wish makes no request, also for a process that has just started."""
    changes, key, applier = Changes(web), Key(namespace, "web"), Applier(client, KINDS)
    async with running(web):
        applied = await applier.apply(deployment(namespace), None)
        assert applied.action == "created"
        await changes.until(lambda: key in web.store)
        again = await Applier(client, KINDS).apply(deployment(namespace), web.store.entry(key))
        assert again.action == "none"


async def test_values_the_server_writes_differently_cost_one_request(
    client: Client, namespace: str, web: Informer
) -> None:
    """`1000m` is kept as `1`: the server is asked once after a start, then no more, whatever others change."""
    changes, key = Changes(web), Key(namespace, "web")
    wanted = deployment(namespace, cpu="1000m", memory="1024Mi")
    async with running(web):
        await Applier(client, KINDS).apply(wanted, None)
        await changes.until(lambda: key in web.store)
        applier = Applier(client, KINDS)
        assert (await applier.apply(wanted, web.store.entry(key))).action == "unchanged"
        assert (await applier.apply(wanted, web.store.entry(key))).action == "none"
        patched = await client.patch(DEPLOYMENT, "web", namespace, {"metadata": {"annotations": {"by": "someone"}}})
        await settled(changes, web, key, patched["metadata"]["resourceVersion"])
        assert (await applier.apply(wanted, web.store.entry(key))).action == "none"


async def test_the_answer_of_an_apply_is_in_the_cache_at_once(client: Client, namespace: str, web: Informer) -> None:
    """What is read after an apply is what it made, and the same wish makes no request, in whatever form it is kept."""
    key, applier = Key(namespace, "web"), Applier(client, KINDS, informers={DEPLOYMENT: web})
    async with running(web):
        await web.synced.wait()
        for cpu, action in (("1000m", "created"), ("2000m", "changed")):
            wanted = deployment(namespace, cpu=cpu)
            applied = await applier.apply(wanted, web.store.entry(key))
            entry = web.store.entry(key)
            assert applied.live
            assert entry
            assert applied.action == action
            # A controller's own write may be there too.
            assert int(entry.version) >= int(applied.live["metadata"]["resourceVersion"])
            assert (await applier.apply(wanted, entry)).action == "none"


async def test_our_own_write_is_not_repeated_while_the_cache_is_behind(
    client: Client, namespace: str, web: Informer
) -> None:
    """A second pass right after a write sees the old object and still makes no request."""
    changes, key, applier = Changes(web), Key(namespace, "web"), Applier(client, KINDS)
    async with running(web):
        await applier.apply(deployment(namespace), None)
        await changes.until(lambda: key in web.store)
        old = web.store.entry(key)
        wanted = deployment(namespace)
        wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "example.test/web:2"
        assert (await applier.apply(wanted, old)).action == "changed"
        assert (await applier.apply(wanted, old)).action == "none"


async def test_a_field_that_is_wanted_no_more_is_removed(client: Client, namespace: str, web: Informer) -> None:
    """Leaving a field out gives it up, and others' fields stay."""
    changes, key, applier = Changes(web), Key(namespace, "web"), Applier(client, KINDS)
    async with running(web):
        await applier.apply(deployment(namespace, cpu="1"), None)
        await changes.until(lambda: key in web.store)
        await client.patch(DEPLOYMENT, "web", namespace, {"metadata": {"annotations": {"by": "someone"}}})
        applied = await applier.apply(deployment(namespace), web.store.entry(key))
    assert applied.live
    assert applied.live["spec"]["template"]["spec"]["containers"][0]["resources"] == {}
    assert applied.live["metadata"]["annotations"]["by"] == "someone"


async def test_a_field_taken_by_someone_else_is_told_and_not_taken_back(
    client: Client, namespace: str, web: Informer
) -> None:
    """Who forced a field keeps it; we say who it is."""
    changes, key, applier = Changes(web), Key(namespace, "web"), Applier(client, KINDS)
    async with running(web):
        await applier.apply(deployment(namespace), None)
        await changes.until(lambda: key in web.store)
        theirs = deployment(namespace)
        theirs["spec"]["replicas"] = 3
        forced = await client.apply(DEPLOYMENT, theirs, manager="someone", force=True)
        await settled(changes, web, key, forced["metadata"]["resourceVersion"])
        with pytest.raises(FieldConflictError) as raised:
            await applier.apply(deployment(namespace), web.store.entry(key))
    assert raised.value.conflicts == (("someone", ".spec.replicas"),)


async def test_an_object_of_someone_else_is_refused_before_any_request(client: Client, namespace: str) -> None:
    """Neither an object with another controller nor one without any that we never applied is touched."""
    informer = Informer(client, CONFIG_MAP, scope=Scope(namespace=namespace), manager="stator")
    changes, key = Changes(informer), Key(namespace, "settings")

    def owned(uid: str) -> Json:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": True}
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": namespace, "name": "settings", "ownerReferences": [owner]},
        }

    owner = await client.create(
        CONFIG_MAP,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": "owner"}},
    )
    async with running(informer):
        await client.create(CONFIG_MAP, owned(owner["metadata"]["uid"]))
        await changes.until(lambda: key in informer.store)
        with pytest.raises(OwnershipConflictError, match="controlled by the owner with uid"):
            await Applier(client, KINDS).apply(owned("another"), informer.store.entry(key))
        patched = await client.patch(CONFIG_MAP, "settings", namespace, {"metadata": {"ownerReferences": None}})
        await settled(changes, informer, key, patched["metadata"]["resourceVersion"])
        with pytest.raises(OwnershipConflictError, match="made by somebody else"):
            await Applier(client, KINDS).apply(owned("another"), informer.store.entry(key))
