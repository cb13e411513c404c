"""What happens under a running operator: definitions go and come back, and the API server restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from apiserver import Server
from foreign import definition
from installed import apply, own_server
from kubelet import Kubelet
from operating import Json, Kubectl, View, condition, graph, names, operating

from stator.install.crds import custom_resource_definitions
from stator.kube.client import Client
from stator.kube.resources import DEPLOYMENT, POD
from stator.operator import kinds
from stator.operator import run as run_module

OLD, NEW = (f"reg/sglang-runtime:1.6.{patch}" for patch in (0, 1))
WIDE: Json = {"multinode": {"nodeCount": 2}, "replicas": 1}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server that only these tests use."""
    with own_server(tmp_path_factory.mktemp("outages")) as server:
        apply(server, [*custom_resource_definitions(None)])
        server.wait_established()
        yield server


async def test_a_kind_that_comes_and_goes_is_used_while_it_is_there(
    cluster: Server, namespace: str, client: Client, kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without LeaderWorkerSet the condition says so; installed later it is used, and removed it is missed again."""
    monkeypatch.setattr(run_module, "_DISCOVERY", 0.5)

    def reason() -> str:
        return str(condition(worker(), "Available").get("reason"))

    async with View(client, namespace).follow() as view, operating(cluster.kubeconfig, namespace) as operator:

        def worker() -> Json:
            return next((value for value in view.all(kinds.COMPONENT) if value["spec"]["type"] == "worker"), {})

        await kubectl.apply(graph(worker=WIDE))
        await view.until(lambda: reason() == "NotInstalled")
        assert "install LeaderWorkerSet" in condition(worker(), "Available")["message"]
        apply(cluster, [definition(kinds.LEADER_WORKER_SET)])
        await view.until(lambda: reason() not in ("NotInstalled", "None"))
        [made] = (await client.list(kinds.LEADER_WORKER_SET, namespace)).items
        assert made["metadata"]["name"].startswith(worker()["metadata"]["name"])
        await kubectl("delete", "crd", "leaderworkersets.leaderworkerset.x-k8s.io")
        await view.until(lambda: reason() == "NotInstalled")
        assert operator.failed == 0
        assert not operator.task.done()


async def test_graphs_are_kept_again_when_their_definitions_come_back(
    cluster: Server, namespace: str, client: Client, kubectl: Kubectl
) -> None:
    """Somebody deletes the definitions, and with them every graph; the operator lives on, and keeps new ones."""
    async with Kubelet(client, namespace), operating(cluster.kubeconfig, namespace) as operator:
        async with View(client, namespace).follow() as view:
            await kubectl.apply(graph())
            await view.until(lambda: view.ready("chat"))
            try:
                await kubectl("delete", "crd", *(f"{kind.plural}.{kind.group}" for kind in kinds.OWN))
                await view.until(lambda: not view.all(kinds.GRAPH))
            finally:
                apply(cluster, [*custom_resource_definitions(None)])
                await asyncio.to_thread(cluster.wait_established)
        async with View(client, namespace).follow() as view:
            await kubectl.apply(graph("again"))
            await view.until(lambda: view.ready("again"), within=120)
        assert not operator.task.done()
        assert operator.failed == 0


async def test_an_api_server_that_restarts_half_way_through_a_rollout_holds_nothing_up(
    cluster: Server, namespace: str, client: Client, kubectl: Kubectl
) -> None:
    """The operator waits for it, and the rollout ends; pods that serve are not replaced for it."""
    async with operating(cluster.kubeconfig, namespace, resync=5.0) as operator, Kubelet(client, namespace):
        async with View(client, namespace).follow() as view:
            await kubectl.apply(graph("other"), graph(image=OLD))
            await view.until(lambda: view.ready("chat") and view.ready("other"))
            others = {pod for pod in names(view.all(POD)) if pod.startswith("other")}
            await kubectl.apply(graph(image=NEW))
            await asyncio.to_thread(cluster.restart)
            await view.until(
                lambda: (
                    view.ready("chat")
                    and {
                        value["spec"]["template"]["spec"]["containers"][0]["image"]
                        for value in view.all(DEPLOYMENT)
                        if value["metadata"]["name"].startswith("chat")
                    }
                    == {NEW}
                ),
                within=150,
            )
            assert {pod for pod in names(view.all(POD)) if pod.startswith("other")} == others
        assert not operator.task.done()
        assert operator.failed == 0
