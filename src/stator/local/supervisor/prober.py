"""Carries out one probe and says how it went in the kubelet's words.

Nothing but asyncio streams: an HTTP library would cost more memory than the rest of the supervisor.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from stator.local.plan import ExecCommand, HttpGet, Probe, TcpSocket, reveal

# As the kubelet: what a probe answers is read up to 10 KiB; a user is shown the beginning.
_LONGEST_ANSWER = 10 * 1024
_LONGEST_DETAIL = 300

_SUCCESS = range(200, 400)

_STATUS_LINE = re.compile(rb"HTTP/\d\.\d (\d{3})\b")


class Outcome(msgspec.Struct, frozen=True):
    """`failure` is empty for a success. `detail` is the beginning of what the container said."""

    failure: str = ""
    detail: str = ""


async def check(probe: Probe, env: Mapping[str, str], directory: str) -> Outcome:
    """Run `probe` once, for at most its timeout. `env` and `directory` are the container's, for exec probes."""
    handler = probe.handler
    try:
        async with asyncio.timeout(probe.timeout):
            if isinstance(handler, HttpGet):
                return await _http(handler)
            if isinstance(handler, TcpSocket):
                return await _tcp(handler)
            return await _exec(handler, env, directory)
    except TimeoutError:
        return Outcome(_timed_out(handler, probe.timeout))


def _timed_out(handler: HttpGet | TcpSocket | ExecCommand, timeout: float) -> str:
    if isinstance(handler, HttpGet):
        return f'Get "{handler.url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    if isinstance(handler, TcpSocket):
        return f"dial tcp {handler.host}:{handler.port}: i/o timeout"
    return f"command timed out after {timeout:g}s"


async def _http(handler: HttpGet) -> Outcome:
    """Certificates are not verified, redirects count as success, both as in the kubelet (to the same host)."""
    context = ssl._create_unverified_context() if handler.scheme == "https" else None  # noqa: SLF001, S323 - as said
    try:
        reader, writer = await asyncio.open_connection(handler.host, handler.port, ssl=context)
    except OSError as error:
        dialled = f"dial tcp {handler.host}:{handler.port}: connect: {_words(error)}"
        return Outcome(f'Get "{handler.url}": {dialled}')
    try:
        writer.write(_request(handler))
        status, body = await _response(reader)
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return Outcome(f'Get "{handler.url}": EOF')
    finally:
        writer.transport.abort()
    if status in _SUCCESS:
        return Outcome()
    return Outcome(f"HTTP probe failed with statuscode: {status}", _text(body))


def _request(handler: HttpGet) -> bytes:
    headers = {
        "Host": f"{handler.host}:{handler.port}",
        "User-Agent": "kube-probe/stator",
        "Accept": "*/*",
        "Connection": "close",
        **dict(handler.headers),
    }
    lines = [f"GET {handler.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace")


async def _response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    first = await reader.readuntil(b"\n")
    found = _STATUS_LINE.match(first)
    if found is None:
        raise ValueError(f"no HTTP status line: {first!r}")
    status = int(found[1])
    chunked, length = False, _LONGEST_ANSWER
    while (line := (await reader.readuntil(b"\n")).strip().lower()) != b"":
        name, _, value = line.partition(b":")
        chunked |= name == b"transfer-encoding" and b"chunked" in value
        if name == b"content-length":
            length = min(int(value), _LONGEST_ANSWER)
    if status in _SUCCESS:
        return status, b""
    if chunked:
        length = min(int((await reader.readuntil(b"\n")).split(b";")[0], 16), _LONGEST_ANSWER)
    try:
        return status, await reader.readexactly(length)
    except asyncio.IncompleteReadError as ended:
        return status, ended.partial


async def _tcp(handler: TcpSocket) -> Outcome:
    try:
        _, writer = await asyncio.open_connection(handler.host, handler.port)
    except OSError as error:
        return Outcome(f"dial tcp {handler.host}:{handler.port}: connect: {_words(error)}")
    writer.transport.abort()
    return Outcome()


async def _exec(handler: ExecCommand, env: Mapping[str, str], directory: str) -> Outcome:
    argv: Sequence[str] = [reveal(text) for text in handler.argv]
    # Memory, not a pipe: a child that the command leaves behind could hold a pipe open for ever.
    with os.fdopen(os.memfd_create("probe"), "w+b") as output:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                env=env,
                cwd=directory,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            return Outcome(f"command could not be run: {_words(error)}")
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise
        output.seek(0)
        return Outcome() if code == 0 else Outcome("command failed", _text(output.read(_LONGEST_ANSWER)))


def _words(error: OSError) -> str:
    """What the system says (`connection refused`), not what asyncio makes of it."""
    return (os.strerror(error.errno) if error.errno else str(error)).lower()


def _text(answer: bytes) -> str:
    """The whole answer: what is secret in it can only be found before it is cut or folded."""
    return answer.decode("utf-8", "replace")


def beginning(text: str) -> str:
    """The first words of an answer, for one line of a report."""
    return " ".join(text.split())[:_LONGEST_DETAIL]
