"""`stator matrix --cluster` with the published runtimes: a real API server and operator, Pods as local processes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from apiserver import Server
from installed import own_server
from matrix_command import EXAMPLES, Matrix, failed_checks, namespaces
from node import Node
from operating import install, operating

from stator.kube.client import Client
from stator.kube.connection import connect
from stator.local.config import load_config

pytestmark = pytest.mark.real

CHAT = str(EXAMPLES / "chat.yaml")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A cluster of its own: the operator runs the graphs of every namespace."""
    with own_server(tmp_path_factory.mktemp("matrix")) as server:
        install(server)
        yield server


@pytest.fixture
async def client(cluster: Server, tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a cluster with an operator, and a node that runs processes."""
    config = load_config(None, [CHAT])
    async with (
        connect(cluster.kubeconfig) as made,
        operating(cluster.kubeconfig, ""),
        Node(made, cluster, tmp_path / "node", config),
    ):
        yield made


async def test_cells_pass_and_fail_as_on_one_machine(client: Client, cluster: Server, tmp_path: Path) -> None:
    """Streams and all other checks go through the API server; the older mocker fails at the stop word, and only there.

    Two cells at once do not get in each other's way. Every pod has a timeline, and logs come through the API.
    """
    matrix = Matrix(cluster.kubeconfig, tmp_path)
    page = tmp_path / "page.html"
    code, output = await matrix(CHAT, "--window", "1", "--jobs", "2", "--html", str(page))
    assert code == 1, output
    results = matrix.results()
    assert {name: failed_checks(result) for name, result in results.items()} == {
        "chat-f1-6-1-w1-6-1": [],
        "chat-f1-5-1-w1-5-1": ["stop word"],
        "chat-f1-6-1-w1-5-1": ["stop word"],
        "chat-f1-5-1-w1-6-1": [],
    }
    assert "not the mix: 1.5.1 alone fails in the same way" in output
    for name, result in results.items():
        assert [check["name"] for check in result["checks"]][2:4] == ["unary", "stream"]
        assert {pod["component"] for pod in result["pods"]} == {"Frontend", "Worker"}
        assert all(pod["transitions"][-1]["ready"] for pod in result["pods"])
        kept = json.loads((matrix.directory(name) / "objects.json").read_text())
        assert {"DynamoGraphDeployment", "Deployment", "Pod", "Service"} <= {item["kind"] for item in kept}
        logs = {path.name: path.read_text() for path in (matrix.directory(name) / "logs").iterdir()}
        assert any("frontend" in file and "chat endpoints enabled" in text for file, text in logs.items())
    assert "context test" in page.read_text()
    assert await namespaces(client) == []
