"""The verbs of the API over bytes and dicts: one request each, errors of one family.

Not here: caching (`informer`), deciding whether a write is needed (`apply`), retrying what failed (`queue`). Only what
the server itself asks to repeat is repeated: 429 and 5xx with `Retry-After`, which say that nothing was done.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from msgspec import Raw, Struct
from yarl import URL

from stator.kube.errors import (
    TOO_MANY_REQUESTS,
    UNAUTHORIZED,
    ApiError,
    Request,
    UnauthorizedError,
    UnreachableError,
    UntrustedError,
    from_status,
)
from stator.kube.reasons import reason_of
from stator.kube.resources import POD, Json, Key, Kind, key_of

FIELD_MANAGER = "stator"
PAGE = 500
# Requests other than watches at one time: what priority and fairness gives one user without queueing, roughly.
CONCURRENT_REQUESTS = 32
CONNECT_TIMEOUT = 10.0
# Admission webhooks may take 30 seconds, the server's own limit is 60.
REQUEST_TIMEOUT = 65.0
# Bookmarks come about once a minute: a stream that is silent for longer than two is taken for dead.
SILENT_WATCH = 150.0
RETRIES = 6
LONGEST_RETRY_AFTER = 60.0
# From here on a body is sent piece by piece, in bytes.
_AT_ONCE = 1 << 20

Propagation = Literal["Background", "Foreground", "Orphan"]
Patch = Json | list[Json]
PatchType = Literal["json", "merge", "strategic"]
Decoded = TypeVar("Decoded")
WatchType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]

_PATCH_CONTENT: dict[PatchType, str] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_APPLY_CONTENT = "application/apply-patch+yaml"


class RequestHook(Protocol):
    """Called once for each answered (or failed: status 0) attempt; `kind` is a plural such as `deployments.apps`."""

    def __call__(self, verb: str, kind: str, status: int, seconds: float) -> None:
        """Count it; must not raise."""


class HeaderSource(Protocol):
    """Where the `Authorization` header comes from."""

    async def header(self) -> str | None:
        """The header to send, if any."""

    async def renew(self, refused: str | None) -> str | None:
        """Another header than the refused one, or `None`."""


class Listed(NamedTuple):
    """The objects of a list, and the resource version a watch can follow on from."""

    items: list[Json]
    resource_version: str


class Page(NamedTuple):
    """Some objects of a list, each decoded when its turn comes: all of a page at once take ten times its bytes."""

    items: Iterator[Json]
    resource_version: str


class WatchEvent(NamedTuple):
    """One line of a watch. Most tell of a write of the reader's own: who has that version need not decode it."""

    type: WatchType
    key: Key
    uid: str
    version: str
    request: Request
    line: bytes

    @property
    def object(self) -> Json:
        """The object; of a deleted one, as it was at the end. Raises `UnreachableError` when it is none."""
        return _of_line(self.request, self.line, _decode_line).object


class _Line(Struct):
    type: str
    object: Json


class _Metadata(Struct, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 # the name in the API


class _Identified(Struct, gc=False):
    metadata: _Metadata = _Metadata()


class _Head(Struct, gc=False):
    """Of a line of a watch only what tells which object it is about, at which version."""

    type: str
    object: _Identified


class Client:
    """One cluster, one set of credentials. Made by `connection.connect`."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        server: str,
        credentials: HeaderSource,
        *,
        on_request: RequestHook | None = None,
    ) -> None:
        self._session = session
        self._server = server.rstrip("/")
        self._credentials = credentials
        self._on_request = on_request
        self._slots = asyncio.Semaphore(CONCURRENT_REQUESTS)

    async def get(self, kind: Kind, name: str, namespace: str = "", *, subresource: str = "") -> Json:
        """One object, or one of its subresources (`scale`, `status`)."""
        return await self._call(_Call("get", "GET", kind, namespace, name, subresource))

    async def get_path(self, path: str) -> Json:
        """What stands at a path that is no resource: discovery, `/version`."""
        call = _Call("get", "GET", Kind("", "", path, path.strip("/")), path=path)
        return await self._call(call)

    async def list(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listed:
        """All objects of a kind, gathered from its pages."""
        items: list[Json] = []
        version = ""
        async for page in self.pages(kind, namespace, labels=labels, fields=fields):
            items += page.items
            version = page.resource_version
        return Listed(items, version)

    async def pages(
        self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "", limit: int = PAGE
    ) -> AsyncIterator[Page]:
        """The pages of a list. Raises `ExpiredError` when the server forgot the list halfway."""
        parameters = {"limit": str(limit), "labelSelector": labels, "fieldSelector": fields}
        while True:
            call = _Call("list", "GET", kind, namespace, parameters=parameters)
            page, parameters["continue"] = _page(call.request, await self._answer(call))
            yield page
            if not parameters["continue"]:
                return

    async def watch(
        self,
        kind: Kind,
        resource_version: str,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        timeout_seconds: int = 600,
        silence: float = SILENT_WATCH,
        on_open: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Changes after a resource version, until the server ends the watch.

        Raises `ExpiredError` when the version is too old, at the start or in the stream, and `UnreachableError` when
        nothing, not even a bookmark, came for `silence` seconds. `on_open` is called when the server has agreed.
        """
        parameters = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
            "labelSelector": labels,
            "fieldSelector": fields,
        }
        call = _Call("watch", "GET", kind, namespace, parameters=parameters)
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=silence)
        response = await self._send(call, limits)
        try:
            if on_open:
                on_open()
            async for line in _lines(response):
                yield _event(call.request, line)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(call.request, reason_of(error)) from error
        finally:
            response.close()

    async def create(self, kind: Kind, value: Json, *, subresource: str = "", dry_run: bool = False) -> Json:
        """The created object, or what is created below one (a Pod's `binding`). Raises `AlreadyExistsError`."""
        namespace, name = key_of(value)
        parameters = _write(dry_run=dry_run)
        if subresource:
            return await self._call(_Call("create", "POST", kind, namespace, name, subresource, parameters, value))
        return await self._call(_Call("create", "POST", kind, namespace, named=name, parameters=parameters, body=value))

    async def apply(
        self,
        kind: Kind,
        value: Json,
        *,
        manager: str = FIELD_MANAGER,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Json:
        """Server-side apply. Raises `FieldConflictError` when others own what is set differently and not `force`."""
        namespace, name = key_of(value)
        parameters = _write(dry_run=dry_run, manager=manager) | {"force": "true" if force else "false"}
        call = _Call("apply", "PATCH", kind, namespace, name, subresource, parameters, value, _APPLY_CONTENT)
        return await self._call(call)

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        patch: Patch,
        *,
        patch_type: PatchType = "merge",
        subresource: str = "",
        dry_run: bool = False,
    ) -> Json:
        """The patched object. A JSON patch whose `test` fails raises `InvalidError`."""
        content = _PATCH_CONTENT[patch_type]
        parameters = _write(dry_run=dry_run)
        return await self._call(_Call("patch", "PATCH", kind, namespace, name, subresource, parameters, patch, content))

    async def replace(self, kind: Kind, value: Json, *, subresource: str = "", dry_run: bool = False) -> Json:
        """The replaced object, or its `status`. Raises `ConflictError` when its `resourceVersion` is not current."""
        namespace, name = key_of(value)
        parameters = _write(dry_run=dry_run)
        return await self._call(_Call("update", "PUT", kind, namespace, name, subresource, parameters, value))

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> Json:
        """The deleted object or a status. Raises `ConflictError` when the preconditions name another object."""
        wanted = {"uid": uid, "resourceVersion": resource_version}
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if preconditions := {name: value for name, value in wanted.items() if value}:
            body["preconditions"] = preconditions
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        parameters = {"dryRun": "All"} if dry_run else {}
        return await self._call(_Call("delete", "DELETE", kind, namespace, name, parameters=parameters, body=body))

    async def scale(self, kind: Kind, name: str, namespace: str, replicas: int) -> Json:
        """The `Scale` after setting its replicas, as `kubectl scale` and a HorizontalPodAutoscaler do."""
        return await self.patch(kind, name, namespace, {"spec": {"replicas": replicas}}, subresource="scale")

    async def logs(self, name: str, namespace: str, container: str, *, lines: int, previous: bool = False) -> str:
        """The last lines of a container of a Pod, or of its run before (`previous`); bytes that are no UTF-8 replaced.

        Raises `BadRequestError` for a container that has not run, and `ServerError` when its node does not answer.
        """
        parameters = {"container": container, "tailLines": str(lines), "previous": "true" if previous else ""}
        call = _Call("get", "GET", POD, namespace, name, "log", parameters)
        async with self._slots:
            response = await self._send(call, _whole())
            return (await _read(call.request, response)).decode("utf-8", "replace")

    async def passed_on(
        self, method: str, path: str, body: bytes, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """The response of whoever the API server passes a path on to, whatever its status; for `proxy` alone.

        Raises what aiohttp raises.
        """
        header = await self._credentials.header()
        response = await self._passed_on(method, path, body, limits, header)
        if response.status == UNAUTHORIZED and (renewed := await self._credentials.renew(header)):
            response.close()
            response = await self._passed_on(method, path, body, limits, renewed)
        return response

    async def _passed_on(
        self, method: str, path: str, body: bytes, limits: aiohttp.ClientTimeout, authorization: str | None
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": "*/*", **({"Content-Type": "application/json"} if body else {})}
        if authorization:
            headers["Authorization"] = authorization
        return await self._session.request(
            method,
            URL(f"{self._server}{path}", encoded=True),
            data=body or None,
            headers=headers,
            timeout=limits,
            allow_redirects=False,
        )

    async def _call(self, call: _Call) -> Json:
        return _decoded(call.request, await self._answer(call), _decode_object)

    async def _answer(self, call: _Call) -> bytes:
        for attempt in range(RETRIES + 1):
            try:
                async with self._slots:
                    response = await self._send(call, _whole())
                    return await _read(call.request, response)
            except ApiError as error:
                asked = error.status == TOO_MANY_REQUESTS or error.status >= 500  # noqa: PLR2004 # RFC 9110, 15.6
                if not asked or error.retry_after is None or attempt == RETRIES:
                    raise
                wait = min(max(error.retry_after, 0.0), LONGEST_RETRY_AFTER)
            await asyncio.sleep(wait)
        raise AssertionError("the loop above returns or raises")

    async def _send(self, call: _Call, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        """A response with a status below 400; with fresh credentials when the old ones were refused."""
        header = await self._credentials.header()
        try:
            return await self._attempt(call, limits, header)
        except UnauthorizedError:
            renewed = await self._credentials.renew(header)
            if renewed is None:
                raise
            return await self._attempt(call, limits, renewed)

    async def _attempt(
        self, call: _Call, limits: aiohttp.ClientTimeout, authorization: str | None
    ) -> aiohttp.ClientResponse:
        headers = {"Content-Type": call.content}
        if authorization:
            headers["Authorization"] = authorization
        clock = asyncio.get_running_loop().time
        start, status = clock(), 0
        try:
            response = await self._session.request(
                call.method,
                call.url(self._server),
                data=None if call.body is None else _encoded(call.body),
                headers=headers,
                timeout=limits,
                allow_redirects=False,
            )
            status = response.status
            if status < 400:  # noqa: PLR2004 # RFC 9110, section 15: from here on errors
                return response
            async with response:
                body = await response.read()
        except aiohttp.ClientConnectorCertificateError as error:
            raise UntrustedError(call.request, reason_of(error)) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(call.request, reason_of(error)) from error
        finally:
            if self._on_request:
                self._on_request(call.verb, str(call.kind), status, clock() - start)
        raise from_status(
            call.request, status, _status(body), retry_after=_retry_after(response.headers.get("Retry-After"))
        )


class _Call(NamedTuple):
    verb: str
    method: str
    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    parameters: Mapping[str, str] = MappingProxyType({})
    body: Json | Patch | None = None
    content: str = "application/json"
    path: str = ""
    named: str = ""

    @property
    def request(self) -> Request:
        return Request(self.verb, self.kind.kind, self.namespace, self.name or self.named)

    def url(self, server: str) -> URL:
        path = self.path or self.kind.path(self.namespace, quote(self.name, safe=""), self.subresource)
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in self.parameters.items() if value)
        return URL(f"{server}{path}?{query}" if query else f"{server}{path}", encoded=True)


def _whole() -> aiohttp.ClientTimeout:
    """How long a request with one answer may take."""
    return aiohttp.ClientTimeout(total=REQUEST_TIMEOUT, sock_connect=CONNECT_TIMEOUT)


def _encoded(body: Json | Patch) -> bytes | BytesIO:
    """The body; a large one as a file, which aiohttp sends piece by piece between other work."""
    encoded = msgspec.json.encode(body)
    return encoded if len(encoded) <= _AT_ONCE else BytesIO(encoded)


def _write(*, dry_run: bool, manager: str = FIELD_MANAGER) -> dict[str, str]:
    return {"fieldManager": manager, "dryRun": "All" if dry_run else ""}


class _Listing(Struct):
    metadata: dict[str, Any] = {}
    items: list[Raw] | None = None


_decode_object = msgspec.json.Decoder(Json).decode
_decode_list = msgspec.json.Decoder(_Listing).decode


def _decoded(request: Request, body: bytes | Raw, decode: Callable[[bytes | Raw], Decoded]) -> Decoded:
    try:
        return decode(body)
    except msgspec.MsgspecError as error:
        raise UnreachableError(request, reason_of(error)) from error


def _page(request: Request, body: bytes) -> tuple[Page, str]:
    """The page, and where the next one begins."""
    listed = _decoded(request, body, _decode_list)
    items = (_decoded(request, item, _decode_object) for item in listed.items or ())
    return Page(items, str(listed.metadata.get("resourceVersion", ""))), str(listed.metadata.get("continue", ""))


async def _read(request: Request, response: aiohttp.ClientResponse) -> bytes:
    try:
        async with response:
            return await response.read()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise UnreachableError(request, reason_of(error)) from error


def _status(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.MsgspecError:
        return None


def _retry_after(header: str | None) -> float | None:
    """Seconds to wait, when the server says so (it sends whole seconds, never a date)."""
    try:
        return float(header) if header else None
    except ValueError:
        return None


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The lines of a stream, whatever their length. A last line without an end is a broken stream: dropped."""
    rest = bytearray()
    async for chunk in response.content.iter_any():
        rest += chunk
        *whole, last = rest.split(b"\n")
        for line in whole:
            if line:
                yield bytes(line)
        rest = last


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_head = msgspec.json.Decoder(_Head).decode


def _event(request: Request, line: bytes) -> WatchEvent:
    head = _of_line(request, line, _decode_head)
    if head.type == "ERROR":
        status = _of_line(request, line, _decode_line).object
        raise from_status(request, int(status.get("code") or 500), status)
    if head.type not in {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}:
        raise UnreachableError(request, f"the watch has an event of type {head.type!r}")
    type_: WatchType = head.type  # type: ignore[assignment] # checked on the lines above
    found = head.object.metadata
    return WatchEvent(type_, Key(found.namespace, found.name), found.uid, found.resourceVersion, request, line)


def _of_line(request: Request, line: bytes, decode: Callable[[bytes], Decoded]) -> Decoded:
    try:
        return decode(line)
    except msgspec.MsgspecError as error:
        raise UnreachableError(request, f"a line of the watch is no event: {error}") from error
