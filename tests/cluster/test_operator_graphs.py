"""Graphs kept by an operator on a real API server, with a simulated kubelet under real controllers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from apiserver import Server
from kubelet import Kubelet
from operating import Kubectl, View, condition, graph, install, names, operating

from stator.kube.client import Client
from stator.kube.resources import DEPLOYMENT, SERVICE
from stator.operator import kinds

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module", autouse=True)
def _definitions(cluster: Server) -> None:
    """The operator's kinds are installed."""
    install(cluster)


@pytest.fixture
async def view(client: Client, namespace: str) -> AsyncIterator[View]:
    """What is in the test's namespace."""
    async with View(client, namespace).follow() as found:
        yield found


@pytest.fixture
def kubectl(cluster: Server, namespace: str) -> Kubectl:
    """kubectl in the test's namespace."""
    return Kubectl(cluster, namespace)


@pytest.mark.parametrize("example", ["chat.yaml", "embedding.yaml"])
async def test_an_example_becomes_ready(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl, example: str
) -> None:
    """What a user applies ends in Ready, by itself."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl("apply", "-f", str(EXAMPLES / example))
        await view.until(lambda: view.all(kinds.GRAPH) and view.ready(names(view.all(kinds.GRAPH))[0]))


async def test_a_steady_graph_costs_no_write(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Once a graph is Ready, looking at it again (a resync, a restarted operator) changes nothing at all."""
    async with operating(cluster.kubeconfig, namespace, resync=1.0) as operator, Kubelet(client, namespace):
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        await view.settle(operator)
