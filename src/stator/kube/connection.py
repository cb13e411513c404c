"""From a kubeconfig, or a pod's service account, to an open client.

lightkube reads the configuration (files, contexts, certificates, tokens, credential plugins). Requests go through
aiohttp: it takes a third of the processor time for a request, and the operator already serves with it. Credentials
are asked for once and kept until the server answers 401, which is how rotated tokens are noticed.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
from lightkube.config.client_adapter import user_auth, verify_cluster
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError

from stator import __version__
from stator.errors import Position, Problem
from stator.kube.client import Client, RequestHook
from stator.kube.errors import ConfigurationError


def load_configuration(path: Path | None = None, context: str | None = None) -> SingleConfig:
    """The configuration of a file and context, or of the pod, `$KUBECONFIG`, `~/.kube/config` in this order.

    Raises `ConfigurationError`.
    """
    try:
        whole = KubeConfig.from_file(path) if path else KubeConfig.from_env()
        if context and context not in whole.contexts:
            raise ConfigurationError(
                Problem(
                    what=f"there is no context {context!r}",
                    position=Position(str(path)) if path else None,
                    why=f"there are {', '.join(sorted(whole.contexts)) or 'none'}",
                    remedy="name one of these with --context",
                )
            )
        single = whole.get(context)
    except (ConfigError, OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            Problem(
                what="cannot tell which cluster to talk to",
                position=Position(str(path)) if path else None,
                why=str(error),
                remedy="give a kubeconfig with --kubeconfig or $KUBECONFIG, or run in a pod with a service account",
            )
        ) from error
    if single is None:
        raise ConfigurationError(
            Problem(what="the kubeconfig has no current context", remedy="name one with --context")
        )
    return single


class Credentials:
    """The `Authorization` header of a user, asked for when first needed and again when the server refuses it."""

    def __init__(self, user: User | None) -> None:
        self._auth = user_auth(_with_known_plugin_version(user)) if user else None
        self._header: str | None = None
        self._lock = asyncio.Lock()

    async def header(self) -> str | None:
        """The header to send; `None` where the user has none (client certificates, or nobody)."""
        if self._auth and self._header is None:
            await self.renew(None)
        return self._header

    async def renew(self, refused: str | None) -> str | None:
        """A header other than the refused one; `None` when there is none to be had.

        The flows of lightkube are made for its own HTTP library: they are driven with a request that is never sent.
        """
        async with self._lock:
            if self._auth is None:
                return None
            if self._header == refused:
                flow = self._auth.async_auth_flow(httpx2.Request("GET", "http://credentials"))
                try:
                    request = await anext(flow)
                    if refused is not None and request.headers.get("Authorization") == refused:
                        request = await flow.asend(httpx2.Response(401, request=request))
                    self._header = request.headers.get("Authorization")
                except StopAsyncIteration:
                    return None
                except ConfigError as error:
                    raise ConfigurationError(Problem(what="cannot get credentials", why=str(error))) from error
                finally:
                    await flow.aclose()
            return self._header if self._header != refused else None


def _with_known_plugin_version(user: User) -> User:
    """`client.authentication.k8s.io/v1` answers as v1beta1 does; lightkube knows the latter only."""
    if user.exec and user.exec.apiVersion == "client.authentication.k8s.io/v1":
        plugin = dataclasses.replace(user.exec, apiVersion="client.authentication.k8s.io/v1beta1")
        return dataclasses.replace(user, exec=plugin)
    return user


def _needs_proxy(server: str) -> bool:
    """Whether the environment names a proxy for the server (`HTTPS_PROXY`, `NO_PROXY`)."""
    url = urlsplit(server)
    return url.scheme in getproxies() and not proxy_bypass(url.netloc)


@asynccontextmanager
async def connect(
    path: Path | None = None,
    *,
    context: str | None = None,
    configuration: SingleConfig | None = None,
    on_request: RequestHook | None = None,
) -> AsyncIterator[Client]:
    """A client for the configured cluster, closed at the end. Opens no connection before the first request."""
    found = configuration or load_configuration(path, context)
    try:
        tls = verify_cluster(found.cluster, found.user or User(), found.abs_file)
        credentials = Credentials(found.user)
    except (ConfigError, OSError, ValueError) as error:
        raise ConfigurationError(Problem(what="cannot use the kubeconfig's certificates", why=str(error))) from error
    # No limit on connections: every watch holds one. Client bounds the other requests.
    connector = aiohttp.TCPConnector(ssl=tls, limit=0, keepalive_timeout=60)
    async with aiohttp.ClientSession(
        connector=connector,
        headers={"User-Agent": f"stator/{__version__}", "Accept": "application/json"},
        # Looking for a proxy at each request costs two trips to a thread; netrc files are not for API servers.
        trust_env=_needs_proxy(found.cluster.server),
        read_bufsize=1 << 20,
    ) as session:
        yield Client(session, found.cluster.server, credentials, on_request=on_request)
