"""Rollouts on a real API server: what runs while one generation of workers replaces another."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from apiserver import Server
from kubelet import NEVER_READY, READY, Kubelet
from operating import Json, Kubectl, Operator, View, condition, graph, is_current, operating

from stator.kube.client import Client
from stator.kube.resources import DEPLOYMENT, POD
from stator.operator import kinds
from stator.operator.options import OperatorOptions
from stator.render import RenderOptions
from stator.versions import Version

A, B, C = (f"reg/sglang-runtime:1.6.{patch}" for patch in (0, 1, 2))
EMBEDDING = ["python3", "-m", "dynamo.sglang", "--model-path", "m", "--embedding-worker"]


def workers(view: View) -> list[Json]:
    """The worker components of all generations."""
    return [value for value in view.all(kinds.COMPONENT) if value["spec"].get("type") == "worker"]


def images(view: View) -> set[str]:
    """The images of the workers' pods that serve."""
    return {
        pod["spec"]["containers"][0]["image"]
        for pod in view.all(POD)
        if pod["metadata"]["labels"].get("nvidia.com/dynamo-component") == "Worker"
        and condition(pod, "Ready").get("status") == "True"
        and "deletionTimestamp" not in pod["metadata"]
    }


def rolled(view: View, image: str) -> bool:
    """Whether a graph is Ready, with workers of this image only."""
    return view.ready("chat") and len(workers(view)) == 1 and images(view) == {image}


def phase(view: View) -> Any:
    """The rollout's phase."""
    return (view.get(kinds.GRAPH, "chat")["status"].get("rollingUpdate") or {}).get("phase")


async def test_an_old_generation_leaves_after_the_new_one_serves(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """While the new workers do not come up the old ones go on serving, and the graph does not say Ready."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace) as kubelet:
        await kubectl.apply(graph(image=A))
        await view.until(lambda: rolled(view, A))
        [old] = workers(view)
        kubelet.let(NEVER_READY)
        for pod in view.all(POD):
            kubelet.let_labelled({"pod-template-hash": pod["metadata"]["labels"]["pod-template-hash"]}, READY)
        await kubectl.apply(graph(image=B))
        await view.until(lambda: len(workers(view)) == 2)
        await view.until(
            lambda: (view.get(kinds.GRAPH, "chat")["status"].get("rollingUpdate") or {}).get("phase") == "InProgress"
        )
        assert images(view) == {A}
        assert not view.ready("chat")
        [new] = [value for value in workers(view) if value["metadata"]["name"] != old["metadata"]["name"]]
        assert new["metadata"]["labels"]["nvidia.com/dynamo-worker-hash"] in new["metadata"]["name"]
        kubelet.let(READY)
        await view.until(lambda: rolled(view, B))
        assert phase(view) == "Completed"


async def test_a_change_of_mind_during_a_rollout_ends_in_the_last_wish(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """A to B to C without waiting, and back to A: one generation is left, and it is the one that was asked for last."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(graph(image=A))
        await view.until(lambda: rolled(view, A))
        first = workers(view)[0]["metadata"]["name"]
        await kubectl.apply(graph(image=B))
        await view.until(lambda: len(workers(view)) > 1)
        await kubectl.apply(graph(image=C))
        await view.until(lambda: rolled(view, C))
        await kubectl.apply(graph(image=A))
        await view.until(lambda: rolled(view, A))
        assert workers(view)[0]["metadata"]["name"] == first


@asynccontextmanager
async def upgraded(cluster: Server, namespace: str, **render: Any) -> AsyncIterator[Operator]:
    """An operator that renders otherwise."""
    options = OperatorOptions(render=RenderOptions(**render))
    async with operating(cluster.kubeconfig, namespace, options=options, resync=1.0) as operator:
        yield operator


async def test_an_upgraded_operator_replaces_no_pod(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Newer defaults, a new repair and other settings leave pod templates byte-identical and pods where they are."""
    wanted = graph(image="reg/sglang-runtime:1.5.0")
    wanted["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]["command"] = EMBEDDING
    async with Kubelet(client, namespace):
        async with upgraded(cluster, namespace, operator=Version(1, 5, 0), repairs=False):
            await kubectl.apply(wanted)
            await view.until(lambda: view.ready("chat"))
        pods = [value["metadata"]["uid"] for value in view.all(POD)]
        templates = [copy.deepcopy(value["spec"]["template"]) for value in view.all(DEPLOYMENT)]
        nats = ({"name": "NATS_SERVER", "value": "nats://other:4222"},)
        async with upgraded(cluster, namespace, infrastructure_env=nats) as operator:
            await view.settle(operator)
            assert view.ready("chat")
            assert [value["spec"]["template"] for value in view.all(DEPLOYMENT)] == templates
            assert [value["metadata"]["uid"] for value in view.all(POD)] == pods
            worker = view.get(kinds.GRAPH, "chat")["status"]["components"]["Worker"]
            assert "repairs" not in worker
            assert "DYN101" in [item["rule"] for item in worker["findings"]]


async def test_a_worker_that_does_not_come_up_gets_the_repair_of_an_upgraded_operator(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """An embedding worker that an older operator left broken becomes Ready under a newer one."""
    wanted = graph(image="reg/sglang-runtime:1.5.0")
    wanted["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]["command"] = EMBEDDING
    worker = {"nvidia.com/dynamo-component": "Worker"}
    async with Kubelet(client, namespace) as kubelet:
        kubelet.let_labelled(worker, NEVER_READY)
        async with upgraded(cluster, namespace, repairs=False):
            await kubectl.apply(wanted)
            await view.until(lambda: len(view.all(POD)) == 3)
            await view.until(lambda: is_current(view.get(kinds.GRAPH, "chat")))
        broken = {pod["metadata"]["labels"]["pod-template-hash"] for pod in view.all(POD)}
        kubelet.let_labelled(worker, READY)
        for template in broken:
            kubelet.let_labelled({**worker, "pod-template-hash": template}, NEVER_READY)
        async with upgraded(cluster, namespace):
            await view.until(lambda: view.ready("chat"))
            found = view.get(kinds.GRAPH, "chat")["status"]["components"]["Worker"]
            assert found["repairs"] == ["DYN101"]
            await view.until(lambda: view.events("Repaired"))


async def test_a_recreated_generation_never_overlaps(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """With the strategy Recreate no pod of the new generation is there while one of the old one is."""
    overlaps = []

    def wanted(image: str) -> Json:
        made = graph(image=image)
        template = made["spec"]["components"][1]["podTemplate"]
        template["metadata"] = {"annotations": {"nvidia.com/deployment-strategy": "Recreate"}}
        return made

    def watch() -> bool:
        found = {
            pod["spec"]["containers"][0]["image"]
            for pod in view.all(POD)
            if pod["metadata"]["labels"].get("nvidia.com/dynamo-component") == "Worker"
        }
        if len(found) > 1:
            overlaps.append(found)
        return rolled(view, B)

    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(wanted(A))
        await view.until(lambda: rolled(view, A))
        await kubectl.apply(wanted(B))
        await view.until(watch)
    assert not overlaps


def restarted(view: View, component: str) -> set[str]:
    """The restart ids of the pods of a component that are there to stay."""
    return {
        (pod["metadata"].get("annotations") or {}).get("nvidia.com/restartAt", "")
        for pod in view.all(POD)
        if pod["metadata"]["labels"].get("nvidia.com/dynamo-component") == component
        and "deletionTimestamp" not in pod["metadata"]
    }


async def test_a_restart_takes_one_component_after_another(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """The frontend's pods stay until the workers are back, which come first by the graph's own order."""
    wanted = graph()
    wanted["spec"]["restart"] = {"id": "monday", "strategy": {"type": "Sequential", "order": ["Worker", "Frontend"]}}
    async with operating(cluster.kubeconfig, namespace) as operator, Kubelet(client, namespace) as kubelet:
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        generation = workers(view)[0]["metadata"]["name"]
        running = {pod["metadata"]["labels"]["pod-template-hash"] for pod in view.all(POD)}
        kubelet.let(NEVER_READY)
        for template in running:
            kubelet.let_labelled({"pod-template-hash": template}, READY)
        await kubectl.apply(wanted)
        await view.until(lambda: "monday" in restarted(view, "Worker"))
        await view.until(lambda: view.get(kinds.GRAPH, "chat")["status"]["restart"].get("inProgress") == ["Worker"])
        await view.until(lambda: is_current(view.get(kinds.GRAPH, "chat")))
        assert restarted(view, "Frontend") == {""}
        assert not view.ready("chat")
        async with operating(cluster.kubeconfig, namespace, resync=1.0) as successor:
            await operator.stop()
            await view.settle(successor)
            assert restarted(view, "Frontend") == {""}, "another operator goes on where the restart is"
            kubelet.let(READY)
            await view.until(lambda: restarted(view, "Frontend") == restarted(view, "Worker") == {"monday"})
            await view.until(lambda: view.ready("chat"))
        assert view.get(kinds.GRAPH, "chat")["status"]["restart"] == {"observedID": "monday", "phase": "Completed"}
        assert [value["metadata"]["name"] for value in workers(view)] == [generation]
