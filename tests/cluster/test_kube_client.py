"""The client against a real API server."""

from __future__ import annotations

import asyncio

import pytest

from stator.kube import resources
from stator.kube.client import Client
from stator.kube.errors import AlreadyExistsError, ConflictError, FieldConflictError, InvalidError, NotFoundError
from stator.kube.resources import CONFIG_MAP, DEPLOYMENT, Json, Kind


def config_map(namespace: str, name: str = "settings", **data: str) -> Json:
    """A ConfigMap with the given data."""
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def test_what_was_created_is_read_listed_and_deleted(client: Client, namespace: str) -> None:
    """A user's object goes through every verb and is gone at the end."""
    created = await client.create(CONFIG_MAP, config_map(namespace, a="1"))
    assert (await client.get(CONFIG_MAP, "settings", namespace))["data"] == {"a": "1"}
    await client.patch(CONFIG_MAP, "settings", namespace, {"data": {"b": "2"}})
    listed = await client.list(CONFIG_MAP, namespace, fields="metadata.name=settings")
    assert [each["data"] for each in listed.items] == [{"a": "1", "b": "2"}]
    await client.delete(CONFIG_MAP, "settings", namespace, uid=created["metadata"]["uid"])
    with pytest.raises(NotFoundError, match=f"cannot get ConfigMap/{namespace}/settings"):
        await client.get(CONFIG_MAP, "settings", namespace)


async def test_a_long_list_arrives_page_by_page_without_a_gap(client: Client, namespace: str) -> None:
    """No object is lost or doubled at the border of two pages."""
    await asyncio.gather(*(client.create(CONFIG_MAP, config_map(namespace, f"c{each:02}")) for each in range(23)))
    ours = "metadata.name!=kube-root-ca.crt"
    pages = [page async for page in client.pages(CONFIG_MAP, namespace, fields=ours, limit=5)]
    names = [each["metadata"]["name"] for page in pages for each in page.items]
    assert names == [f"c{each:02}" for each in range(23)]
    assert len(pages) > 1


async def test_a_deletion_meant_for_another_object_of_the_same_name_is_refused(client: Client, namespace: str) -> None:
    """An object that was deleted and made anew is not the one that was to be deleted."""
    await client.create(CONFIG_MAP, config_map(namespace))
    with pytest.raises(ConflictError):
        await client.delete(CONFIG_MAP, "settings", namespace, uid="another")


async def test_a_name_in_use_is_told_apart_from_a_change_in_between(client: Client, namespace: str) -> None:
    """Creating twice and replacing an old version are different errors."""
    old = await client.create(CONFIG_MAP, config_map(namespace))
    with pytest.raises(AlreadyExistsError):
        await client.create(CONFIG_MAP, config_map(namespace))
    await client.replace(CONFIG_MAP, {**old, "data": {"a": "1"}})
    with pytest.raises(ConflictError):
        await client.replace(CONFIG_MAP, {**old, "data": {"a": "2"}})


async def test_a_field_of_another_manager_is_named_with_its_owner(client: Client, namespace: str) -> None:
    """Who owns which field is in the error, so that a person can decide."""
    await client.apply(CONFIG_MAP, config_map(namespace, a="1"), manager="someone")
    with pytest.raises(FieldConflictError) as raised:
        await client.apply(CONFIG_MAP, config_map(namespace, a="2"))
    assert raised.value.conflicts == (("someone", ".data.a"),)
    assert (await client.get(CONFIG_MAP, "settings", namespace))["data"] == {"a": "1"}


async def test_a_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    """The server answers what would be, and keeps what is."""
    shown = await client.apply(CONFIG_MAP, config_map(namespace, a="1"), dry_run=True)
    assert shown["data"] == {"a": "1"}
    assert (await client.list(CONFIG_MAP, namespace, fields="metadata.name=settings")).items == []


async def test_a_refused_object_names_the_fields(client: Client, namespace: str) -> None:
    """Validation errors arrive with the path of each field."""
    with pytest.raises(InvalidError) as raised:
        await client.create(CONFIG_MAP, config_map(namespace, "Not_A_Name"))
    assert [field for field, _ in raised.value.causes] == ["metadata.name"]


async def test_a_kind_is_installed_when_the_server_serves_it(client: Client) -> None:
    """A missing custom resource is known before the first request for it."""
    unknown = Kind("example.test", "v1", "Thing", "things")
    assert await resources.installed(client, [CONFIG_MAP, DEPLOYMENT, unknown]) == {CONFIG_MAP, DEPLOYMENT}


async def test_a_watch_shows_what_happens_after_the_list(client: Client, namespace: str) -> None:
    """Creation, change and deletion arrive in order."""
    version = (await client.list(CONFIG_MAP, namespace)).resource_version
    watched = client.watch(CONFIG_MAP, version, namespace, fields="metadata.name=settings")
    await client.create(CONFIG_MAP, config_map(namespace))
    await client.patch(CONFIG_MAP, "settings", namespace, {"data": {"a": "1"}})
    await client.delete(CONFIG_MAP, "settings", namespace)
    seen = [(event.type, event.object.get("data")) async for event in _first(watched, 3)]
    assert seen == [("ADDED", None), ("MODIFIED", {"a": "1"}), ("DELETED", {"a": "1"})]


async def _first(events, count):  # noqa: ANN001, ANN202 # an async generator cut short
    async for event in events:
        yield event
        count -= 1
        if not count:
            await events.aclose()
            return
