"""Fixtures of the tests that need a real API server.

Every test of this folder carries the marker `cluster`. Without a server they are skipped with the reason; where
CI=true they fail instead. A kubeconfig in $STATOR_TEST_KUBECONFIG (a cluster that may be written to) is taken before
a server is started.
"""

from __future__ import annotations

import gc
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from apiserver import Server, attach, find_assets
from operating import Kubectl, View, install
from proxy import Proxy, proxying, through

from stator.kube.client import Client
from stator.kube.connection import connect

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this folder, so that `-m 'not cluster'` leaves it out.

    A TLS connection takes a moment to say goodbye, and a test's event loop ends before that.
    """
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.cluster)
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_for_others() -> Iterator[None]:
    """Collect what is unclosed while its warnings are ignored, and not in a test of another module."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Server]:
    """The API server of this run: one, whatever the number of workers."""
    if given := os.environ.get("STATOR_TEST_KUBECONFIG"):
        kubeconfig = Path(given)
        server = Server("", kubeconfig, "kubectl")
        url = server.run_kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
        yield Server(url, kubeconfig, "kubectl")
        return
    assets = find_assets()
    if assets is None:
        reason = (
            "no API server: hack/kubernetes/build failed, and there is no $KUBEBUILDER_ASSETS, $STATOR_TEST_KUBECONFIG"
        )
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    base = tmp_path_factory.getbasetemp()
    run = base if worker_id == "master" else base.parent
    with attach(run / "cluster", assets) as server:
        yield server


@pytest.fixture
async def client(cluster: Server) -> AsyncIterator[Client]:
    """A client with every right."""
    async with connect(cluster.kubeconfig) as made:
        yield made


@pytest.fixture
def namespace(cluster: Server) -> Iterator[str]:
    """A namespace of the test's own, with its default service account, deleted (not awaited) afterwards."""
    name = f"test-{secrets.token_hex(5)}"
    cluster.run_kubectl("create", "namespace", name)
    cluster.run_kubectl("wait", "--for=create", "serviceaccount/default", "-n", name)
    yield name
    cluster.run_kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def definitions(cluster: Server) -> None:
    """The operator's kinds are installed, as far as that takes no webhook."""
    install(cluster)


@pytest.fixture
async def view(definitions: None, client: Client, namespace: str) -> AsyncIterator[View]:
    """What is in the test's namespace."""
    del definitions
    async with View(client, namespace).follow() as found:
        yield found


@pytest.fixture
def kubectl(cluster: Server, namespace: str) -> Kubectl:
    """Kubectl in the test's namespace."""
    return Kubectl(cluster, namespace)


@pytest.fixture
async def proxy(cluster: Server) -> AsyncIterator[Proxy]:
    """A proxy before the server, for faults."""
    async with proxying(cluster.kubeconfig) as made:
        yield made


@pytest.fixture
async def faulty(proxy: Proxy, tmp_path: Path) -> AsyncIterator[Client]:
    """A client that goes through the proxy."""
    async with connect(through(proxy, tmp_path)) as made:
        yield made
