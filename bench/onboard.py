"""Onboarding graphs on a real API server: the operator beside a small kopf operator that does the same job.

    python bench/onboard.py --graphs 2000            both, on a fresh server each; no controllers, so no Pods
    python bench/onboard.py --graphs 10000 --only stator --steady 900

A graph is a frontend and a worker: nine objects besides itself. All graphs exist before the operator starts; onboarding
ends when every Deployment exists and the operator has come to rest. Then graphs that come one at a time are timed until
their Deployments and status are there, and steady state is watched for `--steady` seconds: each watch ends after
600 to 900, and is followed by a list. kopf goes into a virtual environment of its own.

Both operators run as an account of their own, and requests are counted by the server for that account: flow schemas
that match it, one for each group of verbs, are the counters.
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
from uv import find_uv_bin  # noqa: E402

from stator.kube.client import Client  # noqa: E402
from stator.kube.connection import connect  # noqa: E402
from stator.kube.resources import DEPLOYMENT  # noqa: E402
from stator.operator import kinds  # noqa: E402
from stator.render import names  # noqa: E402

NAMESPACE = "bench"
ACCOUNT = "bench-operator"
DEPLOYMENTS, OBJECTS = 2, 9
TRICKLE, PAUSE = 100, 0.05
REST = 2.0
LONGEST = 7200.0
VERBS = {"writes": ["create", "update", "patch", "delete", "deletecollection"], "reads": ["get", "list", "watch"]}
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


def stator(kubeconfig: Path, *options: str) -> Process:
    """The operator, as a pod runs it, but for the Lease."""
    [port] = free_ports(1)
    command = [str(Path(sys.executable).with_name("stator")), "operator", "run", "--kubeconfig", str(kubeconfig)]
    command += ["--namespace", NAMESPACE, "--no-leader-elect", "--metrics-host", "127.0.0.1"]
    command += ["--metrics-port", str(port), "--log-level", "warning", "--own-namespace", NAMESPACE]
    command += options
    return Process(command, dict(os.environ), kubeconfig.with_name("stator.log"))


def kopf(kubeconfig: Path) -> Process:
    """The kopf operator."""
    environment = Path(os.environ.get("BENCH_KOPF_VENV", Path.home() / ".cache" / "stator" / "bench-kopf"))
    if not (environment / "bin" / "kopf").exists():
        uv = find_uv_bin()
        subprocess.run([uv, "venv", "-q", "--allow-existing", str(environment)], check=True)
        python = str(environment / "bin" / "python")
        packages = ["kopf", "kubernetes", "uvloop", "-e", str(HERE.parent)]
        subprocess.run([uv, "pip", "install", "-q", "--python", python, *packages], check=True)
    script = str(HERE / "kopf_operator.py")
    command = [str(environment / "bin" / "kopf"), "run", "--quiet", "--standalone", "-n", NAMESPACE, script]
    variables = {**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONPATH": str(HERE.parent / "src")}
    return Process(command, variables, kubeconfig.with_name("kopf.log"))


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


def prepare(server: Server) -> Path:
    """The account with all rights that operators run as, and what counts its requests; its kubeconfig."""
    user = {"kind": "ServiceAccount", "serviceAccount": {"name": ACCOUNT, "namespace": NAMESPACE}}
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    objects: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": NAMESPACE}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": ACCOUNT},
            "roleRef": role,
            "subjects": [subject],
        },
    ]
    every = {"apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    for name, verbs in VERBS.items():
        rule = {"subjects": [user], "resourceRules": [{**every, "verbs": verbs}]}
        spec = {"matchingPrecedence": 2, "priorityLevelConfiguration": {"name": "exempt"}, "rules": [rule]}
        flow = {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema"}
        objects.append({**flow, "metadata": {"name": f"bench-{name}"}, "spec": spec})
    for value in objects:
        server.run_kubectl("create", "-f", "-", stdin=json.dumps(value))
    return server.kubeconfig_of(NAMESPACE, ACCOUNT)


def requests(server: Server) -> dict[str, int]:
    """Requests of the operator that the API server has admitted so far: `writes` and `reads`."""
    found = dict.fromkeys(VERBS, 0)
    for line in server.run_kubectl("get", "--raw", "/metrics").splitlines():
        if line.startswith("apiserver_flowcontrol_dispatched_requests_total{"):
            [name] = re.findall(r'flow_schema="(?:bench-)?([\w-]+)"', line)
            if name in found:
                found[name] += int(float(line.split()[-1]))
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
        while not await is_onboarded(client, name):
            if time.monotonic() > start + 60:
                raise RuntimeError(f"{name} is not onboarded within a minute")
            await asyncio.sleep(0.01)
        taken.append(time.monotonic() - start)
        await asyncio.sleep(PAUSE)
    return taken


async def is_onboarded(client: Client, name: str) -> bool:
    """Whether a graph has its Deployments and a status that names them."""
    status = (await client.get(kinds.GRAPH, name, NAMESPACE)).get("status") or {}
    if not status.get("observedGeneration"):
        return False
    found = await client.list(DEPLOYMENT, NAMESPACE, labels=f"{names.GRAPH_NAME}={name}")
    return len(found.items) == DEPLOYMENTS


async def measure(start: Callable[[Path], Process], server: Server, graphs: int, steady: float) -> dict[str, Any]:
    """One operator on one server."""
    kubeconfig = prepare(server)
    async with connect(server.kubeconfig) as client:
        for first in range(0, graphs, 32):
            await asyncio.gather(*(add(client, f"g-{each}") for each in range(first, min(first + 32, graphs))))
        began = time.monotonic()
        with running(start(kubeconfig)) as process:
            while await count(client, DEPLOYMENT) < DEPLOYMENTS * graphs:
                if process.process.poll() is not None or time.monotonic() > began + LONGEST:
                    raise RuntimeError(f"not all Deployments came; see the logs in {kubeconfig.parent}")
                await asyncio.sleep(0.5)
            ended = await rest(process)
            seconds, cpu = ended - began, process.cpu()
            after = requests(server)
            result: dict[str, Any] = {
                "graphs": graphs,
                "seconds": round(seconds, 1),
                "graphs/s": round(graphs / seconds, 1),
                "cpu s": round(cpu, 1),
                "graphs/cpu s": round(graphs / cpu, 1),
                "objects/cpu s": round(OBJECTS * graphs / cpu, 1),
                "writes/graph": round(after["writes"] / graphs, 2),
                "reads": after["reads"],
                "peak MiB": round(process.memory()),
            }
            late = sorted(await trickle(client, TRICKLE))
            result |= {
                "p50 ms": round(1000 * statistics.median(late)),
                "p99 ms": round(1000 * late[int(0.99 * len(late))]),
            }
            await rest(process)
            before, cpu = requests(server), process.cpu()
            await asyncio.sleep(steady)
            after = requests(server)
            result |= {
                "steady writes": after["writes"] - before["writes"],
                "steady cpu %": round(100 * (process.cpu() - cpu) / steady, 2),
                "steady MiB": round(process.memory("VmRSS")),
            }
    return result


def main() -> None:
    """Measure and print, one JSON object per operator."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--steady", type=float, default=30.0, help="Seconds for which steady state is watched.")
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
                result = asyncio.run(measure(start, server, arguments.graphs, arguments.steady))
                print(name, json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
