"""A whole graph: all pods at once (as in a cluster), its services, and its status on disk."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import msgspec

from stator.local import processes
from stator.local.plan import secret_values
from stator.local.state import GraphDirectory, GraphStatus, Phase, ProcessIdentity, ServiceStatus
from stator.local.supervisor.concealing import Concealer
from stator.local.supervisor.container import Surroundings
from stator.local.supervisor.files import materialise, remove
from stator.local.supervisor.order import Order
from stator.local.supervisor.pod import PodRunner
from stator.local.supervisor.proxy import ServiceProxy

# Changes closer together than this are written once: starting pods change many things in the same moment.
_TOGETHER = 0.05


class GraphSupervisor:
    """Supervises one graph, from `prepare` to the end of `run`."""

    def __init__(self, order: Order) -> None:
        plan = order.plan
        self._plan = plan
        self._marker = order.marker
        self._directory = GraphDirectory(Path(plan.directory))
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
        surroundings = Surroundings(
            marker=order.marker,
            directory=self._directory.path,
            settings=order.settings,
            changed=self._changed.set,
            concealer=Concealer(secret_values(plan)),
        )
        self._pods = [PodRunner(pod, surroundings) for pod in plan.pods]
        self._proxies = [ServiceProxy(service) for service in plan.services]
        self._began, self._message = time.monotonic(), ""
        self._status = GraphStatus(
            name=plan.name,
            namespace=plan.namespace,
            phase="Starting",
            revision=0,
            started_at=round(time.time(), 3),
            components=plan.components,
            adaptations=plan.adaptations,
            ignored=plan.ignored,
        )

    async def prepare(self) -> None:
        """Everything that can fail before a process is started. Raises StatorError; `abandon` then undoes it.

        The last step is the first status: whoever is told that the graph starts finds no older one.
        """
        for proxy in self._proxies:
            await proxy.open()
        remove(self._directory.logs)
        self._remove_files()
        materialise(self._plan.pods)
        self._directory.logs.mkdir(mode=0o700)
        self._directory.kv.mkdir(mode=0o700)
        self._publish()

    def abandon(self) -> None:
        """Undo `prepare`."""
        for proxy in self._proxies:
            proxy.close()
        self._remove_files()

    def stop(self) -> None:
        """Ask the graph to end; `run` returns when it has."""
        self._stopped.set()

    async def run(self) -> None:
        """Run all pods until `stop`; return when nothing is left of them."""
        publishing = asyncio.create_task(self._publish_changes())
        pods = [asyncio.create_task(pod.run()) for pod in self._pods]
        await asyncio.wait([asyncio.create_task(self._stopped.wait()), *pods], return_when=asyncio.FIRST_COMPLETED)
        self._stopped.set()
        for pod in self._pods:
            pod.stop()
        self._changed.set()
        ends = await asyncio.gather(*pods, return_exceptions=True)
        publishing.cancel()
        # A pod never ends by itself; if it did, the disk or the process limit refused, and nothing can be kept running.
        self._message = "; ".join(str(end) for end in ends if isinstance(end, BaseException))
        for proxy in self._proxies:
            proxy.close()
        # What left its session and gave up its parent is found by the marker, or by this process's being its parent.
        await asyncio.to_thread(processes.end, self._left_behind, grace=0)
        self._remove_files()
        self._publish(phase="Stopped")

    def _left_behind(self) -> frozenset[ProcessIdentity]:
        return frozenset((*processes.members(self._marker), *processes.descendants(os.getpid())))

    def _remove_files(self) -> None:
        remove(self._directory.pods)
        remove(self._directory.kv)

    async def _publish_changes(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            self._publish()
            await asyncio.sleep(_TOGETHER)

    def _publish(self, phase: Phase | None = None) -> None:
        """Route services to what is ready, and write the status if it is not what was written last."""
        now, at = time.monotonic() - self._began, time.time()
        pods = tuple(pod.status(after=now, at=at) for pod in self._pods)
        ready_pods = frozenset(pod.name for pod in pods if pod.ready)
        for proxy in self._proxies:
            proxy.route(ready_pods)
        phase = phase or self._phase(all_ready=len(ready_pods) == len(pods))
        ready_at = self._status.ready_at or (round(at, 3) if phase == "Ready" else None)
        status = msgspec.structs.replace(
            self._status,
            phase=phase,
            message=self._message,
            ready_at=ready_at,
            pods=pods,
            services=tuple(_service_status(proxy) for proxy in self._proxies),
        )
        if status == self._status and status.revision:
            return
        self._status = msgspec.structs.replace(status, revision=status.revision + 1)
        try:
            self._directory.write_status(self._status)
        except OSError as error:
            # A full disk must not end the graph; the next change is another try.
            sys.stderr.write(f"status cannot be written: {error}\n")

    def _phase(self, *, all_ready: bool) -> Phase:
        if self._stopped.is_set():
            return "Stopping"
        if all_ready:
            return "Ready"
        return "Degraded" if self._status.ready_at else "Starting"


def _service_status(proxy: ServiceProxy) -> ServiceStatus:
    return ServiceStatus(
        name=proxy.service.name,
        port_name=proxy.service.port_name,
        address=proxy.service.address,
        frontend=proxy.service.frontend,
        ready=proxy.ready,
        total=len(proxy.service.targets),
    )
