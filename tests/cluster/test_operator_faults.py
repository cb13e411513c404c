"""An operator whose connection to the API server misbehaves: it ends where it would have ended without."""

from __future__ import annotations

from pathlib import Path

import proxy as faults
import pytest
from kubelet import Kubelet
from operating import Json, Kubectl, View, condition, graph, operating
from proxy import Fault, Proxy, through

from stator.kube import client as client_module
from stator.kube import informer as informer_module
from stator.kube.client import Client
from stator.kube.informer import Informer
from stator.kube.resources import DEPLOYMENT
from stator.operator import kinds

WRITTEN = (
    "dynamographdeployments",
    "dynamocomponentdeployments",
    "deployments",
    "services",
    "serviceaccounts",
    "rolebindings",
)
WATCHED = (*WRITTEN, "pods", "dynamographdeploymentscalingadapters")
OLD, NEW = (f"reg/sglang-runtime:1.6.{patch}" for patch in (0, 1))

WRITES = {
    "409": (faults.answer(409, "Conflict"),),
    "429": (faults.answer(429, "TooManyRequests"),),
    "429 with a time": (faults.answer(429, "TooManyRequests", **{"Retry-After": "1"}),),
    "500": (faults.answer(500, "InternalError"),),
    "504": (faults.answer(504, "Timeout"),),
    "no answer": (faults.hang(),),
    "lost answers": (faults.lose_answer(), faults.lose_answer()),
}
WATCHES = {
    "broken off": (faults.cut(after=1), faults.cut(after=0)),
    "410": (faults.answer(410, "Expired"), faults.expire(after=1)),
    "429": (faults.answer(429, "TooManyRequests"),),
    "500": (faults.answer(500, "InternalError"),),
    "said twice": (faults.duplicate(),),
    "out of order": (faults.swap(1), faults.swap(2)),
    "half open": (faults.silence(after=1),),
    "lost": (faults.drop(1), faults.drop(2)),
}


def worker_images(view: View) -> list[str]:
    """The images of the workers' Deployments."""
    return [
        value["spec"]["template"]["spec"]["containers"][0]["image"]
        for value in view.all(DEPLOYMENT)
        if "worker" in value["metadata"]["name"]
    ]


def wanted(image: str) -> Json:
    """A graph with an adapter."""
    return graph(image=image, worker={"scalingAdapter": {}})


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that last minutes are over in seconds: for an answer, for a silent watch, for the end of one."""
    monkeypatch.setattr(client_module, "REQUEST_TIMEOUT", 2.0)
    monkeypatch.setattr(informer_module, "WATCH_SECONDS", (6, 8))
    assert Informer.__init__.__kwdefaults__
    monkeypatch.setitem(Informer.__init__.__kwdefaults__, "silence", 4.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("requests", "fault"),
    [
        *(pytest.param("writes", fault, id=f"writes: {name}") for name, fault in WRITES.items()),
        *(pytest.param("watches", fault, id=f"watches: {name}") for name, fault in WATCHES.items()),
    ],
)
async def test_a_rollout_ends_whatever_the_connection_does(
    namespace: str,
    client: Client,
    view: View,
    kubectl: Kubectl,
    proxy: Proxy,
    tmp_path: Path,
    requests: str,
    fault: tuple[Fault, ...],
) -> None:
    """Each kind of request fails at the start and again in the rollout; the new generation serves alone at the end."""
    chosen, plurals = (faults.writes, WRITTEN) if requests == "writes" else (faults.watches, WATCHED)

    def break_requests() -> None:
        for plural in plurals:
            for each in fault:
                proxy.on(chosen(plural), each)

    break_requests()
    async with operating(through(proxy, tmp_path), namespace) as operator, Kubelet(client, namespace):
        await kubectl.apply(wanted(OLD))
        await view.until(lambda: view.ready("chat"), within=120)
        break_requests()
        await kubectl.apply(wanted(NEW))
        await view.until(lambda: view.ready("chat") and worker_images(view) == [NEW], within=120)
        assert len([value for value in view.all(kinds.COMPONENT) if value["spec"]["type"] == "worker"]) == 1
        assert not operator.task.done()


async def test_an_operator_that_leads_and_has_nothing_to_do_renews_its_lease_and_no_more(
    namespace: str, client: Client, view: View, kubectl: Kubectl, proxy: Proxy, tmp_path: Path
) -> None:
    """Seen from the API server's side: no write but the Lease's, and nothing is read but by watches that stay open."""
    options = {"leader_elect": True, "own_namespace": namespace, "resync": 1.0}
    async with Kubelet(client, namespace), operating(through(proxy, tmp_path), namespace, **options) as operator:
        await kubectl.apply(wanted(NEW), graph("other"))
        await view.until(lambda: view.ready("chat") and view.ready("other"))
        await view.settle(operator)
        seen = len(proxy.seen)
        await operator.look(passes=60)
        requests = {request.partition("?")[0] for request in proxy.seen[seen:]}
        lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/stator"
        # Once in a while it looks whether another operator is there.
        assert requests <= {f"GET {lease}", f"PUT {lease}", "GET /apis/coordination.k8s.io/v1/leases"}
        assert f"PUT {lease}" in requests


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        (413, "RequestEntityTooLarge", "limit is 3145728"),
        (500, "InternalError", "etcdserver: request is too large"),
    ],
)
async def test_an_object_that_is_too_large_is_told_and_not_sent_again_and_again(
    namespace: str,
    view: View,
    kubectl: Kubectl,
    proxy: Proxy,
    tmp_path: Path,
    status: int,
    reason: str,
    message: str,
) -> None:
    """Nothing but a smaller graph helps, so the condition says it, and the operator does not hammer the server."""
    proxy.on(faults.writes("deployments"), faults.answer(status, reason, message), times=1000)
    async with operating(through(proxy, tmp_path), namespace) as operator:
        await kubectl.apply(graph())
        await view.until(
            lambda: (
                [condition(value, "Available").get("reason") for value in view.all(kinds.COMPONENT)]
                == ["Refused", "Refused"]
            )
        )
        assert all(message in condition(value, "Available")["message"] for value in view.all(kinds.COMPONENT))
        await view.until(lambda: condition(view.get(kinds.GRAPH, "chat"), "Ready").get("reason") == "Refused")
        assert condition(view.get(kinds.GRAPH, "chat"), "Ready")["message"].startswith(
            "Frontend: cannot apply Deployment/"
        )
        assert operator.failed == 0
        assert len([request for request in proxy.seen if "/deployments/" in request]) < 12


async def test_what_the_operator_may_not_make_is_told_by_the_graph(
    namespace: str, client: Client, view: View, kubectl: Kubectl, proxy: Proxy, tmp_path: Path
) -> None:
    """A right or a quota that is missing stops one component; the graph says which, and recovers with it."""
    why = "chat-frontend: exceeded quota: few"
    said = 'deployments.apps "chat-frontend" is forbidden: exceeded quota: few'
    full = [said]
    is_write = faults.writes("deployments")
    proxy.on(lambda request: bool(full) and is_write(request), faults.answer(403, "Forbidden", said), times=1000)
    async with operating(through(proxy, tmp_path), namespace), Kubelet(client, namespace):
        await kubectl.apply(graph())
        ready = lambda: condition(view.get(kinds.GRAPH, "chat"), "Ready")  # noqa: E731 # read anew at each change
        await view.until(lambda: ready().get("reason") == "Forbidden" and why in ready()["message"])
        full.clear()
        # Nobody tells the operator of a right that it has again: it looks after a minute, or at the next change.
        await kubectl("label", "dcd", "--all", "touched=yes")
        await view.until(lambda: view.ready("chat"))
