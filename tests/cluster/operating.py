"""An operator in the test's own process and namespace, and a view of what becomes of its objects."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from apiserver import Server
from following import running

from stator.install.crds import custom_resource_definitions
from stator.kube.client import Client
from stator.kube.informer import Informer, Scope
from stator.kube.resources import DEPLOYMENT, EVENT, POD, SERVICE, Key, Kind
from stator.operator import kinds
from stator.operator.metrics import Metrics
from stator.operator.run import operate
from stator.operator.settings import Settings

Json = dict[str, Any]

WITHIN = 60.0
# An `update` renews the Lease, and nothing else.
WRITES = frozenset({"apply", "create", "patch", "delete"})


def install(cluster: Server) -> None:
    """The definitions of the operator's kinds, in the version that needs no conversion."""
    definitions = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(custom_resource_definitions())})
    cluster.run_kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=definitions)
    cluster.wait_established()


class Operator:
    """An operator that runs. `requests` counts by verb."""

    def __init__(self, task: asyncio.Task[None], metrics: Metrics) -> None:
        """Made by `operating`."""
        self.task = task
        self.metrics = metrics

    @property
    def requests(self) -> Counter[str]:
        """Requests to the API server so far, by verb."""
        found: Counter[str] = Counter()
        for family in self.metrics.registry.collect():
            for sample in family.samples:
                if sample.name == "stator_api_requests_total":
                    found[sample.labels["verb"]] += int(sample.value)
        return found

    @property
    def writes(self) -> int:
        """Requests so far that change something of a graph."""
        return sum(count for verb, count in self.requests.items() if verb in WRITES)

    @property
    def passes(self) -> int:
        """Passes so far."""
        families = self.metrics.registry.collect()
        samples = (sample for family in families for sample in family.samples)
        return int(sum(sample.value for sample in samples if sample.name == "stator_reconcile_total"))

    @property
    def failed(self) -> int:
        """Passes so far that ended in an exception which nobody expected."""
        samples = (sample for family in self.metrics.registry.collect() for sample in family.samples)
        return int(
            sum(
                sample.value
                for sample in samples
                if sample.name == "stator_reconcile_total" and sample.labels["result"] == "failed"
            )
        )

    async def look(self, passes: int) -> None:
        """Return when it did that many passes more."""
        enough = self.passes + passes
        async with asyncio.timeout(WITHIN):
            while self.passes < enough:  # noqa: ASYNC110 (passes are counted, not announced)
                await asyncio.sleep(0.05)

    async def stop(self) -> None:
        """End it in order."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@asynccontextmanager
async def operating(kubeconfig: Path, namespace: str, **settings: Any) -> AsyncIterator[Operator]:
    """An operator of one namespace, stopped at the end. What it fails with is raised."""
    metrics = Metrics()
    given = {"leader_elect": False, "metrics_port": 0, **settings}
    wanted = Settings(kubeconfig=kubeconfig, namespace=namespace, **given)
    operator = Operator(asyncio.create_task(operate(wanted, metrics)), metrics)
    try:
        yield operator
    finally:
        await operator.stop()
        if not operator.task.cancelled() and (error := operator.task.exception()):
            raise error


class View:
    """The objects of a namespace as they are now; `until` waits for a condition on them."""

    KINDS = (*kinds.OWN, DEPLOYMENT, SERVICE, POD, EVENT)

    def __init__(self, client: Client, namespace: str) -> None:
        """Follow nothing yet."""
        self.namespace = namespace
        self.client = client
        self._informers = {kind: Informer(client, kind, scope=Scope(namespace=namespace)) for kind in self.KINDS}
        self._changed = asyncio.Event()
        for informer in self._informers.values():
            informer.subscribe(lambda _: self._changed.set())

    @asynccontextmanager
    async def follow(self) -> AsyncIterator[View]:
        """Follow while the context lasts."""
        async with running(*self._informers.values()):
            yield self

    def all(self, kind: Kind) -> list[Json]:
        """All objects of a kind, by name."""
        store = self._informers[kind].store
        return [value for key in sorted(store) if (value := store.get(key)) is not None]

    def get(self, kind: Kind, name: str) -> Json:
        """An object, empty if it is not there."""
        return self._informers[kind].store.get(Key(self.namespace, name)) or {}

    def events(self, reason: str) -> list[Json]:
        """The events of a reason."""
        return [event for event in self.all(EVENT) if event["reason"] == reason]

    def ready(self, name: str) -> bool:
        """Whether a graph is Ready at its newest generation."""
        graph = self.get(kinds.GRAPH, name)
        return bool(graph) and is_current(graph) and condition(graph, "Ready").get("status") == "True"

    async def until(self, holds: Callable[[], Any], within: float = WITHIN) -> None:
        """Return when it holds after some change."""
        try:
            async with asyncio.timeout(within):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {within:g} s:\n{self.told()}") from None

    async def settle(self, operator: Operator, passes: int = 12) -> None:
        """Return when the operator did that many passes in a row without a write."""
        async with asyncio.timeout(WITHIN):
            writes, start = operator.writes, operator.passes
            while operator.passes < start + passes:
                await asyncio.sleep(0.05)
                if operator.writes != writes:
                    writes, start = operator.writes, operator.passes

    def told(self) -> str:
        """All conditions and pods, for a test that fails."""
        lines = []
        for kind in (*kinds.OWN, DEPLOYMENT):
            for value in self.all(kind):
                told = [
                    f"{item['type']}={item['status']} {item['reason']}: {item.get('message', '')}"
                    for item in (value.get("status") or {}).get("conditions") or ()
                ]
                lines.append(f"{kind.kind} {value['metadata']['name']}: {'; '.join(told)}")
        lines += [f"Event {event['reason']}: {event.get('note')}" for event in self.all(EVENT)]
        return "\n".join(lines)


def condition(value: Json, kind: str) -> Json:
    """A condition of an object, empty if it has none of that type."""
    found = (value.get("status") or {}).get("conditions") or ()
    return next((item for item in found if item["type"] == kind), {})


def is_current(value: Json) -> bool:
    """Whether the status is of the newest generation."""
    seen = (value.get("status") or {}).get("observedGeneration", 0)
    return bool(seen >= value["metadata"]["generation"])


def graph(name: str = "chat", image: str = "reg/sglang-runtime:1.6.1", **changes: Mapping[str, Any]) -> Json:
    """A graph of a frontend and a worker of two replicas; `changes` are merged into components, by lower-case name."""
    text = f"""
    apiVersion: nvidia.com/v1beta1
    kind: DynamoGraphDeployment
    metadata: {{name: {name}}}
    spec:
      components:
      - name: Frontend
        type: frontend
        podTemplate: {{spec: {{containers: [{{name: main, image: {image}}}]}}}}
      - name: Worker
        type: worker
        replicas: 2
        podTemplate:
          spec:
            containers:
            - name: main
              image: {image}
              command: [python3, -m, dynamo.sglang, --model-path, Qwen/Qwen3-0.6B]
    """
    made: Json = yaml.safe_load(text)
    for component in made["spec"]["components"]:
        component.update(changes.get(component["name"].lower(), {}))
    return made


class Kubectl:
    """kubectl in one namespace, run beside the operator (which shares the test's event loop)."""

    def __init__(self, cluster: Server, namespace: str) -> None:
        """For a server and a namespace."""
        self._command = [cluster.kubectl, "--kubeconfig", str(cluster.kubeconfig), "-n", namespace]

    async def __call__(self, *arguments: str, stdin: Any = None, fails: bool = False) -> str:
        """Its output; with `fails` it has to fail, and what it said is returned."""
        text = stdin if isinstance(stdin, str | None) else json.dumps(stdin)

        def call() -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*self._command, *arguments], input=text, capture_output=True, text=True, timeout=120, check=False
            )

        done = await asyncio.to_thread(call)
        assert bool(done.returncode) is fails, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stderr if fails else done.stdout

    async def apply(self, *values: Json) -> None:
        """Apply objects as a user does."""
        await self("apply", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": list(values)})


def names(values: Iterable[Json]) -> list[str]:
    """The names of objects."""
    return [value["metadata"]["name"] for value in values]
