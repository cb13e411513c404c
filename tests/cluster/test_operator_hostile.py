"""What people and other programs do to a graph's objects: the operator neither breaks, nor fights, nor forgets."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import pytest
from apiserver import Server
from kubelet import NEVER_READY, READY, Kubelet
from operating import Json, Kubectl, View, condition, graph, names, operating

from stator.kube.client import Client
from stator.kube.errors import BadRequestError, InvalidError, NotFoundError
from stator.kube.resources import DEPLOYMENT, NAMESPACE, POD, SERVICE
from stator.operator import kinds

OLD, NEW = (f"reg/sglang-runtime:1.6.{patch}" for patch in (0, 1))


def workers(view: View) -> list[Json]:
    """The worker components of all generations."""
    return [value for value in view.all(kinds.COMPONENT) if value["spec"].get("type") == "worker"]


def rolled(view: View, image: str) -> bool:
    """Whether a graph is Ready, with workers of this image only."""
    return view.ready("chat") and [image_of(value) for value in workers(view)] == [image]


def image_of(component: Json) -> str:
    """The image of a component's main container."""
    return str(component["spec"]["podTemplate"]["spec"]["containers"][0]["image"])


async def half_way(view: View, kubectl: Kubectl, kubelet: Kubelet) -> None:
    """A graph whose new workers do not come up beside the old ones."""
    await kubectl.apply(graph(image=OLD))
    await view.until(lambda: rolled(view, OLD))
    [old] = workers(view)
    kubelet.let_labelled({"nvidia.com/dynamo-component": "Worker"}, NEVER_READY)
    for pod in view.all(POD):
        if old["metadata"]["name"] in pod["metadata"]["name"]:
            kubelet.let_labelled({"pod-template-hash": pod["metadata"]["labels"]["pod-template-hash"]}, READY)
    await kubectl.apply(graph(image=NEW))
    await view.until(lambda: len(workers(view)) == 2)


async def test_a_graph_that_is_deleted_half_way_through_a_rollout_is_gone(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Both generations go, and neither comes back."""
    async with operating(cluster.kubeconfig, namespace, resync=1.0), Kubelet(client, namespace) as kubelet:
        await half_way(view, kubectl, kubelet)
        await kubectl("delete", "dgd", "chat", "--cascade=foreground", "--timeout=60s")
        await view.until(lambda: not any(map(view.all, (kinds.GRAPH, kinds.COMPONENT, DEPLOYMENT, SERVICE, POD))))


async def test_a_graph_that_changes_back_half_way_ends_where_it_was(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """A to B and back to A before B serves: the first generation serves alone, its pods never left."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace) as kubelet:
        await half_way(view, kubectl, kubelet)
        [first] = [value for value in workers(view) if image_of(value) == OLD]
        serving = [pod["metadata"]["uid"] for pod in view.all(POD) if first["metadata"]["name"] in str(pod["metadata"])]
        await kubectl.apply(graph(image=OLD))
        await view.until(lambda: rolled(view, OLD))
        assert names(workers(view)) == [first["metadata"]["name"]]
        assert set(serving) & {pod["metadata"]["uid"] for pod in view.all(POD)}


async def test_a_rollout_goes_on_when_what_is_on_record_was_lost(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Somebody strips the graph's annotations and status half way; both are written anew from what exists."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace) as kubelet:
        await half_way(view, kubectl, kubelet)
        old = view.get(kinds.GRAPH, "chat")["metadata"]["annotations"]
        lost = dict.fromkeys(old)
        await kubectl("patch", "dgd", "chat", "--type=merge", "-p", json.dumps({"metadata": {"annotations": lost}}))
        await kubectl(
            *("patch", "dgd", "chat", "--subresource=status", "--type=merge"), "-p", '{"status": {"components": null}}'
        )
        await view.until(
            lambda: view.get(kinds.GRAPH, "chat")["metadata"].get("annotations", {}).keys() >= {*old} - {LAST_APPLIED}
        )
        assert len(workers(view)) == 2
        kubelet.let(READY)
        await view.until(lambda: rolled(view, NEW))


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


async def test_a_component_under_another_name_takes_the_place_of_the_old_one(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Where no webhook forbids it: the old component is drained and deleted, the graph becomes Ready without it."""
    renamed = graph()
    renamed["spec"]["components"][0]["name"] = "Gateway"
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        await kubectl.apply(renamed)
        await view.until(lambda: view.ready("chat") and "chat-gateway" in names(view.all(kinds.COMPONENT)))
        await view.until(lambda: "chat-frontend" not in names([*view.all(kinds.COMPONENT), *view.all(DEPLOYMENT)]))
        assert set(view.get(kinds.GRAPH, "chat")["status"]["components"]) == {"Gateway", "Worker"}


@pytest.mark.parametrize("record", ["grove", "somebody"])
async def test_another_provider_on_record_moves_no_pod(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl, record: str
) -> None:
    """Who edits the record gets a condition, not the same pods twice; taken back, all is as before."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        pods = {pod["metadata"]["uid"] for pod in view.all(POD)}
        await kubectl("annotate", "--overwrite", "dgd", "chat", f"nvidia.com/workload-provider={record}")
        await view.until(lambda: condition(view.get(kinds.GRAPH, "chat"), "Ready")["status"] == "False")
        ready = condition(view.get(kinds.GRAPH, "chat"), "Ready")
        assert ready["reason"] in ("AmbiguousProvider", "InvalidSpec")
        assert "nvidia.com/workload-provider" in ready["message"]
        assert {pod["metadata"]["uid"] for pod in view.all(POD)} == pods
        await kubectl("annotate", "--overwrite", "dgd", "chat", "nvidia.com/workload-provider=component")
        await view.until(lambda: view.ready("chat"))
        assert {pod["metadata"]["uid"] for pod in view.all(POD)} == pods


async def test_an_adapter_that_somebody_deletes_comes_back_with_the_count_that_it_had(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """The graph still asks for one, and an autoscaler finds it where it left it."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(graph(worker={"scalingAdapter": {}}))
        await view.until(lambda: view.ready("chat"))
        await kubectl("scale", "dgdsa/chat-worker", "--replicas=3")
        await view.until(lambda: view.get(kinds.GRAPH, "chat")["spec"]["components"][1].get("replicas") == 3)
        uid = view.get(kinds.ADAPTER, "chat-worker")["metadata"]["uid"]
        await kubectl("delete", "dgdsa", "chat-worker")
        await view.until(lambda: view.get(kinds.ADAPTER, "chat-worker").get("metadata", {"uid": uid})["uid"] != uid)
        assert view.get(kinds.ADAPTER, "chat-worker")["spec"]["replicas"] == 3
        await view.until(lambda: view.ready("chat"))
        assert view.get(kinds.GRAPH, "chat")["spec"]["components"][1]["replicas"] == 3


async def test_a_component_that_is_edited_by_hand_says_so_and_is_let_go(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """The graph names the field and its new manager, and is Ready again when the edit is taken back."""
    edit = [{"op": "replace", "path": "/spec/podTemplate/spec/containers/0/image", "value": "reg/mine:1.6.0"}]
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        was = image_of(view.get(kinds.COMPONENT, "chat-frontend"))
        await kubectl("patch", "dcd", "chat-frontend", "--type=json", "-p", json.dumps(edit))
        await view.until(lambda: condition(view.get(kinds.GRAPH, "chat"), "Ready")["reason"] == "FieldConflict")
        assert "podTemplate" in condition(view.get(kinds.GRAPH, "chat"), "Ready")["message"]
        edit[0]["value"] = was
        await kubectl("patch", "dcd", "chat-frontend", "--type=json", "-p", json.dumps(edit))
        await view.until(lambda: view.ready("chat"))


async def test_pods_that_somebody_restarts_are_restarted(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """`kubectl rollout restart` and `pause` of a Deployment work; a paused one is not Ready and says so."""
    async with operating(cluster.kubeconfig, namespace, resync=1.0) as operator, Kubelet(client, namespace):
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        before = {pod["metadata"]["uid"] for pod in view.all(POD)}
        await kubectl("rollout", "restart", "deployment/chat-frontend")
        await kubectl("rollout", "status", "deployment/chat-frontend", "--timeout=60s")
        await view.until(lambda: view.ready("chat") and {pod["metadata"]["uid"] for pod in view.all(POD)} != before)
        writes = operator.requests["apply"]
        await view.settle(operator)
        await kubectl("rollout", "pause", "deployment/chat-frontend")
        await view.until(lambda: "paused" in condition(view.get(kinds.GRAPH, "chat"), "Ready").get("message", ""))
        await kubectl("rollout", "resume", "deployment/chat-frontend")
        await view.until(lambda: view.ready("chat"))
        assert operator.requests["apply"] - writes < 12


async def test_a_namespace_that_is_deleted_half_way_through_a_rollout_is_gone(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Nothing of the operator holds it up, and the operator goes on."""
    async with operating(cluster.kubeconfig, namespace, resync=1.0) as operator, Kubelet(client, namespace) as kubelet:
        await half_way(view, kubectl, kubelet)
        await kubectl("delete", "namespace", namespace, "--timeout=90s")
        with pytest.raises(NotFoundError):
            await client.get(NAMESPACE, namespace)
        assert not operator.task.done()
        assert operator.failed == 0
    await kubectl("create", "namespace", namespace)


LONG = "n" * 20
ODD: dict[str, Json] = {
    "no image": {"podTemplate": {"spec": {"containers": [{"name": "main"}]}}},
    "no containers": {"podTemplate": {"spec": {"containers": []}}},
    "no template": {"podTemplate": None},
    "containers of one name": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": "a:1"}] * 2}}},
    "a name nobody can have": {"name": "x" * 63},
    "a variable without a name": {
        "podTemplate": {"spec": {"containers": [{"name": "main", "image": "a:1", "env": [{"value": "x"}]}]}}
    },
    "variables of a wrong shape": {
        "podTemplate": {"spec": {"containers": [{"name": "main", "image": "a:1", "env": "x"}]}}
    },
    "a command of numbers": {"podTemplate": {"spec": {"containers": [{"name": "main", "image": "a:1", "args": [1]}]}}},
    "a volume without a name": {
        "podTemplate": {"spec": {"volumes": [{}], "containers": [{"name": "main", "image": "a:1"}]}}
    },
    "a claim template of a wrong shape": {
        "podTemplate": {"spec": {"containers": [{"name": "main", "image": "a:1", "resources": {"limits": [1]}}]}}
    },
    "labels of a wrong shape": {
        "podTemplate": {"metadata": {"labels": [1]}, "spec": {"containers": [{"name": "main", "image": "a:1"}]}}
    },
    "labels nobody can have": {
        "podTemplate": {
            "metadata": {"labels": {"a b": "c d"}},
            "spec": {"containers": [{"name": "main", "image": "a:1"}]},
        }
    },
    "an override that is no version": {"runtimeVersionOverride": "latest"},
}


async def test_graphs_that_no_webhook_has_seen_get_a_reason_each(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Whatever the API server stored: a condition that says what is wrong, no exception, and others are kept."""
    broken = {}
    for number, (what, change) in enumerate(ODD.items()):
        value = copy.deepcopy(graph(f"odd-{number}"))
        value["spec"]["components"][0].update(change)
        broken[what] = value
    options = {"resync": 2.0}
    async with operating(cluster.kubeconfig, namespace, **options) as operator, Kubelet(client, namespace):
        stored = []
        for what, value in broken.items():
            # What the schema alone refuses is not stored.
            with suppress(InvalidError, BadRequestError):
                await client.create(kinds.GRAPH, {**value, "metadata": {**value["metadata"], "namespace": namespace}})
                stored.append((what, value["metadata"]["name"]))
        assert len(stored) > 5, "the schema alone refuses all the others"
        await kubectl.apply(graph())
        await view.until(lambda: view.ready("chat"))
        await view.until(lambda: all(condition(view.get(kinds.GRAPH, name), "Ready") for _, name in stored))
        told = {what: condition(view.get(kinds.GRAPH, name), "Ready") for what, name in stored}
        assert operator.failed == 0, told
        for what, ready in told.items():
            assert ready["status"] == "False", what
            assert ready["message"], what
        versions = [view.get(kinds.GRAPH, name)["metadata"]["resourceVersion"] for _, name in stored]
        await operator.look(passes=3 * len(stored))
        assert versions == [view.get(kinds.GRAPH, name)["metadata"]["resourceVersion"] for _, name in stored]


async def test_a_graph_as_large_as_the_server_takes_is_kept(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Hundreds of kilobytes of variables reach the pods, and go with the graph: nothing of it is kept a second time."""
    large = graph()
    large["metadata"]["namespace"] = namespace
    large["spec"]["env"] = [{"name": f"V{number}", "value": "x" * 1000} for number in range(300)]
    async with operating(cluster.kubeconfig, namespace) as operator, Kubelet(client, namespace):
        await client.create(kinds.GRAPH, large)
        await view.until(lambda: view.ready("chat"))
        assert operator.failed == 0
        await kubectl("delete", "dgd", "chat", "--timeout=60s")
        await view.until(lambda: not view.all(DEPLOYMENT))


@pytest.mark.parametrize(
    ("name", "component", "reason"),
    [
        ("a" * 30, "W" * 23, "all_resources_are_ready"),
        ("a" * 40, "W" * 30, "InvalidSpec"),
        ("chat.v2", "Worker", "all_resources_are_ready"),
        ("0chat", "Worker", "InvalidSpec"),
    ],
)
async def test_names_up_to_the_limit_work_and_longer_ones_are_told(
    cluster: Server,
    namespace: str,
    client: Client,
    view: View,
    kubectl: Kubectl,
    name: str,
    component: str,
    reason: str,
) -> None:
    """A workload's name has 63 characters, with the generation in it; what is longer names itself in the condition."""
    value = graph(name)
    value["spec"]["components"][1]["name"] = component
    async with operating(cluster.kubeconfig, namespace) as operator, Kubelet(client, namespace):
        await kubectl.apply(value)
        await view.until(lambda: condition(view.get(kinds.GRAPH, name), "Ready").get("reason") == reason)
        assert operator.failed == 0
