"""Onboarding graphs on a real API server: the operator beside a small kopf operator that does the same job.

    python bench/onboard.py --graphs 2000            both, on a fresh server each; no controllers, so no Pods
    python bench/onboard.py --graphs 10000 --only stator

A graph is a frontend and a worker. All graphs exist before the operator starts; onboarding ends when every Deployment
exists and the operator has come to rest. Then steady state is watched, and graphs that come one at a time are timed
until their Deployments and status are there. kopf goes into a virtual environment of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "cluster"))

from apiserver import Server, attach, find_assets, free_ports  # noqa: E402
from operating import graph, install  # noqa: E402

from stator.kube.client import Client  # noqa: E402
from stator.kube.connection import connect  # noqa: E402
from stator.kube.resources import DEPLOYMENT  # noqa: E402
from stator.model import load_objects  # noqa: E402
from stator.operator import kinds  # noqa: E402
from stator.render import RenderOptions, render_graph  # noqa: E402

NAMESPACE = "bench"
DEPLOYMENTS = 2
TRICKLE, PAUSE = 100, 0.05
STEADY = 20.0
REST = 2.0
WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE")
TICK = os.sysconf("SC_CLK_TCK")


class Process:
    """An operator that runs."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        with log.open("wb") as output:
            self.process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory(self, what: str = "VmHWM") -> float:
        """MiB: the peak, or `VmRSS`."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{what}:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def stator(server: Server, work: Path) -> Process:
    """The operator, as a pod runs it, but for the Lease."""
    del work
    [port] = free_ports(1)
    command = [str(Path(sys.executable).with_name("stator")), "operator", "run", "--kubeconfig", str(server.kubeconfig)]
    command += ["--namespace", NAMESPACE, "--no-leader-elect", "--metrics-host", "127.0.0.1"]
    command += ["--metrics-port", str(port), "--log-level", "warning", "--own-namespace", NAMESPACE]
    return Process(command, dict(os.environ), server.kubeconfig.with_name("stator.log"))


def kopf(server: Server, work: Path) -> Process:
    """The kopf operator."""
    environment = Path(os.environ.get("BENCH_KOPF_VENV", Path.home() / ".cache" / "stator" / "bench-kopf"))
    if not (environment / "bin" / "kopf").exists():
        uv = str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "-q", "--allow-existing", str(environment)], check=True)
        python = str(environment / "bin" / "python")
        subprocess.run([uv, "pip", "install", "-q", "--python", python, "kopf", "kubernetes", "uvloop"], check=True)
    value = graph("placeholder")
    value["metadata"]["namespace"] = NAMESPACE
    [loaded] = load_objects([value]).graphs
    objects = work / "objects.json"
    objects.write_text(json.dumps(render_graph(loaded, RenderOptions()).objects))
    script = str(HERE / "kopf_operator.py")
    command = [str(environment / "bin" / "kopf"), "run", "--standalone", "-n", NAMESPACE, script]
    variables = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "BENCH_OBJECTS": str(objects)}
    return Process(command, variables, server.kubeconfig.with_name("kopf.log"))


@contextmanager
def running(process: Process) -> Iterator[Process]:
    """Stopped at the end."""
    try:
        yield process
    finally:
        process.process.terminate()
        try:
            process.process.wait(30)
        except subprocess.TimeoutExpired:
            process.process.kill()
            process.process.wait()


def requests(server: Server) -> dict[str, int]:
    """Requests that the API server has answered so far, by verb."""
    found: dict[str, int] = {}
    for line in server.run_kubectl("get", "--raw", "/metrics").splitlines():
        if line.startswith("apiserver_request_total{"):
            [verb] = re.findall(r'verb="(\w+)"', line)
            found[verb] = found.get(verb, 0) + int(float(line.split()[-1]))
    return found


async def add(client: Client, name: str) -> None:
    """Create one graph."""
    value = graph(name)
    value["metadata"]["namespace"] = NAMESPACE
    await client.create(kinds.GRAPH, value)


async def count(client: Client, kind: Any) -> int:
    """How many objects there are."""
    answer = await client.get_path(f"{kind.path(NAMESPACE)}?limit=1")
    return len(answer["items"]) + int(answer["metadata"].get("remainingItemCount", 0))


async def rest(process: Process) -> float:
    """Wait until the process is at rest; the time since which it is."""
    last, since = process.cpu(), time.monotonic()
    while time.monotonic() < since + REST:
        await asyncio.sleep(0.25)
        if process.process.poll() is not None:
            raise RuntimeError("the operator ended; see its log")
        now = process.cpu()
        if now - last > 0.05:
            since = time.monotonic()
        last = now
    return since


async def trickle(client: Client, number: int) -> list[float]:
    """Seconds from creation until Deployments and status are there, of graphs that come one at a time."""
    taken = []
    for index in range(number):
        name = f"late-{index}"
        await add(client, name)
        start = time.monotonic()
        while True:
            found = await client.get(kinds.GRAPH, name, NAMESPACE)
            if (found.get("status") or {}).get("observedGeneration"):
                break
            await asyncio.sleep(0.01)
        taken.append(time.monotonic() - start)
        await asyncio.sleep(PAUSE)
    return taken


async def measure(start: Callable[[Server, Path], Process], server: Server, work: Path, graphs: int) -> dict[str, Any]:
    """One operator on one server."""
    async with connect(server.kubeconfig) as client:
        for first in range(0, graphs, 32):
            await asyncio.gather(*(add(client, f"g-{each}") for each in range(first, min(first + 32, graphs))))
        before = requests(server)
        began = time.monotonic()
        with running(start(server, work)) as process:
            while await count(client, DEPLOYMENT) < DEPLOYMENTS * graphs:
                if process.process.poll() is not None or time.monotonic() > began + 1800:
                    raise RuntimeError(f"not all Deployments came; see the logs in {server.kubeconfig.parent}")
                await asyncio.sleep(0.5)
            ended = await rest(process)
            seconds, cpu = ended - began, process.cpu()
            after = requests(server)
            writes = sum(after.get(verb, 0) - before.get(verb, 0) for verb in WRITES)
            result: dict[str, Any] = {
                "graphs": graphs,
                "seconds": round(seconds, 1),
                "graphs/s": round(graphs / seconds, 1),
                "cpu s": round(cpu, 1),
                "graphs/cpu s": round(graphs / cpu, 1),
                "writes/graph": round(writes / graphs, 2),
                "requests/graph": round((sum(after.values()) - sum(before.values())) / graphs, 2),
                "peak MiB": round(process.memory()),
            }
            late = sorted(await trickle(client, TRICKLE))
            result |= {
                "p50 ms": round(1000 * statistics.median(late)),
                "p99 ms": round(1000 * late[int(0.99 * len(late))]),
            }
            await rest(process)
            before, cpu = requests(server), process.cpu()
            await asyncio.sleep(STEADY)
            after = requests(server)
            result |= {
                "steady writes": sum(after.get(verb, 0) - before.get(verb, 0) for verb in WRITES),
                "steady cpu %": round(100 * (process.cpu() - cpu) / STEADY, 2),
                "steady MiB": round(process.memory("VmRSS")),
            }
    return result


def main() -> None:
    """Measure and print, one JSON object per operator."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--only", choices=["stator", "kopf"])
    parser.add_argument("--logs", type=Path, help="Keep the logs of the server and operators here.")
    arguments = parser.parse_args()
    assets = find_assets()
    if assets is None:
        sys.exit("no API server: hack/kubernetes/build failed")
    for name, start in (("stator", stator), ("kopf", kopf)):
        if arguments.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as made:
            work = (arguments.logs or Path(made)) / name
            work.mkdir(parents=True, exist_ok=True)
            with attach(work / "cluster", assets, controllers=()) as server:
                install(server)
                server.run_kubectl("create", "namespace", NAMESPACE)
                print(name, json.dumps(asyncio.run(measure(start, server, work, arguments.graphs))), flush=True)


if __name__ == "__main__":
    main()
