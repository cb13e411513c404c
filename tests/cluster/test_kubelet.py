"""The simulated kubelet under real Deployments."""

from __future__ import annotations

from apiserver import Server
from following import Changes, running
from kubelet import CRASHING, NEVER_READY, NODE, READY, Kubelet

from stator.kube.client import Client
from stator.kube.informer import Informer, Scope
from stator.kube.resources import DEPLOYMENT, POD, Json, Key


def deployment(namespace: str, replicas: int = 2) -> Json:
    """A Deployment of one container."""
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "example.test/web:1"}]},
            },
        },
    }


async def test_a_deployment_gets_available_when_the_script_says_so(client: Client, namespace: str) -> None:
    """Not ready, then crashing, then ready, then gone: the real controllers see each step."""
    key = Key(namespace, "web")
    informer = Informer(client, DEPLOYMENT, scope=Scope(namespace=namespace))
    changes = Changes(informer)

    def ready() -> int:
        return int((informer.store.get(key) or {}).get("status", {}).get("readyReplicas", 0))

    async with Kubelet(client, namespace, NEVER_READY) as kubelet, running(informer):
        pods = Changes(kubelet.pods)
        await client.create(DEPLOYMENT, deployment(namespace))
        await pods.until(lambda: [_phase(kubelet, pod) for pod in kubelet.pods.store] == ["Running", "Running"])
        assert ready() == 0
        kubelet.let(CRASHING, app="web")
        await pods.until(lambda: all(_restarts(kubelet, pod) for pod in kubelet.pods.store))
        kubelet.let(READY)
        await changes.until(lambda: ready() == 2)
        await client.delete(DEPLOYMENT, "web", namespace, propagation="Foreground")
        await changes.until(lambda: key not in informer.store)
        assert (await client.list(POD, namespace)).items == []


def _phase(kubelet: Kubelet, key: Key) -> str:
    return str((kubelet.pods.store.get(key) or {}).get("status", {}).get("phase"))


def _restarts(kubelet: Kubelet, key: Key) -> int:
    statuses = (kubelet.pods.store.get(key) or {})["status"].get("containerStatuses") or [{"restartCount": 0}]
    return int(statuses[0]["restartCount"])


async def test_the_node_that_pods_name_is_there(cluster: Server, client: Client) -> None:
    """`kubectl get nodes` shows it Ready, also while several kubelets look after namespaces of one server."""
    async with Kubelet(client), Kubelet(client):
        shown = cluster.run_kubectl("get", "nodes", "--no-headers")
    assert any(line.split()[:2] == [NODE, "Ready"] for line in shown.splitlines())
