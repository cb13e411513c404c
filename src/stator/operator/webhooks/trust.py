"""The certificate of the webhook server, and the API server's trust in it, kept alive in the cluster.

Every replica does the same: read the Secret, move it on if it is time to (whoever writes first wins, the others take
over what was written), serve what it holds, and put its authorities into the webhook configurations and the
definitions of the converted kinds. The Secret is the only place where anything is kept.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from stator.kube.client import Client
from stator.kube.errors import AlreadyExistsError, ApiError, ConflictError, InvalidError, NotFoundError
from stator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITION,
    MUTATING_WEBHOOK_CONFIGURATION,
    SECRET,
    VALIDATING_WEBHOOK_CONFIGURATION,
    Kind,
)
from stator.operator import names
from stator.operator.certificates import Certificates, Pair, advanced, from_secret, to_secret

Json = dict[str, Any]

# Seconds between two looks. A configuration that is applied anew without its authority is whole again after one.
REFRESH = 30.0
# Seconds until a look is repeated that failed, or found something missing.
RETRY = 2.0
_RACES = 5


def server_context() -> ssl.SSLContext:
    """TLS for a server that has no certificate yet: until it gets one, every handshake fails."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class Trust:
    """Keeps certificate and trust alive; `why_not_ready` says what is still missing."""

    def __init__(
        self,
        client: Client,
        tls: ssl.SSLContext,
        *,
        namespace: str,
        hosts: tuple[str, ...],
        clock: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._tls = tls
        self._namespace = namespace
        self._hosts = hosts
        self._clock = clock
        self._serving: Pair | None = None
        self._log = structlog.get_logger("stator.webhooks")
        self.why_not_ready = "the webhook server has no certificate yet"
        # Set once, when the API server can use the webhooks for the first time.
        self.established = asyncio.Event()

    async def run(self) -> None:
        """Look after both until cancelled."""
        while True:
            try:
                await self.refresh()
            except ApiError as error:
                # What worked before still does; a server that never had a certificate stays not Ready.
                if self.why_not_ready:
                    self.why_not_ready = f"the webhooks' certificate: {error.problems[0].what}: {error.message}"
                self._log.warning("certificates not refreshed", why=str(error.problems[0]))
            await asyncio.sleep(RETRY if self.why_not_ready else REFRESH)

    async def refresh(self) -> None:
        """One look: afterwards the server serves what the Secret holds, and the API server trusts it.

        Raises ApiError.
        """
        certificates = await self._certificates()
        missing = [await self._trusted(kind, name, certificates) for kind, name in _places()]
        if certificates.serving != self._serving:
            _load(self._tls, certificates.serving)
            self._serving = certificates.serving
            self._log.info("webhook certificate in use", certificate=repr(certificates.serving))
        self.why_not_ready = "; ".join(why for why in missing if why)
        if not self.why_not_ready:
            self.established.set()

    async def _certificates(self) -> Certificates:
        """What is in force, moved on if it is time to."""
        for attempt in range(1, _RACES + 1):
            secret = await self._secret()
            before = _kept(secret)
            wanted = advanced(before, self._hosts, self._clock())
            if wanted == before:
                return wanted
            try:
                await self._write(secret, wanted)
            except (AlreadyExistsError, ConflictError):
                if attempt == _RACES:
                    raise
            else:
                return wanted
        raise AssertionError("the loop above returns or raises")

    async def _secret(self) -> Json | None:
        try:
            return await self._client.get(SECRET, names.CERTIFICATES, self._namespace)
        except NotFoundError:
            return None

    async def _write(self, secret: Json | None, certificates: Certificates) -> None:
        data = {key: base64.b64encode(value).decode() for key, value in to_secret(certificates).items()}
        if secret is not None:
            await self._client.replace(SECRET, {**secret, "data": data})
            return
        metadata = {
            "name": names.CERTIFICATES,
            "namespace": self._namespace,
            "labels": {"app.kubernetes.io/name": names.NAME},
        }
        value = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "data": data}
        await self._client.create(SECRET, value)

    async def _trusted(self, kind: Kind, name: str, certificates: Certificates) -> str:
        """Put the authorities into one object; why that cannot be, `""` if it is done."""
        bundle = base64.b64encode(certificates.authorities).decode()
        for attempt in range(1, _RACES + 1):
            try:
                value = await self._client.get(kind, name)
                if patch := _patch(value, bundle, self._namespace):
                    await self._client.patch(kind, name, "", patch, patch_type="json")
            except NotFoundError:
                return f"{kind.kind} {name} is not installed; apply the output of stator install"
            except InvalidError:
                # Another replica was faster: what was tested for is not there any more.
                if attempt == _RACES:
                    raise
            else:
                return ""
        raise AssertionError("the loop above returns or raises")


def _places() -> Iterator[tuple[Kind, str]]:
    """The objects that tell the API server whom to trust."""
    yield MUTATING_WEBHOOK_CONFIGURATION, names.NAME
    yield VALIDATING_WEBHOOK_CONFIGURATION, names.NAME
    for name in names.CONVERTED:
        yield CUSTOM_RESOURCE_DEFINITION, name


def _patch(value: Mapping[str, Any], bundle: str, namespace: str) -> list[Json]:
    """The JSON patch that gives every client configuration the authorities; empty if they all have them."""
    return [
        operation
        for path, client in _client_configurations(value, namespace)
        if client.get("caBundle") != bundle
        for operation in (
            {"op": "test", "path": path, "value": client},
            {"op": "add", "path": f"{path}/caBundle", "value": bundle},
        )
    ]


def _client_configurations(value: Mapping[str, Any], namespace: str) -> Iterator[tuple[str, Json]]:
    """JSON pointers to the client configurations in an object, and what stands there.

    A definition whose conversion is somebody else's, or nobody's, has none of ours.
    """
    for index, webhook in enumerate(value.get("webhooks") or ()):
        yield f"/webhooks/{index}/clientConfig", webhook["clientConfig"]
    conversion = (value.get("spec") or {}).get("conversion") or {}
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    service = client.get("service") or {}
    if (service.get("namespace"), service.get("name")) == (namespace, names.WEBHOOK_SERVICE) or "url" in client:
        yield "/spec/conversion/webhook/clientConfig", client


def _kept(secret: Json | None) -> Certificates | None:
    """What the Secret holds; None if it holds nothing that can be used."""
    try:
        values = {
            key: base64.b64decode(text, validate=True) for key, text in ((secret or {}).get("data") or {}).items()
        }
    except (binascii.Error, ValueError):
        return None
    return from_secret(values)


def _load(tls: ssl.SSLContext, pair: Pair) -> None:
    """Give a certificate to a server, for connections from now on. The TLS library takes files only."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        tls.load_cert_chain(Path(file.name))
