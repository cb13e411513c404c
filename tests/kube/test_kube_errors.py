"""What a failed request says: what was asked for, why it failed and what to do, each once. Servers are real sockets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stator.kube.client import Client
from stator.kube.connection import connect
from stator.kube.errors import Request, UnreachableError, UntrustedError, from_status
from stator.kube.reasons import logged
from stator.kube.resources import POD
from stator.operator.certificates import advanced

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], "asyncio.Future[None]"]


async def _hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()
    writer.close()


async def _breaks_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
    await writer.drain()
    writer.close()


async def _talks_otherwise(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()
    writer.write(b"hello\r\n\r\n")
    await writer.drain()
    writer.close()


@asynccontextmanager
async def _client(directory: Path, server: str) -> AsyncIterator[Client]:
    file = directory / "kubeconfig"
    file.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "
        f'clusters: [{{name: c, cluster: {{server: "{server}"}}}}], users: [{{name: u, user: {{}}}}]}}'
    )
    async with connect(file) as client:
        yield client


@pytest.mark.parametrize(
    ("answer", "scheme", "why"),
    [
        (_hangs_up, "http", "the connection was closed before an answer"),
        (_breaks_off, "http", "the connection was closed within the answer"),
        (_talks_otherwise, "http", "the answer is no HTTP"),
        (_talks_otherwise, "https", "no connection to {server}: wrong version number"),
    ],
)
async def test_a_server_that_is_none_is_told_in_few_words(
    tmp_path: Path, answer: Answering, scheme: str, why: str
) -> None:
    """Whatever listens in its place, the reason names no exception of a library."""
    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    server = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening, _client(tmp_path, f"{scheme}://{server}") as client:
        with pytest.raises(UnreachableError) as caught:
            await client.list(POD, "bench")
    assert str(caught.value) == (
        f"cannot list Pod/bench: {why.format(server=server)}\n"
        "  do: see that the API server of the kubeconfig is up and reachable from here"
    )


async def test_a_server_that_is_not_there_is_told_with_its_address(tmp_path: Path) -> None:
    """What cannot be reached, where, and why, once each; a log line adds its own subject."""
    async with _client(tmp_path, "https://127.0.0.1:1") as client:
        with pytest.raises(UnreachableError) as caught:
            await client.get(POD, "web", "bench")
    [problem] = caught.value.problems
    assert problem.what == "cannot get Pod/bench/web"
    assert problem.why == "no connection to 127.0.0.1:1: connection refused"
    assert logged(caught.value) == {"reason": problem.why, "remedy": problem.remedy}


async def test_a_certificate_of_somebody_else_is_told(tmp_path: Path) -> None:
    """The usual kubeconfig of another cluster: the server is there, and is not the one that was meant."""
    serving = advanced(None, ("127.0.0.1",), datetime.now(UTC)).serving
    for name, content in (("certificate", serving.certificate), ("key", serving.key)):
        (tmp_path / name).write_bytes(content)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    listening = await asyncio.start_server(_hangs_up, "127.0.0.1", 0, ssl=tls)
    server = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening, _client(tmp_path, f"https://{server}") as client:
        with pytest.raises(UntrustedError) as caught:
            await client.get(POD, "web", "bench")
    [problem] = caught.value.problems
    assert "certificate-authority" in problem.remedy
    assert problem.why.startswith(f"the certificate of {server} is not trusted: ")
    assert "_ssl.c" not in problem.why


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('pods "web" not found', "not found"),
        ('pods "web" already exists', "already exists"),
        ('pods "web" is forbidden: exceeded quota: q', "exceeded quota: q"),
        ('pods is forbidden: User "eve" cannot list resource "pods"', 'User "eve" cannot list resource "pods"'),
        ('Pod "web" is invalid: spec.containers: Required value', "spec.containers: Required value"),
        ('Operation cannot be fulfilled on pods "web": the object has been modified', "the object has been modified"),
        ('admission webhook "a.b" denied the request: no', 'admission webhook "a.b" denied the request: no'),
        ("the server could not find the requested resource", "the server could not find the requested resource"),
    ],
)
def test_the_object_is_not_named_again_by_the_servers_message(said: str, told: str) -> None:
    """The request has named it; the rest of the server's words stays as it is."""
    error = from_status(Request("get", "Pod", "bench", "web"), 404, {"message": said})
    assert str(error) == f"cannot get Pod/bench/web: {told}"
