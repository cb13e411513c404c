"""What the component reconciler looks at: the component, and the objects that exist for it or under their names.

A child is kept as little as the reconciler reads; of a workload that is the pod templates as this operator applied
them, which are what has to stay as it is while they serve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from stator.operator.components.record import RECORD
from stator.operator.options import FIELD_MANAGER

Json = dict[str, Any]

WORKLOADS = ("Deployment", "LeaderWorkerSet")
_TEMPLATES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Deployment": {"main": ("template",)},
    "LeaderWorkerSet": {
        "leader": ("leaderWorkerTemplate", "leaderTemplate"),
        "worker": ("leaderWorkerTemplate", "workerTemplate"),
    },
}


class Child(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An object as the API server has it.

    `controller` is the uid of its controller, `""` without one, `controlled_by` its `Kind/name`. `applied` says that
    this operator has applied it before; `made_by` is the field manager that made it, where nobody controls it and this
    operator never applied it. `replicas_manager` is who else owns the replica count. `templates` are the pod templates
    by role (`main`; `leader`, `worker`), with the fields that this operator applied. `record` is the annotation of
    `stator.operator.components.record`, `status` the workload's own.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    generation: int = 0
    deleting: bool = False
    controller: str = ""
    controlled_by: str = ""
    applied: bool = False
    made_by: str = ""
    record: str = ""
    replicas: int | None = None
    paused: bool = False
    replicas_manager: str = ""
    templates: Mapping[str, Json] = {}
    status: Mapping[str, Any] = {}

    @property
    def ref(self) -> tuple[str, str, str]:
        """Kind, namespace and name."""
        return self.kind, self.namespace, self.name


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """One component: the DynamoComponentDeployment as the server has it (v1beta1), and its children.

    `children` are all objects that it controls, `elsewhere` finds what else stands under a kind and a name.
    `pull_secrets` are those of its namespace, by registry.
    """

    component: Json
    children: tuple[Child, ...] = ()
    elsewhere: Callable[[str, str], Child | None] = lambda _kind, _name: None
    pull_secrets: Mapping[str, tuple[str, ...]] = {}

    def child(self, kind: str, name: str) -> Child | None:
        """What exists of that kind and name, whoever it belongs to."""
        own = next((found for found in self.children if (found.kind, found.name) == (kind, name)), None)
        return own or self.elsewhere(kind, name)

    @property
    def uid(self) -> str:
        """The component's."""
        return str(self.component["metadata"]["uid"])

    @property
    def owned(self) -> tuple[Child, ...]:
        """The children that it controls."""
        return tuple(child for child in self.children if child.controller == self.uid)


def child_of(live: Json, owned: Json) -> Child:
    """A child out of the object and the fields of it that this operator applied."""
    metadata, spec = live["metadata"], live.get("spec") or {}
    kind = live["kind"]
    workload = kind in WORKLOADS
    controller: Json = next((item for item in metadata.get("ownerReferences") or () if item.get("controller")), {})
    managers = metadata.get("managedFields") or ()
    applied = any(_is_ours(item) for item in managers)
    return Child(
        kind=kind,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        generation=metadata.get("generation", 0),
        deleting="deletionTimestamp" in metadata,
        controller=controller.get("uid", ""),
        controlled_by=f"{controller['kind']}/{controller['name']}" if controller else "",
        applied=applied,
        made_by="" if applied or controller else _maker(managers),
        record=(metadata.get("annotations") or {}).get(RECORD, "") if workload else "",
        replicas=spec.get("replicas") if workload else None,
        paused=bool(spec.get("paused")),
        replicas_manager=_replicas_manager(managers) if workload else "",
        templates=_templates(kind, owned.get("spec") or {}),
        status=live.get("status") or {} if workload else {},
    )


def put_templates(workload: Json, templates: Mapping[str, Json]) -> Json:
    """The workload with other pod templates in the places of its own."""
    spec = dict(workload["spec"])
    for role, (*above, last) in _TEMPLATES[workload["kind"]].items():
        place = spec
        for step in above:
            place[step] = place = dict(place[step])
        place[last] = templates[role]
    return {**workload, "spec": spec}


def templates_of(workload: Json) -> Mapping[str, Json]:
    """The pod templates of a Deployment or LeaderWorkerSet by role."""
    return _templates(workload["kind"], workload["spec"])


def _templates(kind: str, spec: Mapping[str, Any]) -> Mapping[str, Json]:
    found = {}
    for role, path in _TEMPLATES.get(kind, {}).items():
        value: Any = spec
        for step in path:
            value = (value or {}).get(step)
        if value:
            found[role] = value
    return found


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply"


def _maker(managers: Sequence[Mapping[str, Any]]) -> str:
    """Who made an object, as far as its fields still tell: they are listed oldest first."""
    return next(
        (str(entry["manager"]) for entry in managers if entry.get("manager") and "subresource" not in entry), ""
    )


def _replicas_manager(managers: Sequence[Mapping[str, Any]]) -> str:
    """Who owns `spec.replicas` beside this operator: an autoscaler through `/scale`, a person, another controller."""
    for entry in managers:
        if not _is_ours(entry) and "f:replicas" in ((entry.get("fieldsV1") or {}).get("f:spec") or {}):
            manager = entry.get("manager") or "unknown"
            return f"{manager} ({entry['subresource']})" if entry.get("subresource") else str(manager)
    return ""
