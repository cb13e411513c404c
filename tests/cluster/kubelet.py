"""A scheduler and kubelet that start no container: Pods become what a script says.

Everything above them is real: the Deployment controller sees Pods get ready, fail and end. A Pod that is deleted stays
until this kubelet confirms its end, as on a node.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from stator.kube.client import Client
from stator.kube.controller import Controller
from stator.kube.errors import AlreadyExistsError, ConflictError, NotFoundError
from stator.kube.informer import Informer, Scope
from stator.kube.resources import POD, Json, Key, Kind

NODE = "node-1"
NODE_KIND = Kind("", "v1", "Node", "nodes", namespaced=False)


class Behaviour(Struct, frozen=True, kw_only=True):
    """What a Pod does. `after` is seconds of running before it is ready; `restarts` are crashes so far.

    `waiting` is why its containers wait and do not run, as `ImagePullBackOff`.
    """

    scheduled: bool = True
    ready: bool = True
    after: float = 0.0
    crashing: bool = False
    waiting: str = ""
    restarts: int = 0
    ends: bool = True


READY = Behaviour()
NEVER_READY = Behaviour(ready=False)
UNSCHEDULABLE = Behaviour(scheduled=False, ready=False)
CRASHING = Behaviour(ready=False, crashing=True, restarts=5)
UNPULLABLE = Behaviour(ready=False, waiting="ImagePullBackOff")
HANGING = Behaviour(ends=False)


class Kubelet:
    """`async with Kubelet(client, namespace) as kubelet`: Pods are ready, unless `kubelet.let` says otherwise."""

    node = NODE

    def __init__(self, client: Client, namespace: str = "", default: Behaviour = READY) -> None:
        self._client = client
        self._rules: list[tuple[Mapping[str, str], Behaviour]] = [({}, default)]
        self.pods = Informer(client, POD, scope=Scope(namespace=namespace))
        self._controller = Controller("kubelet", self._reconcile, grace=0)
        self._controller.follow(self.pods)
        self._tasks: list[asyncio.Task[None]] = []
        self._running_since: dict[str, float] = {}
        self._node_status: Json = {}

    def let(self, behaviour: Behaviour, **labels: str) -> None:
        """Pods with these labels (`_` stands for `-`, `__` for `/`, all Pods when none) behave so from now on."""
        named = {name.replace("__", "/").replace("_", "-"): value for name, value in labels.items()}
        self.let_labelled(named, behaviour)

    def let_labelled(self, labels: Mapping[str, str], behaviour: Behaviour) -> None:
        """`let` for labels that are no Python names. The rule given last wins."""
        self._rules.append((labels, behaviour))
        for key in self.pods.store:
            self._controller.queue.add(key)

    async def __aenter__(self) -> Self:
        with suppress(AlreadyExistsError):  # of another namespace's kubelet
            await self._client.create(NODE_KIND, _node(self.node, self._node_status))
        self._tasks = [asyncio.create_task(self.pods.run()), asyncio.create_task(self._controller.run())]
        await self.pods.synced.wait()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _behaviour(self, pod: Json) -> Behaviour:
        has = pod["metadata"].get("labels") or {}
        return next(
            behaviour
            for labels, behaviour in reversed(self._rules)
            if all(has.get(name) == value for name, value in labels.items())
        )

    async def _reconcile(self, key: Key) -> float | None:
        pod = self.pods.store.get(key)
        if pod is None:
            return None
        try:
            return await self._step(key, pod, self._behaviour(pod))
        except (NotFoundError, ConflictError):
            return None  # gone or replaced meanwhile: its event wakes us

    async def _step(self, key: Key, pod: Json, behaviour: Behaviour) -> float | None:
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            if behaviour.ends:
                await self._client.delete(POD, key.name, key.namespace, uid=uid, grace_seconds=0)
            return None
        if not pod["spec"].get("nodeName"):
            if behaviour.scheduled:
                await self._bind(key, uid)
            return None
        now = asyncio.get_running_loop().time()
        since = self._running_since.setdefault(uid, now)
        wait = since + behaviour.after - now
        ready = behaviour.ready and wait <= 0
        if not _shows(pod, behaviour, ready=ready):
            status = _status(pod, behaviour, ready=ready)
            await self._client.patch(POD, key.name, key.namespace, {"status": status}, subresource="status")
        return wait if behaviour.ready and wait > 0 else None

    async def _bind(self, key: Key, uid: str) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": key.name, "namespace": key.namespace, "uid": uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self.node},
        }
        await self._client.create(POD, binding, subresource="binding")


def _node(name: str, status: Json) -> Json:
    """The node that Pods are bound to, as a kubelet registers it."""
    now = now_text()
    room = {"cpu": "64", "memory": "512Gi", "pods": "1000", "nvidia.com/gpu": "64"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": now}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{**ready, "lastHeartbeatTime": now}],
            **status,
        },
    }


def _shows(pod: Json, behaviour: Behaviour, *, ready: bool) -> bool:
    """Whether the status already says what it should."""
    status = pod.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    restarts = [each["restartCount"] for each in status.get("containerStatuses") or ()]
    return (
        status.get("phase") == _phase(behaviour)
        and conditions.get("Ready") == str(ready)
        and all(count == behaviour.restarts for count in restarts)
    )


def now_text() -> str:
    """The time as the API writes it."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _phase(behaviour: Behaviour) -> str:
    return "Pending" if behaviour.waiting else "Running"


def _status(pod: Json, behaviour: Behaviour, *, ready: bool) -> Json:
    now = now_text()
    kinds = {"PodScheduled": True, "Initialized": True, "ContainersReady": ready, "Ready": ready}
    return {
        "phase": _phase(behaviour),
        "hostIP": "192.0.2.1",
        "podIP": "192.0.2.2",
        "podIPs": [{"ip": "192.0.2.2"}],
        "startTime": (pod.get("status") or {}).get("startTime") or now,
        "conditions": [
            {"type": kind, "status": str(value), "lastTransitionTime": now} for kind, value in kinds.items()
        ],
        "containerStatuses": [
            _container(container, behaviour, now, ready=ready) for container in pod["spec"]["containers"]
        ],
    }


def _container(container: Json, behaviour: Behaviour, now: str, *, ready: bool) -> Json:
    state: dict[str, Any] = {"running": {"startedAt": now}}
    last: dict[str, Any] = {}
    if behaviour.waiting:
        state = {"waiting": {"reason": behaviour.waiting, "message": f"cannot pull {container['image']}"}}
    if behaviour.crashing:
        state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting failed container"}}
        last = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}}
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "started": not (behaviour.crashing or behaviour.waiting),
        "restartCount": behaviour.restarts,
        "state": state,
        "lastState": last,
    }
