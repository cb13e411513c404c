"""Graphs kept by an operator on a real API server, with a simulated kubelet under real controllers."""

from __future__ import annotations

from pathlib import Path

import pytest
from apiserver import Server
from kubelet import Kubelet
from operating import Json, Kubectl, View, condition, graph, is_current, names, operating

from stator.kube.client import Client
from stator.kube.resources import DEPLOYMENT, POD, SERVICE
from stator.operator import kinds

EXAMPLES = Path(__file__).parents[2] / "examples"


def owner(value: Json) -> str:
    """The kind of an object's controller."""
    return next((item["kind"] for item in value["metadata"].get("ownerReferences", ()) if item["controller"]), "")


@pytest.mark.parametrize("example", ["chat.yaml", "embedding.yaml"])
async def test_an_example_becomes_ready(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl, example: str
) -> None:
    """What a user applies ends in Ready by itself, and each object has an owner."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl("apply", "-f", str(EXAMPLES / example))
        await view.until(lambda: [value for value in view.all(kinds.GRAPH) if view.ready(value["metadata"]["name"])])
        assert {owner(value) for value in view.all(kinds.COMPONENT)} == {"DynamoGraphDeployment"}
        assert {owner(value) for value in view.all(DEPLOYMENT)} == {"DynamoComponentDeployment"}
        [found] = view.all(kinds.GRAPH)
        status = found["status"]
        assert status["state"] == "successful"
        assert {part["versionSource"] for part in status["components"].values()} == {"tag"}
        ready = [
            event for event in view.events("all_resources_are_ready") if event["regarding"]["kind"] == found["kind"]
        ]
        assert len(ready) <= 1


async def test_a_steady_graph_costs_no_write(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Once a graph is Ready, looking at it again changes nothing, and a restarted operator writes nothing either."""
    async with Kubelet(client, namespace):
        async with operating(cluster.kubeconfig, namespace, resync=1.0) as operator:
            await kubectl.apply(graph(worker={"scalingAdapter": {}, "modelRef": {"name": "Qwen/Qwen3-0.6B"}}))
            await view.until(lambda: view.ready("chat"))
            await view.settle(operator)
        async with operating(cluster.kubeconfig, namespace, resync=1.0) as operator:
            await view.settle(operator)
            assert operator.writes == 0, operator.requests


@pytest.mark.parametrize("propagation", ["background", "foreground", "orphan"])
async def test_a_deleted_graph_is_not_made_anew(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl, propagation: str
) -> None:
    """Whatever way a graph is deleted in, nothing of it comes back; what was orphaned stays as it was."""
    async with operating(cluster.kubeconfig, namespace, resync=1.0) as operator, Kubelet(client, namespace):
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        before = {value["metadata"]["uid"] for value in view.all(kinds.COMPONENT)}
        await kubectl("delete", "dgd", "chat", f"--cascade={propagation}")
        await view.until(lambda: not view.all(kinds.GRAPH))
        if propagation == "orphan":
            assert {value["metadata"]["uid"] for value in view.all(kinds.COMPONENT)} == before
        else:
            await view.until(lambda: not any(map(view.all, (kinds.COMPONENT, DEPLOYMENT, SERVICE, POD))))
        made = operator.requests["apply"]
        await view.settle(operator, passes=4 if propagation == "orphan" else 0)
        if propagation != "orphan":
            assert not view.all(DEPLOYMENT)
        assert operator.requests["apply"] == made


async def test_a_graph_made_again_takes_back_what_was_orphaned(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Pods that go on serving after an orphaning deletion are adopted, not replaced."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        pods = names(view.all(POD))
        await kubectl("delete", "dgd", "chat", "--cascade=orphan")
        await view.until(lambda: not view.all(kinds.GRAPH))
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        assert names(view.all(POD)) == pods
        uid = view.get(kinds.GRAPH, "chat")["metadata"]["uid"]
        owners = {value["metadata"]["ownerReferences"][0]["uid"] for value in view.all(kinds.COMPONENT)}
        assert owners == {uid}


async def test_a_count_that_an_autoscaler_sets_is_carried(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """A HorizontalPodAutoscaler on the frontend's Deployment keeps its number through edits of the graph."""
    async with operating(cluster.kubeconfig, namespace, resync=1.0) as operator, Kubelet(client, namespace):
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        await client.scale(DEPLOYMENT, "chat-frontend", namespace, 3)
        await view.until(lambda: view.get(kinds.GRAPH, "chat")["status"]["components"]["Frontend"]["replicas"] == 3)
        await view.until(lambda: view.ready("chat"))
        await kubectl.apply(graph(frontend={"sharedMemorySize": "1Gi"}))
        await view.until(
            lambda: (
                is_current(view.get(kinds.GRAPH, "chat"))
                and "1Gi" in str(view.get(DEPLOYMENT, "chat-frontend")["spec"])
                and view.ready("chat")
            )
        )
        await view.settle(operator)
        assert view.get(DEPLOYMENT, "chat-frontend")["spec"]["replicas"] == 3


async def test_an_adapter_scales_its_component(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """`kubectl scale` on the adapter sets the graph's replicas, and they reach the pods."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(graph(worker={"scalingAdapter": {}}))
        await view.until(lambda: view.ready("chat"))
        await kubectl("scale", "dgdsa/chat-worker", "--replicas=3")
        await view.until(
            lambda: (
                view.ready("chat") and view.get(kinds.GRAPH, "chat")["status"]["components"]["Worker"]["replicas"] == 3
            )
        )
        assert [part.get("replicas") for part in view.get(kinds.GRAPH, "chat")["spec"]["components"]] == [1, 3]
        await view.until(lambda: view.get(kinds.ADAPTER, "chat-worker")["status"].get("replicas") == 3)
        assert len(view.events("Scaled")) == 1


async def test_somebody_elses_object_is_refused(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """A Service of the name that a frontend needs stays as it is; the graph says whose it is, once, and recovers."""
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "chat-frontend"},
        "spec": {"ports": [{"port": 1234}], "selector": {"app": "db"}},
    }
    async with operating(cluster.kubeconfig, namespace) as operator, Kubelet(client, namespace):
        await kubectl.apply(foreign)
        before = (await client.get(SERVICE, "chat-frontend", namespace))["metadata"]["resourceVersion"]
        await kubectl.apply(graph())
        await view.until(
            lambda: condition(view.get(kinds.COMPONENT, "chat-frontend"), "OwnershipConflict").get("status") == "True"
        )
        await view.until(lambda: view.events("OwnershipConflict"))
        await view.until(lambda: condition(view.get(kinds.GRAPH, "chat"), "Ready").get("reason") == "OwnershipConflict")
        assert condition(view.get(kinds.GRAPH, "chat"), "Ready")["message"] == (
            "Frontend: Service chat-frontend exists and was not made by this operator, but by kubectl-client-side-apply"
        )
        assert (await client.get(SERVICE, "chat-frontend", namespace))["metadata"]["resourceVersion"] == before
        told = [item for item in view.events("OwnershipConflict") if item["regarding"]["name"] == "chat-frontend"]
        assert len(told) == 1
        await view.until(lambda: len(view.events("OwnershipConflict")) == 2)
        await kubectl("delete", "service", "chat-frontend")
        # Nobody tells the operator of a name that is free again: it looks after a minute, or at the next change.
        await kubectl("label", "dcd", "chat-frontend", "touched=yes")
        await view.until(lambda: view.ready("chat"))
        assert operator.task.done() is False


async def test_a_field_that_somebody_took_is_told_not_fought_over(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """An image set by hand on the Deployment stays; component and graph name the manager and the field."""
    async with operating(cluster.kubeconfig, namespace, resync=1.0) as operator, Kubelet(client, namespace):
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        await kubectl("set", "image", "deployment/chat-frontend", "main=reg/other:1.6.0")
        await view.until(
            lambda: condition(view.get(kinds.COMPONENT, "chat-frontend"), "Available").get("reason") == "FieldConflict"
        )
        message = condition(view.get(kinds.COMPONENT, "chat-frontend"), "Available")["message"]
        assert "image is set by kubectl-set" in message
        await view.until(lambda: condition(view.get(kinds.GRAPH, "chat"), "Ready")["reason"] == "FieldConflict")
        assert condition(view.get(kinds.GRAPH, "chat"), "Ready")["message"] == f"Frontend: {message}"
        [container] = view.get(DEPLOYMENT, "chat-frontend")["spec"]["template"]["spec"]["containers"]
        assert container["image"] == "reg/other:1.6.0"
        await view.until(lambda: view.events("FieldConflict"))
        told = [event for event in view.events("FieldConflict") if event["regarding"]["name"] == "chat-frontend"]
        assert len(told) == 1
        assert not operator.task.done()


async def test_what_admission_never_saw_is_a_condition(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """A graph that cannot be rendered says why in its conditions and in one event; the operator goes on."""
    broken = graph("broken")
    broken["spec"]["annotations"] = {"nvidia.com/deployment-rolling-update-max-surge": "lots"}
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(broken, graph())
        await view.until(lambda: condition(view.get(kinds.GRAPH, "broken"), "Ready"))
        ready = condition(view.get(kinds.GRAPH, "broken"), "Ready")
        assert ready["status"] == "False"
        assert "max-surge" in ready["message"]
        await view.until(lambda: view.ready("chat"))
        assert not [value for value in view.all(DEPLOYMENT) if value["metadata"]["name"].startswith("broken")]


async def test_a_removed_child_comes_back(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """What somebody deletes of a graph that is still wanted is made anew."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        for kind, name in (
            (SERVICE, "chat-frontend"),
            (DEPLOYMENT, "chat-frontend"),
            (kinds.COMPONENT, "chat-frontend"),
        ):
            before = view.get(kind, name)["metadata"]["uid"]
            await client.delete(kind, name, namespace)
            await view.until(lambda: view.get(kind, name).get("metadata", {}).get("uid", before) != before)  # noqa: B023 (awaited in the same round)
        await view.until(lambda: view.ready("chat"))
