"""One request to a graph and what came back, raw: the evidence that checks judge and reports show.

Nothing is interpreted here. The body of a response is kept as it came, so that a check can be strict about its form,
and a failure can be shown to whoever owns the runtime.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from typing import Any

import msgspec

OK = 200

# No response of a check is longer; one that is (a stream that never ends) must not fill the memory.
LONGEST_BODY = 4 * 1024 * 1024
_CHUNK = 64 * 1024


class Request(msgspec.Struct, frozen=True):
    """What to send. `body` is JSON text, empty for a GET."""

    path: str
    body: str = ""

    @staticmethod
    def post(path: str, body: Any) -> Request:
        """A POST of `body` as JSON."""
        return Request(path, msgspec.json.encode(body).decode())

    @property
    def method(self) -> str:
        """GET without a body, else POST."""
        return "POST" if self.body else "GET"


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request and its raw response.

    `status` is 0 if there was no complete HTTP response: `error` then says why, and `body` holds what had come until
    then. `content_type` is the header's value. `seconds` is from the connection to the last byte, `first` to the
    first byte of the body.
    """

    request: Request
    status: int = 0
    content_type: str = ""
    body: str = ""
    error: str = ""
    seconds: float = 0
    first: float = 0

    def json(self) -> Any:
        """The decoded body. Raises msgspec.DecodeError if it is none."""
        return msgspec.json.decode(self.body)


def send(address: str, request: Request, *, timeout: float = 30) -> Exchange:
    """Send one request on a connection of its own. Never raises for what the other side does.

    `timeout` is in seconds, for the whole exchange.
    """
    began = time.monotonic()
    deadline = began + timeout
    status, content_type, first = 0, "", 0.0
    body = bytearray()
    error = ""
    connection = http.client.HTTPConnection(address, timeout=timeout)
    try:
        headers = {"Content-Type": "application/json"} if request.body else {}
        connection.request(request.method, request.path, request.body.encode() or None, headers)
        response = connection.getresponse()
        content_type = response.getheader("Content-Type") or ""
        for data in _chunks(response, deadline):
            first = first or time.monotonic() - began
            body += data
        status = response.status
    except (OSError, http.client.HTTPException) as problem:
        error = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
    finally:
        connection.close()
    return Exchange(
        request=request,
        status=status,
        content_type=content_type,
        body=body.decode("utf-8", "replace"),
        error=error,
        seconds=time.monotonic() - began,
        first=first,
    )


def _chunks(response: http.client.HTTPResponse, deadline: float) -> Iterator[bytes]:
    """The body in the pieces it comes in. Raises if it is cut short, too long, or not over by the deadline."""
    read = 0
    while data := response.read1(_CHUNK):
        read += len(data)
        yield data
        if read > LONGEST_BODY:
            raise http.client.HTTPException(f"the response is longer than {LONGEST_BODY} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError("the response did not end in time")
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
