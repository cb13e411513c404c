"""A node that runs Pods for real: the published runtimes as local processes, with probes, restarts and logs.

A Pod becomes a local graph of one pod under stator's own supervisor, which does what a kubelet does; here its state
is told to the API server and back. What an API server refuses of one machine is made up for in this way:

* Endpoints must not be loopback addresses (validation of EndpointSlices, and the proxy itself), so a Pod gets an
  address of 198.51.100.0/24 (TEST-NET-2), all of which `ip route replace local` makes this machine's own. No packet
  leaves it. That takes root, or sudo without a password.
* A process listens on a free port of 127.0.0.1, as under `stator up`. At the Pod's address stands a relay for each port
  that the container declares, so the API server's proxy reaches the process at the port that it knows.
* The runtimes find each other through files, one directory for each namespace, not through the API server.
* `kubectl logs` and its API reach the node at an HTTPS port, which the Node object names.
"""

from __future__ import annotations

import asyncio
import base64
import fcntl
import os
import secrets
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from apiserver import Server
from kubelet import NODE_KIND, Kubelet, now_text

from stator.errors import Position
from stator.kube.client import Client
from stator.kube.errors import ConflictError, NotFoundError
from stator.kube.resources import CONFIG_MAP, POD, SECRET, Json, Key
from stator.local import lifecycle
from stator.local.config import LocalConfig
from stator.local.planning.graph import Machine, plan_graph
from stator.local.planning.ports import PortAllocator
from stator.local.runtimes import (
    Runtime,
    default_cache,
    directories_in_use,
    ensure,
    prepare_volumes,
    resolve_runtime,
)
from stator.local.state import ContainerStatus, GraphDirectory, PodStatus, StateDirectory
from stator.model import Inventory, SecretData, read_command_line
from stator.render import Manifest, RenderedComponent
from stator.render.names import COMPONENT, COMPONENT_TYPE
from stator.versions import resolve

_NETWORK = "198.51.100"
_LOOK = 0.2


class Running:
    """One Pod that runs."""

    def __init__(self, graph: GraphDirectory, address: str, relays: AsyncExitStack) -> None:
        self.graph, self.address, self.relays = graph, address, relays


class Node(Kubelet):
    """`async with Node(client, server, directory, config) as node`: every Pod of the cluster runs on it."""

    def __init__(self, client: Client, server: Server, directory: Path, config: LocalConfig) -> None:
        super().__init__(client)
        self.node = f"node-{secrets.token_hex(3)}"
        self._certificates = server.kubeconfig.parent
        self._state, self._config = StateDirectory(directory), config
        self._pods: dict[str, Running] = {}
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Serve logs, register the node, and run Pods."""
        self._opened.enter_context(addresses())
        port = await self._serve_logs()
        endpoint = {"kubeletEndpoint": {"Port": port}}
        self._node_status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": endpoint}
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every process."""
        await super().__aexit__(kind, error, trace)
        for running in self._pods.values():
            await self._end(running)
        await self._client.delete(NODE_KIND, self.node)
        await self._opened.aclose()

    async def _step(self, key: Key, pod: Json, behaviour: Any) -> float | None:
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            if running := self._pods.pop(uid, None):
                await self._end(running)
            if behaviour.ends:
                await self._client.delete(POD, key.name, key.namespace, uid=uid, grace_seconds=0)
            return None
        if not pod["spec"].get("nodeName"):
            await self._bind(key, uid)
            return None
        if pod["spec"]["nodeName"] != self.node:
            return None
        if uid not in self._pods:
            self._pods[uid] = await self._start(key, pod)
        running = self._pods[uid]
        seen = await asyncio.to_thread(running.graph.read_status)
        if seen is not None:
            status = _status(pod, seen.pods[0], running.address)
            if _without_times(status) != _without_times(pod.get("status") or {}):
                with suppress(NotFoundError, ConflictError):
                    await self._client.patch(POD, key.name, key.namespace, {"status": status}, subresource="status")
        return _LOOK

    async def _start(self, key: Key, pod: Json) -> Running:
        relays = AsyncExitStack()
        needed = directories_in_use(self._config, [pod["spec"]])
        await asyncio.to_thread(
            prepare_volumes, self._config, needed, cache=default_cache(), progress=lambda _: None, offline=False
        )
        manifest, runtimes = _as_graph(key, pod, self._config)
        plan = plan_graph(
            manifest,
            await self._references(key.namespace),
            Machine.here(runtimes, self._config.volumes),
            ports=PortAllocator(key.name, taken=lifecycle.reserved_ports(self._state)),
            directory=self._state.graph(key.namespace, key.name).path,
            new_uid=lambda: str(pod["metadata"]["uid"]),
            discovery=self._state.path / "discovery" / key.namespace,
        )
        graph = await asyncio.to_thread(lifecycle.start, plan, bound=True)
        ports = {port: local for container in plan.pods[0].containers for port, local in container.ports.items()}
        address = _free_address(list(ports))
        for port, local in ports.items():
            await relays.enter_async_context(await asyncio.start_server(_relay_to(local), address, port))
        return Running(graph, address, relays)

    async def _references(self, namespace: str) -> Inventory:
        maps = (await self._client.list(CONFIG_MAP, namespace)).items
        found = (await self._client.list(SECRET, namespace)).items
        return Inventory(
            config_maps={(namespace, item["metadata"]["name"]): item.get("data") or {} for item in maps},
            secrets={
                (namespace, item["metadata"]["name"]): SecretData(
                    {field: base64.b64decode(value) for field, value in (item.get("data") or {}).items()}
                )
                for item in found
            },
        )

    async def _end(self, running: Running) -> None:
        await asyncio.to_thread(lifecycle.stop, running.graph)
        await running.relays.aclose()

    async def _serve_logs(self) -> int:
        application = web.Application()
        application.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._log)
        runner = web.AppRunner(application)
        await runner.setup()
        self._opened.push_async_callback(runner.cleanup)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._certificates / "server.crt", self._certificates / "server.key")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = int(probe.getsockname()[1])
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
        return port

    async def _log(self, request: web.Request) -> web.Response:
        graph = self._state.graph(request.match_info["namespace"], request.match_info["pod"])
        lines = [
            line.text
            for line in lifecycle.follow_logs(graph, lines=int(request.query.get("tailLines") or 100))
            if line.container == request.match_info["container"]
        ]
        return web.Response(text="".join(f"{line}\n" for line in lines))


def _as_graph(key: Key, pod: Json, config: LocalConfig) -> tuple[Manifest, dict[tuple[str, str], Runtime]]:
    """The Pod as a graph of one component with one replica, and the environments of its containers."""
    metadata, spec = pod["metadata"], pod["spec"]
    labels = metadata.get("labels") or {}
    name = labels.get(COMPONENT, key.name)
    runtimes = {}
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        line = read_command_line(container.get("command") or (), container.get("args") or ())
        version = resolve(None, container["image"])
        asked = resolve_runtime(container["image"], line, version, config, position=Position(key.name))
        runtimes[name, container["name"]] = ensure(asked, cache=default_cache(), progress=lambda _: None)
    main = next((item for item in spec["containers"] if item["name"] == "main"), spec["containers"][0])
    template = {"metadata": metadata, "spec": spec}
    component = RenderedComponent(
        name=name,
        type=labels.get(COMPONENT_TYPE, ""),
        backend="",
        version=resolve(None, main["image"]),
        workload={"kind": "Deployment", "metadata": {"name": key.name}, "spec": {"replicas": 1, "template": template}},
        service=None,
        objects=(),
        provenance=(),
    )
    return (
        Manifest(graph=key.name, name=key.name, namespace=key.namespace, objects=(), components=(component,)),
        runtimes,
    )


def _status(pod: Json, seen: PodStatus, address: str) -> Json:
    started = (pod.get("status") or {}).get("startTime") or now_text()
    kinds = {
        "PodScheduled": True,
        "Initialized": seen.reason != "Init",
        "ContainersReady": seen.ready,
        "Ready": seen.ready,
    }
    before = {item["type"]: item for item in (pod.get("status") or {}).get("conditions") or ()}
    return {
        "phase": "Running" if any(item.state != "Waiting" for item in seen.containers) else "Pending",
        "hostIP": "127.0.0.1",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": started,
        "conditions": [
            {
                "type": kind,
                "status": str(value),
                "lastTransitionTime": before[kind]["lastTransitionTime"]
                if before.get(kind, {}).get("status") == str(value)
                else now_text(),
                **({"message": seen.message} if seen.message and not value else {}),
            }
            for kind, value in kinds.items()
        ],
        "containerStatuses": [_container(item, started) for item in seen.containers],
    }


def _container(seen: ContainerStatus, started: str) -> Json:
    ended = {
        "terminated": {"exitCode": seen.exit_code or 0, "reason": "Error", "startedAt": started, "finishedAt": started}
    }
    state: Json = {"running": {"startedAt": started}}
    if seen.state == "Waiting":
        state = {"waiting": {"reason": seen.reason or "ContainerCreating", "message": seen.message}}
    elif seen.state == "Terminated":
        state = ended
    return {
        "name": seen.name,
        "image": seen.image,
        "imageID": seen.runtime,
        "ready": seen.ready,
        "started": seen.state == "Running",
        "restartCount": seen.restarts,
        "state": state,
        "lastState": ended if seen.restarts else {},
    }


def _without_times(status: Json) -> Any:
    """What of a status is worth a write."""
    keys = ("phase", "podIP")
    conditions = [(item["type"], item["status"], item.get("message")) for item in status.get("conditions") or ()]
    containers = [
        (item["name"], item["ready"], item["restartCount"], sorted(item.get("state") or {}))
        for item in status.get("containerStatuses") or ()
    ]
    return [status.get(key) for key in keys], conditions, containers


def _relay_to(port: int) -> Any:
    """Pass bytes on both ways, and the end of them."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, forth = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.transport.abort()  # as a port that nobody listens on
            return
        try:
            await asyncio.gather(copy(reader, forth), copy(back, writer))
        finally:
            for each in (forth, writer):
                each.close()

    return relay


def _free_address(ports: list[int]) -> str:
    """An address of which none of these ports is taken."""
    for number in secrets.SystemRandom().sample(range(1, 255), 254):
        try:
            for port in ports:
                socket.create_server((f"{_NETWORK}.{number}", port)).close()
        except OSError:
            continue
        return f"{_NETWORK}.{number}"
    raise AssertionError("no address is free")


@contextmanager
def addresses() -> Iterator[None]:
    """The addresses of Pods are this machine's own, until the last user of them is gone."""
    with (Path(tempfile.gettempdir()) / f"stator-addresses.{os.getuid()}").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        _route("replace")
        try:
            yield
        finally:
            with suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _route("del")


def _route(verb: str) -> None:
    command = ["ip", "route", verb, "local", f"{_NETWORK}.0/24", "dev", "lo"]
    subprocess.run(command if os.geteuid() == 0 else ["sudo", "-n", *command], check=True, capture_output=True)
