"""Graphs that need more than Deployments, under an operator with the rights of an installation and no others.

What other projects bring is there as a definition without a controller: what is made of a graph can be seen, nothing
of it becomes Ready.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from apiserver import Server
from foreign import FOREIGN, definition
from installed import SETTINGS, apply, own_server
from kubelet import Kubelet
from operating import Json, Kubectl, View, condition, graph, operating

from stator.install.crds import custom_resource_definitions
from stator.install.rights import access
from stator.install.workload import namespace as own_namespace
from stator.kube.client import Client
from stator.kube.resources import DEPLOYMENT, INGRESS, RESOURCE_CLAIM_TEMPLATE, SECRET, Kinds
from stator.model.conversion import to_beta
from stator.operator import kinds

GOLDEN = Path(__file__).parents[1] / "render" / "golden"
REFUSES_GROVE = {"nvidia.com/enable-grove": "false"}
PULL = "regcred"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server that only these tests use: an installation that names a pull Secret, and stand-ins for others."""
    with own_server(tmp_path_factory.mktemp("kinds")) as server:
        apply(server, [own_namespace(SETTINGS), *custom_resource_definitions(None)])
        apply(server, [*access(SETTINGS.__class__(pull_secrets=(PULL,)))])
        apply(server, [definition(kind) for kind in (*FOREIGN, kinds.KAI_QUEUE)])
        server.wait_established()
        yield server


@pytest.fixture(scope="module")
def account(cluster: Server) -> Path:
    """A kubeconfig of the operator's own account."""
    return cluster.kubeconfig_of(SETTINGS.namespace, "stator")


def golden(namespace: str) -> Iterator[Json]:
    """Every graph that rendering has a golden file for, in both ways that its pods can be run."""
    for path in sorted(GOLDEN.glob("*/graph.yaml")):
        for number, notes in enumerate(({}, REFUSES_GROVE)):
            value = yaml.safe_load(path.read_text())
            value = to_beta(value) if value["apiVersion"].endswith("alpha1") else value
            metadata = value["metadata"]
            metadata |= {"name": f"g{number}-{path.parent.name}"[:20].rstrip("-"), "namespace": namespace}
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **notes}
            yield value


async def test_every_graph_of_the_golden_files_is_kept(
    cluster: Server, account: Path, namespace: str, client: Client
) -> None:
    """Whatever kinds a graph needs, a pass over it ends with a condition that says how it is, never in an exception."""
    async with View(client, namespace).follow() as view, operating(account, namespace) as operator:
        wanted = list(golden(namespace))
        await Kubectl(cluster, namespace).apply(ingress_class("nginx"), *wanted)
        of_graphs = [value["metadata"]["name"] for value in wanted if value["kind"] == kinds.GRAPH.kind]

        def told() -> bool:
            graphs = (condition(view.get(kinds.GRAPH, name), "Ready") for name in of_graphs)
            components = (condition(value, "Available") for value in view.all(kinds.COMPONENT))
            return all([*graphs, *components])

        await view.until(told)
        await view.until(lambda: len(view.all(kinds.COMPONENT)) > len(of_graphs) // 2)
        assert operator.failed == 0
        refused = {
            f"{value['metadata']['name']}: {found['message']}"
            for kind, name in ((kinds.GRAPH, "Ready"), (kinds.COMPONENT, "Available"))
            for value in view.all(kind)
            if (found := condition(value, name))["reason"] in ("Refused", "Forbidden", "InvalidSpec", "NotInstalled")
        }
        assert not refused
        [claims] = (await client.list(RESOURCE_CLAIM_TEMPLATE, namespace)).items[:1]
        assert claims["metadata"]["ownerReferences"][0]["controller"]


def wide(name: str) -> Json:
    """A graph of one TensorRT-LLM worker on two nodes."""
    value: Json = yaml.safe_load((GOLDEN / "multinode-trtllm" / "graph.yaml").read_text())
    value["metadata"] = {"name": name, "annotations": REFUSES_GROVE}
    return value


async def test_engines_that_span_nodes_find_a_key_pair(
    account: Path, namespace: str, client: Client, kubectl: Kubectl, tmp_path: Path
) -> None:
    """The Secret is made before the pods that mount it, once for the namespace, and OpenSSH can use it."""
    async with View(client, namespace).follow() as view:
        async with operating(account, namespace) as operator:
            await kubectl.apply(wide("one"))
            await view.until(lambda: [value for value in view.all(kinds.COMPONENT) if condition(value, "Available")])
            first = await client.get(SECRET, "mpi-run-ssh-secret", namespace)
            [made] = (await client.list(kinds.LEADER_WORKER_SET, namespace)).items
            assert "mpi-run-ssh-secret" in str(
                made["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["volumes"]
            )
            assert int(first["metadata"]["resourceVersion"]) < int(made["metadata"]["resourceVersion"])
            await kubectl.apply(wide("two"))
            await view.until(
                lambda: len([value for value in view.all(kinds.COMPONENT) if condition(value, "Available")]) == 2
            )
            assert (await client.get(SECRET, "mpi-run-ssh-secret", namespace)) == first
            told = json.dumps([view.all(kinds.GRAPH), view.all(kinds.COMPONENT)])
        assert operator.failed == 0
        async with operating(account, namespace, resync=1.0) as operator:
            await view.settle(operator, passes=4)
            assert operator.writes == 0, operator.requests
    files = {name: base64.b64decode(text) for name, text in first["data"].items()}
    private = tmp_path / "key"
    private.touch(mode=0o600)
    private.write_bytes(files["private.key"])
    public = await asyncio.to_thread(
        subprocess.run, ["ssh-keygen", "-y", "-f", private], capture_output=True, check=True
    )
    assert public.stdout.split()[:2] == files["private.key.pub"].split()[:2]
    assert files["private.key.pub"].split()[1].decode() not in told
    assert first["data"]["private.key"] not in told


def pull_secret(name: str, *registries: str) -> Json:
    """A Secret with credentials for registries."""
    config = {"auths": {registry: {"auth": "aHVudGVyMjpodW50ZXIy"} for registry in registries}}
    encoded = base64.b64encode(json.dumps(config).encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": encoded},
    }


def pulls(view: View) -> set[str]:
    """The pull Secrets of all Deployments' pods."""
    specs = [value["spec"]["template"]["spec"] for value in view.all(DEPLOYMENT)]
    return {item["name"] for spec in specs for item in spec.get("imagePullSecrets") or ()}


async def test_a_named_pull_secret_is_given_to_the_pods_whose_registry_it_is_for(
    account: Path, namespace: str, client: Client, kubectl: Kubectl
) -> None:
    """By registry, from the moment it is there, without replacing pods that serve; another Secret is never read."""
    wanted = graph(image="private.example/sglang-runtime:1.6.1")
    wanted["metadata"]["annotations"] = REFUSES_GROVE
    other = copy.deepcopy(wanted)
    other["metadata"]["name"] = "other"
    for component in other["spec"]["components"]:
        component["podTemplate"]["spec"]["containers"][0]["image"] = "public.example/sglang-runtime:1.6.1"
    options = {"pull_secrets": (PULL,), "resync": 1.0}
    async with View(client, namespace).follow() as view, Kubelet(client, namespace):
        await kubectl.apply(pull_secret(PULL, "https://private.example/v2/"), pull_secret("unnamed", "public.example"))
        async with operating(account, namespace, **options) as operator:
            await kubectl.apply(wanted, other)
            await view.until(lambda: view.ready("chat") and view.ready("other"))
            assert pulls(view) == {PULL}
            assert {
                value["metadata"]["name"]
                for value in view.all(DEPLOYMENT)
                if value["spec"]["template"]["spec"].get("imagePullSecrets")
            } == {value["metadata"]["name"] for value in view.all(DEPLOYMENT) if value["metadata"]["name"][0] == "c"}
            templates = [copy.deepcopy(value["spec"]["template"]) for value in view.all(DEPLOYMENT)]
            await kubectl("delete", "secret", PULL)
            await kubectl.apply(pull_secret(PULL, "public.example"))
            await view.settle(operator, passes=4)
            assert [value["spec"]["template"] for value in view.all(DEPLOYMENT)] == templates
            assert "hunter2" not in operator.metrics.text().decode()
        assert operator.failed == 0


async def test_groves_pods_go_to_the_scheduler_of_gangs_that_is_installed(
    account: Path, namespace: str, client: Client, kubectl: Kubectl
) -> None:
    """KAI is found by its own kind; another choice can be made for the whole operator."""
    for choice, expected in (("auto", "kai-scheduler"), ("none", None)):
        name = f"gang-{choice}"
        async with View(client, namespace).follow() as view, operating(account, namespace, scheduler=choice):
            await kubectl.apply(graph(name))
            await view.until(lambda name=name: condition(view.get(kinds.GRAPH, name), "Ready"))
            made = await client.get(kinds.POD_CLIQUE_SET, name, namespace)
        cliques = made["spec"]["template"]["cliques"]
        assert {clique["spec"]["podSpec"].get("schedulerName") for clique in cliques} == {expected}


async def test_a_graph_whose_name_grove_cannot_use_is_told_and_runs_without_grove(
    account: Path, namespace: str, client: Client, kubectl: Kubectl
) -> None:
    """No webhook refused it: a condition names the field, no set is made, and declining Grove is the way out."""
    async with (
        View(client, namespace).follow() as view,
        operating(account, namespace) as operator,
        Kubelet(client, namespace),
    ):
        await kubectl.apply(graph("chat.v2"))
        await view.until(lambda: condition(view.get(kinds.GRAPH, "chat.v2"), "Ready"))
        ready = condition(view.get(kinds.GRAPH, "chat.v2"), "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "InvalidSpec")
        assert "metadata.name" in ready["message"]
        assert not (await client.list(kinds.POD_CLIQUE_SET, namespace)).items
        await kubectl("annotate", "dgd", "chat.v2", "nvidia.com/enable-grove=false")
        await view.until(lambda: view.ready("chat.v2"))
        assert operator.failed == 0


def ingress_class(name: str) -> Json:
    """A class for Ingresses, as its controller's installation brings it."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": {"name": name},
        "spec": {"controller": f"example.com/{name}"},
    }


async def test_an_ingress_whose_class_is_missing_says_what_to_install(
    account: Path, namespace: str, client: Client, kubectl: Kubectl
) -> None:
    """It is made all the same; once the class is there the graph becomes Ready."""
    wanted = to_beta(
        {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": "web", "namespace": namespace, "annotations": dict(REFUSES_GROVE)},
            "spec": {
                "services": {
                    "Frontend": {
                        "componentType": "frontend",
                        "ingress": {"enabled": True, "host": "chat", "ingressControllerClassName": "traffic"},
                        "extraPodSpec": {"mainContainer": {"image": "reg/dynamo-frontend:1.6.1"}},
                    }
                }
            },
        }
    )
    async with View(client, namespace).follow() as view, operating(account, namespace), Kubelet(client, namespace):
        await kubectl.apply(wanted)
        await view.until(
            lambda: condition(view.get(kinds.COMPONENT, "web-frontend"), "Available").get("reason") == "NotInstalled"
        )
        message = condition(view.get(kinds.COMPONENT, "web-frontend"), "Available")["message"]
        assert "no IngressClass traffic: install an ingress controller" in message
        await view.until(lambda: condition(view.get(kinds.GRAPH, "web"), "Ready").get("reason") == "NotInstalled")
        assert condition(view.get(kinds.GRAPH, "web"), "Ready")["message"] == f"Frontend: {message}"
        assert (await client.get(INGRESS, "web-frontend", namespace))["spec"]["ingressClassName"] == "traffic"
        await kubectl.apply(ingress_class("traffic"))
        # Nobody tells the operator of a class: it looks after a minute, or at the next change.
        await kubectl("label", "dcd", "web-frontend", "touched=yes")
        await view.until(lambda: view.ready("web"))


def test_every_kind_that_is_applied_can_be_followed() -> None:
    """The operator knows each kind of the golden renderings, and whether it may be missing."""
    made = {
        (item["apiVersion"], item["kind"])
        for path in GOLDEN.glob("*/expected.yaml")
        for item in yaml.safe_load_all(path.read_text())
        if item
    }
    table = Kinds(*kinds.OWN, *kinds.OPTIONAL)
    for api_version, kind in made:
        assert kinds.named(kind) == table.of({"apiVersion": api_version, "kind": kind})
