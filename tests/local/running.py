"""Real graphs of small real processes: a server script stands where a runtime would."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from stator.local import lifecycle
from stator.local.plan import ContainerPlan, HttpGet, LocalPlan, PodPlan, Probe, ServicePlan, Target
from stator.local.planning import PortAllocator
from stator.local.settings import Settings
from stator.local.state import GraphDirectory, GraphStatus, StateDirectory

SERVER = Path(__file__).with_name("server.py")

# Far more than anything here takes, even on a busy machine: it turns a hang into a failure.
DEADLINE = 60.0

QUICK = Settings(backoff_initial=0.2, backoff_limit=0.4)


class Graphs:
    """Makes, starts and waits for graphs in a state directory of their own."""

    def __init__(self, state: StateDirectory) -> None:
        self.state = state
        self.started: list[GraphDirectory] = []
        self.ports = PortAllocator(str(state.path))

    def container(self, *options: str, name: str = "main", **fields: object) -> ContainerPlan:
        """A container that runs the server script with `options` on a free port, with a readiness probe."""
        port = self.ports.allocate()
        plan = ContainerPlan(
            name=name,
            image="registry.example/server:1.0.0",
            runtime="base 1.0.0",
            argv=(sys.executable, str(SERVER), str(port), *options),
            env={"PATH": "/usr/bin:/bin"},
            directory="",
            ports={8000: port},
            readiness=Probe(handler=HttpGet(port=port, path="/health"), period=0.1),
        )
        return msgspec.structs.replace(plan, **fields)

    def pod(self, *containers: ContainerPlan, name: str = "web-0", **fields: object) -> PodPlan:
        """A pod of these containers."""
        plan = PodPlan(
            name=name,
            uid=f"uid-of-{name}",
            component=name.rpartition("-")[0],
            type="frontend",
            backend="",
            version="1.0.0 (tag)",
            replica=0,
            containers=containers,
            grace=10,
        )
        return msgspec.structs.replace(plan, **fields)

    def plan(self, *pods: PodPlan, name: str = "graph") -> LocalPlan:
        """A graph of these pods, with one service over all of them."""
        graph = self.state.graph("test", name)
        pods = tuple(self._placed(pod, graph) for pod in pods)
        targets = tuple(Target(pod.name, port) for pod in pods for port in list(pod.containers[0].ports.values())[:1])
        service = ServicePlan(
            name="web", port_name="http", cluster_port=80, port=self.ports.allocate(), targets=targets, frontend=True
        )
        return LocalPlan(name=name, namespace="test", directory=str(graph.path), pods=pods, services=(service,))

    @staticmethod
    def _placed(pod: PodPlan, graph: GraphDirectory) -> PodPlan:
        directory = str(graph.pods / pod.name)
        placed = [
            tuple(msgspec.structs.replace(container, directory=directory) for container in containers)
            for containers in (pod.containers, pod.init_containers)
        ]
        return msgspec.structs.replace(
            pod, directories=(directory, *pod.directories), containers=placed[0], init_containers=placed[1]
        )

    def start(self, plan: LocalPlan, settings: Settings = QUICK) -> GraphDirectory:
        """Start a graph; it is stopped when the test ends."""
        graph = lifecycle.start(plan, settings=settings)
        self.started.append(graph)
        return graph

    def wait(self, graph: GraphDirectory, until: Callable[[GraphStatus], object]) -> GraphStatus:
        """The first status of which `until` is true."""
        last = None
        for (last,) in lifecycle.watch([graph], timeout=DEADLINE, interval=0.02):
            if until(last):
                return last
        raise AssertionError(f"never happened; last status: {last}; {graph.supervisor_log.read_text()}")

    def wait_ready(self, graph: GraphDirectory) -> GraphStatus:
        """The status once all pods are Ready."""
        return self.wait(graph, lambda status: status.phase == "Ready")


def wait_until(happens: Callable[[], object]) -> None:
    """Return when `happens` is true, for what no status tells."""
    deadline = time.monotonic() + DEADLINE
    while not happens():
        assert time.monotonic() < deadline, "never happened"
        time.sleep(0.02)
