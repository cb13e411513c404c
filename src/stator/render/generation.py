"""The worker hash names a generation of workers: equal intent, equal hash; what changes their pods changes it.

`first 8 hex digits of SHA-256(JSON)`, the JSON with sorted keys, no spaces and no nulls:

    {"layout": "stator-workers/1",
     "backendFramework": "",                     as declared, not as detected
     "workers": [                                worker, prefill and decode components, sorted by name
       {"name": …, "type": …, "dynamoNamespace": …,
        "runtimeVersion": "1.5.1",               from 1.5.0 on, whether declared or read off the tag; else absent
        "sharedMemorySize": …,
        "labels": {…}, "annotations": {…},       merged from graph, service and podTemplate
        "podTemplate": {…},                      as written, without labels and annotations and without main's env
        "env": […],                              graph and component env merged, in the order they render in
        "<field>": …}],                          the fields of `_ROLLING`, as written
     "experimental": …}

It holds the user's intent only. Operator defaults and repairs are not in it: a new operator must not roll the
workers of a graph that nobody changed (upstream includes the resolved version from 1.5.0 on for the same reason:
gates that depend on it may change pods). Replicas and everything that is not rendered into worker pods are not in
it either. Secrets are in it as references, never by content. The value differs from the upstream operator's, whose
layout is its own. A change of this layout changes the tag, and rolls every worker once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stator.model import MAIN, Component, Graph
from stator.render import names
from stator.render.context import copied
from stator.render.environment import Entry, merge
from stator.render.manifest import Setter
from stator.render.metadata import authored_labels, pod_annotations
from stator.versions import ResolvedVersion, Version

_LAYOUT = "stator-workers/1"
_VERSION_COUNTS_FROM = Version(1, 5, 0)
_ROLLING = ("multinode", "roles", "frontendSidecar", "compilationCache", "experimental")
_DIGITS = 8
_NOBODY = Setter("component")


def worker_hash(graph: Graph, versions: Mapping[str, ResolvedVersion]) -> str:
    """The hash of a graph's workers, `""` if it has none. `versions` is by component name.

    A DynamoComponentDeployment has no generation of its own making: it carries its owner's in a label, or none.
    """
    if graph.kind == "DynamoComponentDeployment":
        template = graph.components[0].pod_template.get("metadata") or {}
        return str({**graph.labels, **(template.get("labels") or {})}.get(names.WORKER_HASH, ""))
    document = worker_intent(graph, versions)
    if not document["workers"]:
        return ""
    text = msgspec.json.encode(document, order="deterministic")
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def worker_intent(graph: Graph, versions: Mapping[str, ResolvedVersion]) -> dict[str, Any]:
    """The document that is hashed. Two graphs have one generation if and only if theirs are equal."""
    workers = sorted(
        (component for component in graph.components if component.type in names.WORKER_TYPES),
        key=lambda component: component.name,
    )
    document = {
        "layout": _LAYOUT,
        "backendFramework": graph.backend_framework or "",
        "workers": [_worker(graph, worker, versions[worker.name]) for worker in workers],
        "experimental": copied(graph.other.get("experimental")),
    }
    return {key: value for key, value in document.items() if value is not None}


def _worker(graph: Graph, worker: Component, version: ResolvedVersion) -> dict[str, Any]:
    template = copied(worker.pod_template)
    metadata = template.pop("metadata", {})
    if rest := {key: value for key, value in metadata.items() if key not in {"labels", "annotations"}}:
        template["metadata"] = rest
    spec = template.get("spec") or {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        _same_quantities(container)
        if container.get("name") == MAIN:
            container.pop("env", None)
    fields = {
        "name": worker.name,
        "type": worker.type,
        "dynamoNamespace": names.dynamo_namespace(graph, worker),
        "runtimeVersion": str(version.core) if version.core and version.core >= _VERSION_COUNTS_FROM else None,
        "sharedMemorySize": worker.shared_memory_size,
        "labels": authored_labels(graph, worker),
        "annotations": pod_annotations(graph, worker),
        "subComponentType": worker.alpha.sub_component_type or None,
        "podTemplate": template,
        "env": authored_env(graph, worker.main),
        **{field: copied(worker.other.get(field)) for field in _ROLLING},
    }
    return {key: value for key, value in fields.items() if value is not None}


def authored_env(graph: Graph, container: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What people say of a container's environment, graph and component together, in the order it renders in."""
    return [copied(entry.body) for entry in merge((_entries(graph.env), _entries(container.get("env") or ())))]


def _entries(env: Sequence[Mapping[str, Any]]) -> list[Entry]:
    return [Entry(body, _NOBODY) for body in env]


def _same_quantities(container: Mapping[str, Any]) -> None:
    """`nvidia.com/gpu: 1` and `"1"` are the same quantity: write both as text."""
    for kind in ("limits", "requests"):
        amounts = (container.get("resources") or {}).get(kind) or {}
        for resource, amount in amounts.items():
            amounts[resource] = str(amount)
