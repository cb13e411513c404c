"""One component and its children as an API server would have them, for reconcilers that are pure.

Only what the reconciler's own inputs need is played: objects that were applied exist, with the fields that were
applied as the operator's own. What a real server adds and refuses is tested in `tests/cluster`.
"""

from __future__ import annotations

import copy
import textwrap
from datetime import UTC, datetime
from typing import Any

import msgspec
import yaml

from stator.operator.components import Child, Observed, child_of, reconcile
from stator.operator.options import OperatorOptions
from stator.operator.plan import Plan

Json = dict[str, Any]

NOW = datetime(2026, 12, 2, 10, 0, tzinfo=UTC)
LATER = datetime(2026, 12, 2, 11, 0, tzinfo=UTC)
OURS = {"manager": "stator", "operation": "Apply", "fieldsV1": {}}
EMBEDDING = "[python3, -m, dynamo.sglang, --model-path, Qwen/Qwen3-0.6B, --embedding-worker]"
CHAT = "[python3, -m, dynamo.sglang, --model-path, Qwen/Qwen3-0.6B]"


def component(
    command: str = CHAT, *, image: str = "reg/sglang-runtime:1.6.1", spec: str = "", main: str = "", graph: bool = False
) -> Json:
    """A worker component of two replicas; `spec` and `main` are more YAML of those places."""
    text = f"""
    apiVersion: nvidia.com/v1beta1
    kind: DynamoComponentDeployment
    metadata: {{name: chat-worker, namespace: serving, uid: u-component, generation: 1}}
    spec:
      name: Worker
      type: worker
      replicas: 2
      podTemplate:
        spec:
          containers:
          - name: main
            image: {image}
            command: {command}
    """
    made = yaml.safe_load(text)
    made["spec"] |= yaml.safe_load(textwrap.dedent(spec)) or {}
    made["spec"]["podTemplate"]["spec"]["containers"][0] |= yaml.safe_load(textwrap.dedent(main)) or {}
    if graph:
        owner = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "chat", "uid": "u-graph"}
        made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        made["metadata"]["labels"] = {"nvidia.com/dynamo-graph-deployment-name": "chat"}
    return made  # type: ignore[no-any-return]


class World:
    """A component, its children, and an operator with these options."""

    def __init__(self, dcd: Json, options: OperatorOptions | None = None) -> None:
        """Nothing exists yet but the component."""
        self.component = dcd
        self.options = options or OperatorOptions()
        self.live: dict[tuple[str, str], Json] = {}
        self.applied: dict[tuple[str, str], Json] = {}
        self.now = NOW

    def observe(self) -> Observed:
        """What the reconciler is given."""
        return Observed(component=copy.deepcopy(self.component), children=tuple(map(self._child, self.live)))

    def plan(self) -> Plan:
        """Plan one pass, without doing anything."""
        return reconcile(self.observe(), self.options, self.now)

    def step(self) -> Plan:
        """Plan and carry out one pass."""
        seen = self.observe()
        plan = reconcile(seen, self.options, self.now)
        for item in plan.apply:
            self.put(item)
        for deletion in plan.delete:
            del self.live[deletion.kind, deletion.name]
        if plan.status is not None:
            self.component["status"] = plan.status
            said = msgspec.structs.replace(seen, component=copy.deepcopy(self.component))
            assert reconcile(said, self.options, self.now).status == plan.status, "a status brings another one"
        return plan

    def put(self, item: Json, manager: Json = OURS) -> Json:
        """An object as it is after it was applied; a changed spec is a new generation."""
        key = (item["kind"], item["metadata"]["name"])
        before = self.live.get(key, {"metadata": {"uid": f"u-{len(self.live)}", "generation": 0}})
        live = copy.deepcopy(item)
        if "status" in before:
            live["status"] = before["status"]
        if key in self.applied and "replicas" not in item.get("spec", {}) and "replicas" in before.get("spec", {}):
            live["spec"]["replicas"] = before["spec"]["replicas"]
        changed = before.get("spec") != live.get("spec")
        live["metadata"] |= {
            "uid": before["metadata"]["uid"],
            "generation": before["metadata"]["generation"] + changed,
            "managedFields": before["metadata"].get("managedFields") or [manager],
        }
        self.live[key] = live
        self.applied[key] = copy.deepcopy(item)
        return live

    def edit(self, **spec: Any) -> None:
        """A person edits the component's spec."""
        self.component["spec"] |= spec
        self.component["metadata"]["generation"] += 1

    @property
    def workload(self) -> Json:
        """The one Deployment or LeaderWorkerSet."""
        [found] = [item for (kind, _), item in self.live.items() if kind in ("Deployment", "LeaderWorkerSet")]
        return found

    def pods(self, *, updated: int = 2, available: int = 2, total: int | None = None) -> None:
        """The workload's controller has seen it, and reports these pods."""
        total = updated if total is None else total
        counted = {"updatedReplicas": updated, "availableReplicas": available, "readyReplicas": available}
        self.workload["status"] = {
            "observedGeneration": self.workload["metadata"]["generation"],
            "replicas": total,
            **counted,
            "conditions": [{"type": "Available", "status": "True" if available else "False"}],
        }

    def serve(self) -> World:
        """Bring the component to Ready."""
        self.step()
        self.pods()
        self.step()
        assert self.condition("DynamoComponentReady")["status"] == "True"
        return self

    def condition(self, kind: str) -> Json:
        """A condition of the component, empty if there is none."""
        found = (self.component.get("status") or {}).get("conditions") or ()
        return next((item for item in found if item["type"] == kind), {})

    def _child(self, key: tuple[str, str]) -> Child:
        return child_of(self.live[key], self.applied[key])
