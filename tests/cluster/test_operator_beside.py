"""Two operators in one cluster: of two namespaces, of one namespace and of all, and one without an election."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from apiserver import Server
from installed import SETTINGS, apply, own_server
from kubelet import Kubelet
from operating import Kubectl, Operator, View, graph, operating
from proxy import Proxy, through

from stator.install.crds import custom_resource_definitions
from stator.install.rights import access
from stator.install.workload import namespace as own_namespace
from stator.kube.client import Client
from stator.kube.resources import DEPLOYMENT
from stator.operator import kinds, others

OLD, NEW = (f"reg/sglang-runtime:1.6.{patch}" for patch in (0, 1))
TEAMS = ("team-a", "team-b")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server that only these tests use: an installation for all namespaces, and one each of two teams."""
    with own_server(tmp_path_factory.mktemp("beside")) as server:
        apply(server, [own_namespace(SETTINGS), *custom_resource_definitions(None)])
        apply(server, [*access(SETTINGS)])
        for team in TEAMS:
            server.run_kubectl("create", "namespace", team)
            apply(server, [*access(SETTINGS.__class__(namespace=team, namespaced=True))])
        server.wait_established()
        yield server


@pytest.fixture
def attentive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are looked for as often as they renew their Leases, and a little less."""
    monkeypatch.setattr(others, "_SOON", 3.0)
    monkeypatch.setattr(others, "_LATER", 3.0)


def elected(of: Path, own: str, namespace: str = "") -> Any:
    """An operator as an installation runs it."""
    return operating(of, namespace, leader_elect=True, own_namespace=own, resync=1.0)


def account(cluster: Server, namespace: str) -> Path:
    """The kubeconfig of an installation's own account."""
    return cluster.kubeconfig_of(namespace, "stator")


def counted(operator: Operator) -> int:
    """How many others an operator says that there are."""
    return int(operator.metrics.registry.get_sample_value("stator_other_operators") or 0)


async def until(operator: Operator, count: int) -> None:
    """Return when it says so."""
    async with asyncio.timeout(60):
        while counted(operator) != count:  # noqa: ASYNC110 (a number that nobody announces)
            await asyncio.sleep(0.1)


@pytest.mark.usefixtures("attentive")
async def test_operators_of_two_namespaces_have_nothing_to_do_with_each_other(
    cluster: Server, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both lead, each keeps its own graph of the same name, and neither takes the other for a rival."""
    async with AsyncExitStack() as stack:
        views = [await stack.enter_async_context(View(client, team).follow()) for team in TEAMS]
        running = []
        for team in TEAMS:
            await stack.enter_async_context(Kubelet(client, team))
            running.append(await stack.enter_async_context(elected(account(cluster, team), team, team)))
            await Kubectl(cluster, team).apply(graph())
        for view, operator in zip(views, running, strict=True):
            await view.until(lambda view=view: view.ready("chat"))
            await view.settle(operator, passes=6)
            assert operator.failed == 0
        before = running[1].writes
        await Kubectl(cluster, TEAMS[0]).apply(graph(image=NEW))
        await views[0].until(lambda: views[0].ready("chat"))
        await views[1].settle(running[1], passes=6)
        assert running[1].writes == before, "the other team's rollout is none of its business"
        assert [counted(operator) for operator in running] == [0, 0]
        for team in TEAMS:
            await Kubectl(cluster, team)("delete", "dgd", "chat", "--timeout=60s")
    assert "another operator" not in capsys.readouterr().out


@pytest.mark.usefixtures("attentive")
async def test_an_operator_of_all_namespaces_beside_one_of_a_namespace_says_so_and_does_not_fight(
    cluster: Server, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both say who else is there; while they want the same, a rollout ends as it would with one, and all is quiet."""
    team = TEAMS[0]
    kubectl = Kubectl(cluster, team)
    async with View(client, team).follow() as view, Kubelet(client, team):
        async with (
            elected(account(cluster, SETTINGS.namespace), SETTINGS.namespace) as wide,
            elected(account(cluster, team), team, team) as narrow,
        ):
            await kubectl.apply(graph(image=OLD))
            await view.until(lambda: view.ready("chat"))
            await kubectl.apply(graph(image=NEW))
            await view.until(lambda: view.ready("chat") and len(view.all(DEPLOYMENT)) == 2)
            for operator in (wide, narrow):
                await view.settle(operator, passes=6)
                assert operator.failed == 0
                await until(operator, 1)
            assert len(view.all(kinds.COMPONENT)) == 2
            said = capsys.readouterr().out
            assert f"{team}/stator" in said
            assert f"{SETTINGS.namespace}/stator" in said
            assert said.count("another operator ") == 2, "each says it once"
            await narrow.stop()
            await until(wide, 0)
            assert "another operator is gone" in capsys.readouterr().out
        await kubectl("delete", "dgd", "chat", "--timeout=60s")


@pytest.mark.usefixtures("attentive")
async def test_an_operator_without_election_sees_the_one_that_leads(
    cluster: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trial run from a laptop beside the installed operator is told that it is not alone, and when it is."""
    installed = account(cluster, SETTINGS.namespace)
    async with elected(installed, SETTINGS.namespace) as leader:
        for namespace in ("", TEAMS[0]):
            async with operating(cluster.kubeconfig, namespace, leader_elect=False) as trial:
                await until(trial, 1)
                said = capsys.readouterr().out
                assert f"{SETTINGS.namespace}/stator" in said
                assert "end one of the two" in said
        async with operating(cluster.kubeconfig, "", leader_elect=False) as trial:
            await until(trial, 1)
            assert counted(leader) == 0, "who takes no part in the election has no Lease to be seen by"
            await leader.stop()
            await until(trial, 0)


async def test_a_lease_that_nobody_renews_alarms_nobody(
    cluster: Server, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed operator left behind names a holder, and is no operator."""
    monkeypatch.setattr(others, "_SOON", 0.2)
    monkeypatch.setattr(others, "_LATER", 0.2)
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "stator", "namespace": TEAMS[1]},
        "spec": {"holderIdentity": "killed", "leaseDurationSeconds": 15},
    }
    await Kubectl(cluster, TEAMS[1]).apply(lease)
    async with operating(through(proxy, tmp_path), "", leader_elect=False) as trial, asyncio.timeout(60):
        while len([request for request in proxy.seen if "/leases?" in request]) < 4:  # noqa: ASYNC110 (counted, not announced)
            await asyncio.sleep(0.1)
        assert counted(trial) == 0
    await Kubectl(cluster, TEAMS[1])("delete", "lease", "stator")
