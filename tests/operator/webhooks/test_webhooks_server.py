"""The webhook server as a client meets it that is no API server: what it takes, refuses, and never gives away."""

from __future__ import annotations

import io
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from stator.operator.certificates import advanced
from stator.operator.webhooks.server import LARGEST_ADMISSION, webhook_server
from stator.operator.webhooks.trust import server_context
from stator.operator.webhooks.validation import Policy

Json = dict[str, Any]


class Client:
    """A client that trusts the server."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self.session = session
        self.base = base

    async def post(self, path: str, body: bytes, kind: str = "application/json") -> tuple[int, str]:
        """Status and text of an answer."""
        async with self.session.post(self.base + path, data=body, headers={"Content-Type": kind}) as response:
            return response.status, await response.text()


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A server on loopback and a client for it."""
    certificates = advanced(None, ("127.0.0.1",), datetime.now(UTC))
    pem = tmp_path / "pair.pem"
    pem.write_bytes(certificates.serving.certificate + certificates.serving.key)
    tls = server_context()
    tls.load_cert_chain(pem)
    trusting = ssl.create_default_context(cadata=certificates.authorities.decode())
    connector = aiohttp.TCPConnector(ssl=trusting)
    async with (
        webhook_server(Policy, tls, host="127.0.0.1", port=0) as port,
        aiohttp.ClientSession(connector=connector) as session,
    ):
        yield Client(session, f"https://127.0.0.1:{port}")


def admission(value: str) -> bytes:
    """An admission question about an object given as JSON text."""
    kind = '{"group":"nvidia.com","version":"v1beta1","kind":"DynamoGraphDeployment"}'
    return f'{{"request":{{"uid":"u","kind":{kind},"operation":"CREATE","name":"g","object":{value}}}}}'.encode()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"request":{}}', b'{"request":{"uid":1}}', b"\xff"])
@pytest.mark.parametrize("path", ["/default", "/validate", "/convert"])
async def test_what_is_no_question_is_a_bad_request(client: Client, path: str, body: bytes) -> None:
    """Whatever is sent, the answer says what was wrong with it and the server lives on."""
    status, text = await client.post(path, body)
    assert status == 400
    assert "this is no" in text


async def test_only_json_is_taken(client: Client) -> None:
    """A browser's form is none."""
    status, _ = await client.post("/validate", b"{}", kind="text/plain")
    assert status == 415


@pytest.mark.parametrize("chunked", [False, True])
async def test_bodies_are_bounded(client: Client, chunked: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    """Said beforehand or found on the way, a body that is too large is refused before it is all in memory."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(LARGEST_ADMISSION // (1 << 20) + 1):
            yield b" " * (1 << 20)

    body = pieces() if chunked else io.BytesIO(b" " * (LARGEST_ADMISSION + 1))
    headers = {"Content-Type": "application/json"}
    try:
        async with client.session.post(f"{client.base}/validate", data=body, headers=headers) as response:
            assert response.status == 413
    except aiohttp.ClientError:
        pass  # the server may hang up while the client still sends
    status, _ = await client.post("/validate", b"{}")
    assert status == 400


async def test_only_questions_are_answered(client: Client) -> None:
    """There is nothing to GET, and no other path."""
    async with client.session.get(f"{client.base}/validate") as response:
        assert response.status == 405
    status, _ = await client.post("/", b"{}")
    assert status == 404


async def test_plain_http_is_not_spoken(client: Client) -> None:
    """TLS or nothing."""
    with pytest.raises(aiohttp.ClientError):
        await client.session.get(client.base.replace("https", "http") + "/validate")


@pytest.mark.parametrize(
    "value",
    [
        '{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeployment"}',
        '{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeployment","metadata":{"name":"g"},"spec":7}',
        '{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeployment","metadata":{"name":"g"},"spec":{"components":[null]}}',
    ],
)
async def test_an_object_of_any_shape_is_refused_and_not_failed_on(client: Client, value: str) -> None:
    """An API server checks types after the webhook of another installation may have broken them."""
    status, text = await client.post("/validate", admission(value))
    assert status == 200
    assert '"allowed":false' in text


async def test_a_refusal_shows_no_value_of_a_variable(client: Client) -> None:
    """A token in a variable of a wrong type is not repeated in the answer, which may be logged anywhere."""
    value = (
        '{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeployment","metadata":{"name":"g"},'
        '"spec":{"components":[{"name":"a"}],"env":[{"name":"TOKEN","value":48151623}]}}'
    )
    _, text = await client.post("/validate", admission(value))
    assert "spec.env[0].value" in text
    assert "48151623" not in text


async def test_objects_that_cannot_be_converted_are_named(client: Client) -> None:
    """One broken object in storage is found by name."""
    objects = (
        '[{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"odd"},'
        '"spec":{"services":7}}]'
    )
    body = f'{{"request":{{"uid":"u","desiredAPIVersion":"nvidia.com/v1beta1","objects":{objects}}}}}'
    status, text = await client.post("/convert", body.encode())
    assert status == 200
    assert '"Failure"' in text
    assert "DynamoGraphDeployment/odd" in text


async def test_large_numbers_survive_conversion(client: Client) -> None:
    """An integer beyond 64 bits in somebody's raw object is the same after it."""
    objects = (
        '[{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeployment","metadata":{"name":"g"},'
        '"spec":{"components":[{"name":"a","eppConfig":{"config":{"n":18446744073709551617}}}]}}]'
    )
    body = f'{{"request":{{"uid":"u","desiredAPIVersion":"nvidia.com/v1alpha1","objects":{objects}}}}}'
    _, text = await client.post("/convert", body.encode())
    assert "18446744073709551617" in text
