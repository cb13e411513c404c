"""`stator operator run` as a process, with the rights of an installation and no others."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from apiserver import Server, free_ports
from installed import SETTINGS, apply, own_server
from kubelet import Kubelet
from operating import Kubectl, View, graph

from stator.install.crds import custom_resource_definitions
from stator.install.rights import access
from stator.install.workload import namespace as own_namespace
from stator.kube.client import Client
from stator.kube.resources import LEASE
from stator.operator import kinds
from stator.operator.names import LEASE as LEASE_NAME

ENDED_WITHIN = 40


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server that only these tests use, with an installation in it."""
    with own_server(tmp_path_factory.mktemp("process")) as server:
        apply(server, [own_namespace(SETTINGS), *custom_resource_definitions(None)])
        apply(server, [*access(SETTINGS)])
        yield server


@pytest.fixture
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server without any definition."""
    with own_server(tmp_path_factory.mktemp("bare")) as server:
        yield server


class Process:
    """A running operator."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        """Made by `operator`."""
        self.process = process
        self.base = f"http://127.0.0.1:{port}"

    async def ask(self, path: str) -> tuple[int, str]:
        """Status and text of one of its endpoints; status 0 while nobody answers."""
        try:
            async with aiohttp.ClientSession() as session, session.get(self.base + path) as response:
                return response.status, await response.text()
        except aiohttp.ClientError:
            return 0, ""

    async def until(self, path: str, text: str) -> None:
        """Return when an endpoint answers 200 with this in it."""
        async with asyncio.timeout(60):
            while (answer := await self.ask(path))[0] != 200 or text not in answer[1]:  # noqa: ASYNC110 (another process tells us nothing)
                await asyncio.sleep(0.2)

    async def stop(self) -> int:
        """End it as a kubelet does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(ENDED_WITHIN):
            return await self.process.wait()


@asynccontextmanager
async def operator(kubeconfig: Path, log: Path, *options: str) -> AsyncIterator[Process]:
    """A process with the installation's own account; what it logs goes to a file."""
    [port] = free_ports(1)
    arguments = ["-m", "stator", "operator", "run", "--kubeconfig", str(kubeconfig)]
    arguments += ["--metrics-host", "127.0.0.1", "--metrics-port", str(port), *options]
    environment = {**os.environ, "STATOR_OPERATOR_OWN_NAMESPACE": SETTINGS.namespace}
    with log.open("ab") as out:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdout=out, stderr=out, env=environment
        )
    try:
        yield Process(process, port)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        print(told(log))  # noqa: T201 (shown when a test fails)


def told(log: Path) -> str:
    """The end of a log."""
    return log.read_text()[-6000:]


async def test_of_two_operators_one_leads_and_the_other_takes_over(
    cluster: Server, namespace: str, client: Client, kubectl: Kubectl, tmp_path: Path
) -> None:
    """Both say who leads; when the leader ends the other goes on at once, and nothing is done twice."""
    account = await asyncio.to_thread(cluster.kubeconfig_of, SETTINGS.namespace, "stator")
    async with View(client, namespace).follow() as view, Kubelet(client, namespace):
        async with AsyncExitStack() as processes:
            first = await processes.enter_async_context(operator(account, tmp_path / "first"))
            await first.until("/metrics", "stator_leader 1.0")
            second = await processes.enter_async_context(operator(account, tmp_path / "second"))
            await second.until("/readyz", "ok")
            assert "stator_leader 0.0" in (await second.ask("/metrics"))[1]
            await kubectl.apply(graph())
            await view.until(lambda: view.ready("chat"))
            assert "stator_reconcile_total{" not in (await second.ask("/metrics"))[1]
            assert await first.stop() == 0
            await second.until("/metrics", "stator_leader 1.0")
            await kubectl("patch", "dgd", "chat", "--type=json", "-p", SCALED)
            await view.until(
                lambda: view.ready("chat") and len(view.get(kinds.GRAPH, "chat")["spec"]["components"]) == 2
            )
            assert await second.stop() == 0
        lease = await client.get(LEASE, LEASE_NAME, SETTINGS.namespace)
        assert lease["spec"]["holderIdentity"] == ""
        assert "waiting for the leader" in told(tmp_path / "second")
        assert '"leading"' in told(tmp_path / "first")


SCALED = '[{"op": "replace", "path": "/spec/components/1/replicas", "value": 1}]'


async def test_a_cluster_without_the_definitions_is_told_what_to_install(bare: Server, tmp_path: Path) -> None:
    """Without its kinds the operator ends with the command that installs them, not with a traceback."""
    async with operator(bare.kubeconfig, tmp_path / "log", "--no-leader-elect") as running:
        async with asyncio.timeout(ENDED_WITHIN):
            assert await running.process.wait() == 3
        log = told(tmp_path / "log")
        assert "does not serve DynamoGraphDeployment" in log
        assert "stator install" in log
        assert "Traceback" not in log
