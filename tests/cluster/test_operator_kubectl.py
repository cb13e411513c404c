"""What a user of kubectl sees and does."""

from __future__ import annotations

import copy
import json

from apiserver import Server
from kubelet import Kubelet
from operating import Kubectl, View, graph, operating

from stator.kube.client import Client
from stator.kube.resources import POD
from stator.operator import kinds


async def test_a_day_with_kubectl(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Apply, wait, get with columns, explain, diff, scale, describe and delete work as for any resource."""
    wanted = graph(worker={"scalingAdapter": {}})
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(wanted)
        await kubectl("wait", "--for=condition=Ready", "dgd/chat", "--timeout=60s")
        await kubectl("wait", "--for=condition=Available", "dcd", "--all", "--timeout=60s")
        rows = [line.split() for line in (await kubectl("get", "dgd")).splitlines()]
        assert rows[0] == ["NAME", "READY", "BACKEND", "AGE"]
        assert rows[1][:2] == ["chat", "True"]
        rows = [line.split() for line in (await kubectl("get", "dcd")).splitlines()]
        assert rows[0] == ["NAME", "AVAILABLE", "BACKEND", "AGE"]
        assert {row[1] for row in rows[1:]} == {"True"}
        rows = [line.split() for line in (await kubectl("get", "dgdsa")).splitlines()]
        assert rows[0] == ["NAME", "DGD", "COMPONENT", "REPLICAS", "AGE"]
        assert rows[1][:4] == ["chat-worker", "chat", "Worker", "2"]
        explained = await kubectl("explain", "dgd.spec.components.runtimeVersionOverride")
        assert "DESCRIPTION" in explained
        assert await kubectl("diff", "-f", "-", stdin=wanted) == ""
        changed = copy.deepcopy(wanted)
        changed["spec"]["components"][0]["sharedMemorySize"] = "1Gi"
        await kubectl("diff", "-f", "-", stdin=changed, fails=True)
        await kubectl("scale", "dgdsa/chat-worker", "--replicas=1")
        await view.until(lambda: view.ready("chat") and len(view.all(POD)) == 2)
        described = await kubectl("describe", "dgd", "chat")
        assert "Version Source:" in described
        assert await kubectl("diff", "-f", "-", stdin=wanted) == "", "replicas that nobody wrote are nobody's change"
        await kubectl("delete", "dgd", "chat", "--wait", "--timeout=60s")
        await view.until(lambda: not view.all(kinds.COMPONENT))


async def test_the_status_tells_versions_and_repairs(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """`kubectl get dgd -o json` shows for each component its release, how it is known, and the repairs in its pods."""
    wanted = graph(image="reg/sglang-runtime:1.5.0")
    container = wanted["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]
    container["command"] = ["python3", "-m", "dynamo.sglang", "--model-path", "m", "--embedding-worker"]
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(wanted)
        await view.until(lambda: view.ready("chat"))
        status = json.loads(await kubectl("get", "dgd", "chat", "-o", "json"))["status"]["components"]
        assert (status["Frontend"]["version"], status["Frontend"]["versionSource"]) == ("1.5.0", "tag")
        assert status["Worker"]["repairs"] == ["DYN101"]
        assert [item["severity"] for item in status["Worker"]["findings"] if item["rule"] == "DYN101"] == ["info"]
