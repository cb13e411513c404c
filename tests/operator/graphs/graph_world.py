"""One graph and what exists of it as an API server would have it, and components whose pods come and go.

A component's controller is played by its pods alone: it makes and removes them as it is told, reports them when it has
looked, and removes those first that do not serve, as a Deployment does. The real ones are in `tests/cluster`.
"""

from __future__ import annotations

import copy
import io
import json
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import yaml

from stator.model import load
from stator.operator.components import child_of
from stator.operator.graphs import CliqueSet, Made, Observed, reconcile
from stator.operator.options import OperatorOptions
from stator.operator.ownership import controller_of
from stator.operator.plan import Deletion, Event, Patch, Plan

Json = dict[str, Any]

NOW = datetime(2026, 12, 2, 10, 0, tzinfo=UTC)
OURS = {"manager": "stator", "operation": "Apply", "fieldsV1": {}}
DCD, DGD = "DynamoComponentDeployment", "DynamoGraphDeployment"
CHAT = """
- name: Frontend
  type: frontend
  replicas: 1
  podTemplate:
    spec:
      containers:
      - {name: main, image: "reg/frontend:1.6.1"}
- name: Worker
  type: worker
  replicas: 4
  podTemplate:
    spec:
      containers:
      - {name: main, image: "reg/sglang-runtime:1.6.1", command: [python3, -m, dynamo.sglang, --model, m]}
"""


def graph(components: str = CHAT, *, spec: str = "", annotations: dict[str, str] | None = None) -> Json:
    """A graph `chat`; `components` and `spec` are YAML."""
    made: Json = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": DGD,
        "metadata": {"name": "chat", "namespace": "serving", "uid": "u-graph", "generation": 1},
        "spec": {**(yaml.safe_load(textwrap.dedent(spec)) or {}), "components": yaml.safe_load(components)},
    }
    if annotations:
        made["metadata"]["annotations"] = annotations
    load(["-"], stdin=io.StringIO(yaml.safe_dump(made)))
    return made


class World:
    """A graph, what exists of it, and an operator with these options."""

    def __init__(self, dgd: Json | None = None, options: OperatorOptions | None = None) -> None:
        """Nothing exists yet but the graph."""
        self.graph = dgd or graph()
        self.options = options or OperatorOptions()
        self.live: dict[tuple[str, str], Json] = {}
        self.applied: dict[tuple[str, str], Json] = {}
        # By component name: for each pod whether it serves.
        self.pods: dict[str, list[bool]] = {}
        # By component name: the pods that somebody else has asked of its Deployment.
        self.held: dict[str, int] = {}
        self.cliques: list[Json] = []
        self.now = NOW
        self.made = 0
        self.events: list[Event] = []

    def observe(self) -> Observed:
        """What the reconciler is given."""
        made = [Made(copy.deepcopy(item)) for (kind, _), item in self.live.items() if kind == DCD]
        own = [
            CliqueSet(live=copy.deepcopy(item), applied=self.applied[key])
            for key, item in self.live.items()
            if key[0] == "PodCliqueSet" and controller_of(item).get("uid") == self.graph["metadata"]["uid"]
        ]
        return Observed(
            graph=copy.deepcopy(self.graph),
            components=tuple(made),
            children=tuple(child_of(item, self.applied.get(key, {})) for key, item in self.live.items()),
            clique_set=own[0] if own else None,
            cliques=tuple(copy.deepcopy(self.cliques)),
            running=frozenset(name for name, pods in self.pods.items() if pods),
        )

    def plan(self) -> Plan:
        """Plan one pass, without doing anything."""
        return reconcile(self.observe(), self.options, self.now)

    def step(self, writes: int | None = None) -> Plan:
        """Plan one pass and carry out its first `writes` writes, or all of them."""
        self.now += timedelta(seconds=1)
        seen = self.observe()
        plan = reconcile(seen, self.options, self.now)
        wanted = list(self._writes(plan))
        for write in wanted[:writes]:
            self._do(write)
        if writes is None or writes >= len(wanted):
            self.events += plan.events
            if not plan.feeds_back:
                said = msgspec.structs.replace(seen, graph=copy.deepcopy(self.graph))
                assert reconcile(said, self.options, self.now).status == plan.status, "a status brings another one"
        return plan

    def settle(self) -> None:
        """Pass after pass, with all controllers at work, until nothing changes any more."""
        for _ in range(100):
            before = self.state()
            self.step()
            self.work()
            if before == self.state():
                return
        msg = "it does not settle"
        raise AssertionError(msg)

    def state(self) -> Any:
        """All that there is, without times, and without generations: they count how often something was changed."""
        status = copy.deepcopy(self.graph.get("status") or {})
        for item in status.get("conditions") or ():
            item.pop("lastTransitionTime")
        for field in ("startTime", "endTime"):
            (status.get("rollingUpdate") or {}).pop(field, None)
        objects = {
            key: (item.get("spec"), item["metadata"].get("labels"), {**item.get("status", {}), "observedGeneration": 0})
            for key, item in self.live.items()
        }
        graph = (self.graph["metadata"].get("annotations"), self.graph["spec"], status)
        return copy.deepcopy((graph, sorted(objects.items(), key=lambda item: item[0]), sorted(self.pods.items())))

    def work(self, *, serve: int | None = None, look: bool = True) -> None:
        """Component controllers make and remove pods; `serve` of those that do not serve yet begin to (None: all)."""
        for (kind, name), item in list(self.live.items()):
            if kind != DCD:
                continue
            pods, wanted = self.pods.setdefault(name, []), self.held.get(name, item["spec"].get("replicas", 1))
            pods.sort()
            del pods[: max(0, len(pods) - wanted)]
            pods.extend([False] * (wanted - len(pods)))
            left = len(pods) if serve is None else serve
            for index, serves in enumerate(pods):
                if left and not serves:
                    pods[index], left = True, left - 1
            if look:
                self.report(name)

    def report(self, name: str) -> None:
        """A component's controller has seen its newest generation and says what it has."""
        item, pods = self.live[DCD, name], self.pods.get(name, [])
        wanted = self.held.get(name, item["spec"].get("replicas", 1))
        ready = len(pods) == wanted and all(pods)
        item["status"] = {
            "observedGeneration": item["metadata"]["generation"],
            "conditions": [{"type": "Available", "status": "True" if ready else "False", "reason": "DeploymentReady"}],
            "component": {
                "componentKind": "Deployment",
                "componentNames": [name],
                "replicas": len(pods),
                "updatedReplicas": len(pods),
                "readyReplicas": sum(pods),
                "availableReplicas": sum(pods),
            },
        }

    def edit(self, component: str = "Worker", **fields: Any) -> None:
        """A person edits a component of the graph."""
        next(item for item in self.graph["spec"]["components"] if item["name"] == component).update(fields)
        self.graph["metadata"]["generation"] += 1

    def image(self, image: str, component: str = "Worker") -> None:
        """A person changes the image of a component."""
        item = next(item for item in self.graph["spec"]["components"] if item["name"] == component)
        template = copy.deepcopy(item["podTemplate"])
        template["spec"]["containers"][0]["image"] = image
        self.edit(component, podTemplate=template)

    @property
    def workers(self) -> dict[str, int]:
        """Wanted replicas of the worker's components, oldest first."""
        items = [item for (kind, name), item in self.live.items() if kind == DCD and name.startswith("chat-worker")]
        items.sort(key=lambda item: item["metadata"]["creationTimestamp"])
        return {item["metadata"]["name"]: item["spec"]["replicas"] for item in items}

    @property
    def status(self) -> Json:
        """The graph's status."""
        return self.graph.get("status") or {}

    @property
    def ready(self) -> Json:
        """The graph's condition Ready, empty if there is none."""
        return self.condition("Ready")

    def condition(self, kind: str) -> Json:
        """A condition of the graph, empty if there is none."""
        return next((item for item in self.status.get("conditions") or () if item["type"] == kind), {})

    def _writes(self, plan: Plan) -> Iterator[Any]:
        yield from (plan.records,) if plan.records else ()
        yield from plan.apply
        yield from plan.patch
        yield from plan.delete
        if plan.status is not None and plan.status != self.status:
            yield ("status", plan.status)

    def _do(self, write: Any) -> None:
        if isinstance(write, tuple):
            self.graph["status"] = json.loads(json.dumps(write[1]))
        elif isinstance(write, Deletion):
            assert self.live[write.kind, write.name]["metadata"]["uid"] == write.uid
            del self.live[write.kind, write.name]
            self.pods.pop(write.name, None)
        elif isinstance(write, Patch):
            [found] = [
                item for item in self.cliques if (item["kind"], item["metadata"]["name"]) == (write.kind, write.name)
            ]
            found["spec"]["replicas"] = write.operations[-1]["value"]
            found["metadata"]["generation"] += 1
        elif write["kind"] == DGD:
            assert write["metadata"]["uid"] == self.graph["metadata"]["uid"]
            self.graph["metadata"].setdefault("annotations", {}).update(write["metadata"]["annotations"])
        else:
            self.put(write)

    def put(self, item: Json) -> Json:
        """An object as it is after it was applied; a changed spec is a new generation."""
        key = (item["kind"], item["metadata"]["name"])
        item = json.loads(json.dumps(item))
        before = self.live.get(key)
        if before is None:
            self.made += 1
            created = f"2026-12-02T10:{self.made // 60:02d}:{self.made % 60:02d}Z"
            before = {"metadata": {"uid": f"u-{self.made}", "generation": 0, "creationTimestamp": created}}
        live = copy.deepcopy(item)
        if "status" in before:
            live["status"] = before["status"]
        changed = before.get("spec") != live.get("spec")
        live["metadata"] |= {
            "uid": before["metadata"]["uid"],
            "creationTimestamp": before["metadata"]["creationTimestamp"],
            "generation": before["metadata"]["generation"] + changed,
            "managedFields": before["metadata"].get("managedFields") or [OURS],
        }
        self.live[key] = live
        self.applied[key] = item
        return live
