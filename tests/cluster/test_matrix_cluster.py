"""`stator matrix --cluster` where graphs do not come up: what it says, what it keeps, and what it leaves."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import Server
from installed import own_server
from kubelet import CRASHING, NEVER_READY, UNPULLABLE, Kubelet
from matrix_command import EXAMPLES, Matrix, namespaces
from operating import install, operating

from stator.install.rights import access
from stator.install.settings import Settings
from stator.install.workload import namespace as own_namespace
from stator.kube.client import Client
from stator.kube.resources import CONFIG_MAP, NAMESPACE
from stator.matrix.campaign import Conduct, Wanted, conduct, plan_run
from stator.matrix.cluster import settling
from stator.matrix.cluster.attending import NoOperatorError
from stator.matrix.cluster.connection import connected
from stator.matrix.cluster.isolation import LeftNamespaceError
from stator.matrix.cluster.place import InCluster
from stator.matrix.scenarios import read_scenarios
from stator.model import load
from stator.operator.options import OperatorOptions
from stator.render import RenderOptions
from stator.versions import Version

CHAT = str(EXAMPLES / "chat.yaml")
CELL = "chat-f1-6-1-w1-6-1"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A cluster of its own: the operator runs the graphs of every namespace."""
    with own_server(tmp_path_factory.mktemp("matrix")) as server:
        install(server)
        yield server


@pytest.fixture
async def operator(cluster: Server) -> AsyncIterator[None]:
    """An operator of the whole cluster."""
    async with operating(cluster.kubeconfig, ""):
        yield


@pytest.fixture
def matrix(cluster: Server, tmp_path: Path) -> Matrix:
    """The command, with its state."""
    return Matrix(cluster.kubeconfig, tmp_path)


@pytest.mark.usefixtures("operator")
async def test_a_cell_that_dies_fails_and_leaves_everything_to_look_at(
    client: Client, matrix: Matrix, tmp_path: Path
) -> None:
    """Objects, events, and why no log could be read; of a Secret no value anywhere. The namespace is gone."""
    graph = written(tmp_path, "{apiVersion: v1, kind: Secret, metadata: {name: t}, stringData: {t: hunter2hunter2}}")
    async with Kubelet(client, default=CRASHING):
        code, output = await matrix(str(graph), "--window", "0")
    assert code == 1, output
    assert "CrashLoopBackOff: container main: back-off restarting failed container" in output
    (result,) = matrix.results().values()
    assert (result["outcome"], result["directory"]) == ("fail", str(matrix.directory(CELL)))
    assert {pod["transitions"][-1]["reason"] for pod in result["pods"]} >= {"CrashLoopBackOff"}
    kept = {path.name: path.read_text() for path in matrix.directory(CELL).iterdir() if path.is_file()}
    assert {"Pod", "DynamoComponentDeployment"} <= {item["kind"] for item in json.loads(kept["objects.json"])}
    assert "SuccessfulCreate  ReplicaSet/chat-frontend" in kept["events.txt"]
    assert "log of chat-frontend" in kept["unread.txt"]
    assert "hunter2" not in "".join([output, *kept.values(), matrix.file.read_text()])
    assert await namespaces(client) == []


@pytest.mark.usefixtures("operator")
async def test_an_image_that_cannot_be_pulled_is_no_evidence(client: Client, matrix: Matrix) -> None:
    """It says nothing about the releases; the reason and the image are named."""
    async with Kubelet(client, default=UNPULLABLE):
        code, output = await matrix(CHAT, "--window", "0", "--timeout", "2")
    assert code == 3, output
    assert "ImagePullBackOff: container main: cannot pull nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.6.1" in output


@pytest.mark.parametrize(("repairs", "setting"), [(True, "off"), (False, "on")])
async def test_a_cell_that_needs_another_operator_is_no_evidence(
    cluster: Server,
    client: Client,
    matrix: Matrix,
    repairs: bool,  # noqa: FBT001 (pytest gives it by name)
    setting: str,
) -> None:
    """Repairs are the operator's setting: a cell with the other one is not judged by it."""
    options = OperatorOptions(render=RenderOptions(repairs=repairs))
    async with operating(cluster.kubeconfig, "", options=options), Kubelet(client, default=CRASHING):
        code, output = await matrix(
            str(EXAMPLES / "embedding.yaml"), "--baseline", "1.5", "--window", "0", "--repairs", setting
        )
    assert code == 3, output
    assert "the operator repairs DYN101" in output or not repairs
    assert "the operator did not repair DYN101" in output or repairs


@pytest.mark.usefixtures("operator")
async def test_an_interrupted_run_cleans_up_and_goes_on(client: Client, matrix: Matrix) -> None:
    """Ctrl-C while a graph is waited for: its namespace goes, and --resume runs only what has no result."""
    async with Kubelet(client, default=CRASHING) as kubelet:
        process = await matrix.start(CHAT, "--window", "0", "--canary", "both")
        assert process.stdout
        assert (await process.stdout.readline()).startswith(b"[1/2")
        kubelet.let(NEVER_READY)
        await until(lambda: bool(kubelet.pods.store))
        process.send_signal(signal.SIGINT)
        code, output = await matrix.ended(process)
        assert code == 130, output
        assert "nothing runs any more" in output
        assert await namespaces(client) == []
        first = matrix.results()
        assert len(first) == 1
        kubelet.let(CRASHING)
        code, output = await matrix(CHAT, "--window", "0", "--canary", "both", "--resume")
        assert code == 1, output
        assert "[1/1]" in output
        assert first.items() <= matrix.results().items()


@pytest.mark.usefixtures("operator")
async def test_what_a_killed_run_left_is_removed_by_the_next(client: Client, matrix: Matrix) -> None:
    """Kill -9 leaves a namespace; the next run of the same state directory removes it and no other."""
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "somebody-elses"}}
    await client.create(NAMESPACE, other)
    async with Kubelet(client, default=NEVER_READY) as kubelet:
        process = await matrix.start(CHAT, "--window", "0")
        await until(lambda: bool(kubelet.pods.store))
        process.kill()
        await matrix.ended(process)
        (left,) = await namespaces(client)
        kubelet.let(CRASHING)
        _, output = await matrix(CHAT, "--window", "0")
        assert f"removed namespace {left}, which an earlier run had left" in output
        assert await namespaces(client) == []
        assert await client.get(NAMESPACE, "somebody-elses")


def written(directory: Path, document: str) -> Path:
    """The chat graph and a document beside it."""
    file = directory / "graph.yaml"
    file.write_text(f"{Path(CHAT).read_text()}\n---\n{document}\n")
    return file


async def until(holds: Callable[[], bool]) -> None:
    """Return when it holds."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 (a cache of the kubelet's, which wakes nobody)
            await asyncio.sleep(0.1)


async def listed(client: Client, holds: Callable[[list[str]], bool]) -> list[str]:
    """The namespaces of cells, once it holds of them."""
    async with asyncio.timeout(60):
        while not holds(found := await namespaces(client)):  # noqa: ASYNC110 (no watch for a moment's question)
            await asyncio.sleep(0.1)
        return found


def place(cluster: Server, directory: Path, *, canary: bool = False) -> Callable[[], Any]:
    """A run of one cell, or of two, in this process, whose namespaces get 25 seconds and the pods' grace to go."""
    options = RenderOptions()
    (scenario,) = read_scenarios(load([str(directory / "graph.yaml")]), options)
    canaries = ("on", "off") if canary else ("default",)
    wanted = Wanted(scenarios=(scenario,), window=(Version(1, 6, 1),), canaries=canaries)  # type: ignore[arg-type] # literals

    def run() -> Any:
        with connected(cluster.kubeconfig, None) as connection:
            made = InCluster(connection, options, directory, timeout=30, gone_within=25)
            conduct_ = Conduct(results=directory / "results.json", jobs=1)
            return conduct(plan_run(wanted, options, cluster=True), wanted, made, conduct_, Silent(), {})

    return run


class Silent:
    """Hears nothing."""

    def started(self, cell: Any) -> None:
        """Nothing."""

    def doing(self, cell: Any, what: str) -> None:
        """Nothing."""

    def finished(self, result: Any) -> None:
        """Nothing."""


def hasty(directory: Path) -> None:
    """The chat graph with pods that get no time to end."""
    seconds = "terminationGracePeriodSeconds: 1\n          containers:"
    text = Path(CHAT).read_text().replace("containers:", seconds)
    (directory / "graph.yaml").write_text(text)


@pytest.mark.usefixtures("operator")
async def test_a_namespace_that_stays_stops_the_run(client: Client, cluster: Server, tmp_path: Path) -> None:
    """A finalizer that nobody answers: isolation is lost, no second cell is run, and the error says what keeps it."""
    hasty(tmp_path)
    async with Kubelet(client, default=CRASHING) as kubelet:
        kubelet.let(NEVER_READY)
        running = asyncio.create_task(asyncio.to_thread(place(cluster, tmp_path, canary=True)))
        found = await listed(client, bool)
        kept = {"name": "kept", "namespace": found[0], "finalizers": ["example.test/never"]}
        await client.create(CONFIG_MAP, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept})
        kubelet.let(CRASHING)
        with pytest.raises(LeftNamespaceError, match=rf"{found[0]} could not be removed in 26 s.*example\.test/never"):
            await running
        assert await namespaces(client) == found
        assert json.loads((tmp_path / "results.json").read_text())["results"] == {}
        await client.patch(CONFIG_MAP, "kept", found[0], {"metadata": {"finalizers": None}})
        await listed(client, lambda names: not names)


async def test_without_an_operator_the_run_ends(
    client: Client, cluster: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cell could be run, so none is tried after the first; nothing is left."""
    hasty(tmp_path)
    monkeypatch.setattr(settling, "OPERATOR_PATIENCE", 1.0)
    async with Kubelet(client):
        with pytest.raises(NoOperatorError, match="no operator looks at graphs"):
            await asyncio.to_thread(place(cluster, tmp_path))
    assert await namespaces(client) == []


def asked(server: Server, *command: str) -> subprocess.CompletedProcess[str]:
    """Another command about a cluster."""
    line = [sys.executable, "-m", "stator", *command, "--cluster", "--kubeconfig", str(server.kubeconfig)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


async def test_a_cluster_without_definitions_is_refused(tmp_path: Path) -> None:
    """Before any cell, with what to do; `check` and `diff` leave it undecided with the same exit code."""
    with own_server(tmp_path / "bare") as server:
        code, output = await Matrix(server.kubeconfig, tmp_path)(CHAT, "--window", "0")
        commands = (["check"], ["diff", CHAT], ["plan", CHAT, "--set", "worker=1.6.1"])
        others = [await asyncio.to_thread(asked, server, *command) for command in commands]
    assert code == 3
    assert "does not know DynamoGraphDeployment of nvidia.com/v1beta1" in output
    assert "stator install" in output
    for other in others:
        assert (other.returncode, other.stdout) == (3, "")
        assert "install the operator's definitions first" in other.stderr


async def test_every_missing_right_is_named_and_the_remedy_once(cluster: Server, tmp_path: Path) -> None:
    """The operator's own account may do much, but neither make namespaces nor pass requests on."""
    settings = Settings()
    objects = [own_namespace(settings), *access(settings)]
    cluster.run_kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    kubeconfig = cluster.kubeconfig_of(settings.namespace, "stator")
    code, output = await Matrix(kubeconfig, tmp_path)(CHAT, "--window", "0")
    assert code == 3
    assert "what cells need: create, get, list, delete namespaces; create dynamographdeployments.nvidia.com;" in output
    assert "get pods/log; get, create services/proxy" in output
    assert "list pods" not in output
    assert output.count("bind a ClusterRole") == output.count("no role of the account allows it") == 1


@pytest.mark.usefixtures("operator")
async def test_results_of_another_cluster_are_not_gone_on_with(
    client: Client, cluster: Server, matrix: Matrix, tmp_path: Path
) -> None:
    """Also not if its kubeconfig calls it the same; a cluster that is only called otherwise is the same."""
    async with Kubelet(client, default=UNPULLABLE):
        code, output = await matrix(CHAT, "--window", "0")
        assert code == 3, output
        before = matrix.file.read_bytes()
        with own_server(tmp_path / "other") as other:
            install(other)
            code, output = await Matrix(other.kubeconfig, tmp_path)(CHAT, "--window", "0", "--resume")
        assert code == 2, output
        assert "the results so far are of another cluster" in output
        assert "run without --resume" in output
        assert matrix.file.read_bytes() == before
        renamed = cluster.kubeconfig.with_name("renamed")  # beside the certificates
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        config["current-context"] = config["contexts"][0]["name"] = "renamed"
        renamed.write_text(yaml.safe_dump(config))
        code, output = await Matrix(renamed, tmp_path)(CHAT, "--window", "0", "--resume")
        assert code == 3, output
        assert "another cluster" not in output


async def test_options_for_this_machine_are_refused(matrix: Matrix) -> None:
    """They would do nothing."""
    code, output = await matrix(CHAT, "--engine", "mocker", "--offline")
    assert code == 2
    assert "--engine, --offline" in output
