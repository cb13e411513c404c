"""What failed requests say, in the words of this project: where to, and why, each once.

aiohttp's own texts name the host with its internals (`ssl:default [Connect call failed (...)]`) and quote whole
exceptions within each other.
"""

from __future__ import annotations

import os
import re
import ssl

import aiohttp

from stator.errors import StatorError

# OpenSSL's texts: `[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)`.
_OPENSSL = re.compile(r"^\[[^\]]*\] (?:certificate verify failed: )?|\.? \(_ssl\.c:\d+\)$")


_PHRASES: tuple[tuple[type[BaseException], str], ...] = (
    (TimeoutError, "no answer in time"),
    (aiohttp.ServerDisconnectedError, "the connection was closed before an answer"),
    (aiohttp.ClientResponseError, "the answer is no HTTP"),
)


def reason_of(error: BaseException) -> str:
    """Why a request failed, in a few words."""
    for kind, phrase in _PHRASES:
        if isinstance(error, kind):
            return phrase
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"the certificate of {error.host}:{error.port} is not trusted: {_of_system(error.certificate_error)}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection to {error.host}:{error.port}: {_of_system(error.os_error)}"
    if isinstance(error, aiohttp.ClientPayloadError) and error.__cause__ is not None:
        return "the connection was closed within the answer"
    return _of_system(error)


def logged(error: StatorError | TimeoutError) -> dict[str, str]:
    """An error as fields of a log line that says itself what it is about: the reason, and what to do about it."""
    if isinstance(error, TimeoutError):
        return {"reason": reason_of(error)}
    whys = [problem.why or problem.what for problem in error.problems]
    remedies = [problem.remedy for problem in error.problems if problem.remedy]
    fields = {"reason": "; ".join(whys), "remedy": "; ".join(dict.fromkeys(remedies))}
    return {name: text for name, text in fields.items() if text}


def _of_system(error: BaseException) -> str:
    """The reason of the system or of OpenSSL; a broken connection has none of its own in asyncio."""
    if isinstance(error, ssl.SSLError):
        return _OPENSSL.sub("", error.strerror or str(error))
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return os.strerror(error.errno).lower()
    if isinstance(error, ConnectionError) and not str(error):
        return "the connection was closed"
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
