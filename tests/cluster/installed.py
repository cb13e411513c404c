"""A cluster of its own with an installation in it, and the webhooks of an operator that runs beside the tests.

Definitions and webhook configurations belong to a whole cluster, so these tests share no server with others.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from apiserver import Server, attach, find_assets

from stator.install.crds import custom_resource_definitions
from stator.install.rights import access
from stator.install.settings import Settings
from stator.install.webhooks import by_url, webhook_configurations
from stator.install.workload import namespace
from stator.kube.connection import connect
from stator.operator.names import CONVERT_PATH
from stator.operator.webhooks.serving import WebhookOptions, webhooks
from stator.operator.webhooks.validation import Policy

Json = dict[str, Any]

SETTINGS = Settings()
OPERATOR = f"system:serviceaccount:{SETTINGS.namespace}:stator"


@contextmanager
def own_server(directory: Path) -> Iterator[Server]:
    """An API server for one module of tests. Skips where there is none; with CI=true that fails."""
    assets = find_assets()
    if assets is None:
        reason = "no API server: hack/kubernetes/build failed, and there is no $KUBEBUILDER_ASSETS"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    with attach(directory, assets) as server:
        yield server


class Running:
    """Webhooks in a thread of their own. Assign `policy` to change what they refuse."""

    def __init__(self, server: Server, policy: Policy) -> None:
        self.policy = policy
        self.port = 0
        self._server = server

    def _prepare(self) -> None:
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start, install the configurations that lead here, and wait until the API server trusts the certificate."""
        self._prepare()
        self._thread.start()
        if not self._ready.wait(60) or self._failure is not None:
            raise RuntimeError("the webhooks did not become Ready") from self._failure

    def stop(self) -> None:
        """Stop and leave the configurations behind: what a cluster is like while its operator is down."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    @contextmanager
    def down(self) -> Iterator[None]:
        """While no operator runs."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:  # noqa: BLE001 (told to the test that waits)
            self._failure = error
            self._ready.set()
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        account = self._server.kubeconfig_of(SETTINGS.namespace, "stator")
        options = WebhookOptions(namespace=SETTINGS.namespace, host="127.0.0.1", port=0, hosts=("127.0.0.1",))
        async with connect(account) as client, webhooks(client, lambda: self.policy, options) as served:
            self.port = served.port
            await asyncio.to_thread(apply, self._server, configurations(served.port))
            await served.established.wait()
            self._ready.set()
            await self._stop.wait()
        # TLS connections say goodbye in the loop's next turns.
        await asyncio.sleep(0.1)


def configurations(port: int) -> list[Json]:
    """The definitions and webhook configurations that lead to a server on this machine."""
    client = by_url(f"https://127.0.0.1:{port}")
    return [*custom_resource_definitions(client(CONVERT_PATH)), *webhook_configurations(client, SETTINGS)]


def apply(server: Server, objects: list[Json]) -> str:
    """`kubectl apply` of objects."""
    return server.run_kubectl(
        "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    )


@contextmanager
def running(server: Server, policy: Policy) -> Iterator[Running]:
    """The rights of an installation, and its webhooks served from here with the account's own token."""
    apply(server, [namespace(SETTINGS), *custom_resource_definitions(None)])
    apply(server, [*access(SETTINGS)])
    served = Running(server, policy)
    served.start()
    try:
        yield served
    finally:
        served.stop()
