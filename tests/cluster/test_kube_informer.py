"""Informers that follow a real API server."""

from __future__ import annotations

from following import Changes, running

from stator.kube.client import Client
from stator.kube.informer import Informer, Scope
from stator.kube.resources import CONFIG_MAP, Json, Key


def config_map(namespace: str, name: str, owner: str = "", **data: str) -> Json:
    """A ConfigMap, owned if a uid is given."""
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner, "controller": True}
    metadata = {"namespace": namespace, "name": name, "ownerReferences": [reference] if owner else []}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def ours(namespace: str) -> Scope:
    """The ConfigMaps of a test."""
    return Scope(namespace=namespace, fields="metadata.name!=kube-root-ca.crt")


async def test_the_cache_has_what_was_there_and_follows_what_comes(client: Client, namespace: str) -> None:
    """Objects from before the start, new ones, changed ones and deleted ones are all known."""
    await client.create(CONFIG_MAP, config_map(namespace, "old", a="1"))
    informer = Informer(client, CONFIG_MAP, scope=ours(namespace))
    changes = Changes(informer)
    old, new = Key(namespace, "old"), Key(namespace, "new")
    async with running(informer):
        assert (informer.store.get(old) or {})["data"] == {"a": "1"}
        await client.create(CONFIG_MAP, config_map(namespace, "new"))
        await changes.until(lambda: new in informer.store)
        await client.patch(CONFIG_MAP, "old", namespace, {"data": {"a": "2"}})
        await changes.until(lambda: (informer.store.get(old) or {})["data"] == {"a": "2"})
        await client.delete(CONFIG_MAP, "old", namespace)
        await changes.until(lambda: old not in informer.store)
    assert changes.keys == [old, new, old, old]


async def test_children_are_found_by_the_uid_of_their_owner(client: Client, namespace: str) -> None:
    """The index follows a child that changes hands."""
    owner = await client.create(CONFIG_MAP, config_map(namespace, "owner"))
    uid = owner["metadata"]["uid"]
    informer = Informer(client, CONFIG_MAP, scope=ours(namespace))
    changes = Changes(informer)
    child = Key(namespace, "child")
    async with running(informer):
        await client.create(CONFIG_MAP, config_map(namespace, "child", uid))
        await changes.until(lambda: informer.store.find_keys("owner", uid) == [child])
        await client.patch(CONFIG_MAP, "child", namespace, {"metadata": {"ownerReferences": None}})
        await changes.until(lambda: informer.store.find_keys("owner", uid) == [])


async def test_a_change_nobody_reads_wakes_nobody(client: Client, namespace: str) -> None:
    """Only what the projection keeps counts as a change, and the version of the object is still current."""
    await client.create(CONFIG_MAP, config_map(namespace, "child", a="1"))

    def names_only(value: Json, _applied: Json) -> Json:
        return {"metadata": {name: value["metadata"][name] for name in ("namespace", "name", "uid")}}

    informer = Informer(client, CONFIG_MAP, scope=ours(namespace), project=names_only)
    changes = Changes(informer)
    async with running(informer):
        patched = await client.patch(CONFIG_MAP, "child", namespace, {"data": {"a": "2"}})
        await client.create(CONFIG_MAP, config_map(namespace, "last"))
        await changes.until(lambda: Key(namespace, "last") in informer.store)
    assert changes.keys == [Key(namespace, "child"), Key(namespace, "last")]
    entry = informer.store.entry(Key(namespace, "child"))
    assert entry
    assert entry.version == patched["metadata"]["resourceVersion"]
