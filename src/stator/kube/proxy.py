"""A request to a Service of the cluster, passed on by the API server to one of its ready pods.

The server copies what comes as it comes, so that a stream stays one, and a response that is cut short arrives cut
short (Kubernetes documentation, "Manually constructing apiserver proxy URLs"). It answers itself with 503 when no pod
of the Service is ready. What the other side does is a value here, never an exception.
"""

from __future__ import annotations

import asyncio

import aiohttp
from msgspec import Struct

from stator.errors import StatorError
from stator.kube.client import CONNECT_TIMEOUT, Client
from stator.kube.reasons import reason_of
from stator.kube.resources import SERVICE

_CHUNK = 64 * 1024


class Answer(Struct, frozen=True, kw_only=True):
    """What came back. `error` says why it is not complete; `body` holds what had come until then.

    `status` is 0 if it is not complete. `first` and `seconds` are from the request to the first and the last byte of
    the body.
    """

    status: int = 0
    content_type: str = ""
    body: bytes = b""
    error: str = ""
    first: float = 0
    seconds: float = 0


def service_path(namespace: str, service: str, port: str, path: str) -> str:
    """Where the API server passes on `path` of a Service's port, given by its number or its name."""
    return f"{SERVICE.path(namespace, f'{service}:{port}', 'proxy')}{path}"


async def ask(client: Client, method: str, path: str, body: bytes = b"", *, timeout: float, longest: int) -> Answer:  # noqa: ASYNC109 (reading until then is the point)
    """Send a request to a path of `service_path` and read all of the response.

    `timeout` is in seconds for the whole of it; a body of more than `longest` bytes is not read further.
    """
    clock = asyncio.get_running_loop().time
    began, first = clock(), 0.0
    received = bytearray()
    content_type, status, error = "", 0, ""
    try:
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_TIMEOUT)
        async with await client.passed_on(method, path, body, limits) as response:
            content_type = response.headers.get("Content-Type", "")
            async for chunk in response.content.iter_chunked(_CHUNK):
                first = first or clock() - began
                received += chunk
                if len(received) > longest:
                    raise aiohttp.ClientPayloadError(f"the response is longer than {longest} bytes")
            status = response.status
    except (aiohttp.ClientError, TimeoutError, OSError) as problem:
        error = reason_of(problem)
    except StatorError as problem:
        error = str(problem)
    return Answer(
        status=status,
        content_type=content_type,
        body=bytes(received),
        error=error,
        first=first,
        seconds=clock() - began,
    )
