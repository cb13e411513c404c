"""Definitions of another release are noticed, and what they would drop is named."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from stator.install.crds import custom_resource_definitions
from stator.kube.client import Client
from stator.kube.connection import Credentials
from stator.operator.definitions import missing_fields, outdated

WANTED = custom_resource_definitions(None)[0]
Json = dict[str, Any]


def schema(definition: Json, version: str) -> Json:
    """The whole schema of a version."""
    [found] = [item for item in definition["spec"]["versions"] if item["name"] == version]
    return dict(found["schema"]["openAPIV3Schema"])


def test_the_same_definition_lacks_nothing() -> None:
    """An installation of this release is not complained about."""
    assert missing_fields(WANTED, WANTED) == ()


def test_a_missing_version_is_named() -> None:
    """A cluster from before v1beta1."""
    live = deepcopy(WANTED)
    live["spec"]["versions"].pop()
    assert missing_fields(live, WANTED) == ("v1beta1",)


def test_a_missing_field_is_named_once_with_its_path() -> None:
    """Not also everything below it."""
    live = deepcopy(WANTED)
    components = schema(live, "v1beta1")["properties"]["spec"]["properties"]["components"]
    del components["items"]["properties"]["roles"]
    del schema(live, "v1beta1")["properties"]["status"]["properties"]["components"]["additionalProperties"][
        "properties"
    ]["repairs"]
    assert missing_fields(live, WANTED) == (
        "v1beta1 spec.components[].roles",
        "v1beta1 status.components[].repairs",
    )


@pytest.mark.parametrize("more", [{"x-kubernetes-preserve-unknown-fields": True, "properties": {}}])
def test_where_unknown_fields_are_kept_nothing_is_missing(more: Json) -> None:
    """A definition that takes anything drops nothing."""
    live = deepcopy(WANTED)
    schema(live, "v1beta1")["properties"]["spec"].clear()
    schema(live, "v1beta1")["properties"]["spec"] |= more
    assert missing_fields(live, WANTED) == ()


def test_fields_of_a_newer_release_are_no_matter() -> None:
    """An operator that is older than its definitions works with them."""
    live = deepcopy(WANTED)
    schema(live, "v1beta1")["properties"]["spec"]["properties"]["newer"] = {"type": "string"}
    assert missing_fields(live, WANTED) == ()


async def test_a_definition_that_may_not_be_read_asks_for_the_right() -> None:
    """Installing definitions again would not help an account that may not read them."""

    async def refuse(request: web.Request) -> web.Response:
        raise web.HTTPForbidden(text=json.dumps({"message": f"you may not get {request.path}", "reason": "Forbidden"}))

    application = web.Application()
    application.router.add_get("/{any:.*}", refuse)
    async with TestServer(application) as server, aiohttp.ClientSession() as session:
        client = Client(session, str(server.make_url("/")), Credentials(None))
        [problem] = await outdated(client, [WANTED])
    assert "cannot be compared" in problem.what
    assert problem.remedy.startswith("grant the verb")
