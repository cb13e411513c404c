"""What a cell applies: its namespace, what the graph refers to, and the graph as it was written but for the releases.

Names of namespaces begin with `stator-` and the cell, and end at random, so that a namespace which is still on its way
out keeps no cell waiting. Labels say whose they are; a `holder` is one state directory of one user on one machine.
"""

from __future__ import annotations

import base64
import getpass
import hashlib
import platform
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stator.kube.resources import Kinds, UnknownKindError
from stator.matrix.cells import Cell
from stator.matrix.scenarios import Scenario, graph_of
from stator.model import Component, Document
from stator.model.conversion import to_beta
from stator.model.load import without_nulls

Json = dict[str, Any]

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "stator-matrix"
CELL = "stator.dev/matrix-cell"
HOLDER = "stator.dev/matrix-holder"

# The operator names things after namespace and graph, in labels of 63 characters: so not all of a cell's name.
_LONGEST = 24
_DOCKER = ".dockerconfigjson"
_KINDS = Kinds()


def holder(state: Path) -> str:
    """Who may run one matrix at a time: what such a run left belongs to nobody else."""
    words = (platform.node(), getpass.getuser(), str(state.absolute()))
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def namespace(cell: Cell, owner: str) -> Json:
    """A new namespace for a cell."""
    name = f"stator-{cell.id[:_LONGEST].rstrip('-')}-{secrets.token_hex(3)}"
    labels = {MANAGED_BY: MANAGER, CELL: cell.id, HOLDER: owner}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def graph(scenario: Scenario, cell: Cell, name: str) -> Json:
    """The graph of the cell, in the v1beta1 shape, for the namespace `name`."""
    changed = {part.name: part for part in graph_of(scenario, cell).components}
    value = without_nulls(scenario.graph.origin.document.value)
    if value["apiVersion"].endswith("/v1alpha1"):
        value = to_beta(value, reversible=False)
    spec = value["spec"]
    components = [_component(item, changed[item["name"]]) for item in spec["components"]]
    return {
        "apiVersion": value["apiVersion"],
        "kind": value["kind"],
        "metadata": _metadata(value["metadata"], name),
        "spec": {**spec, "components": components},
    }


def _component(value: Mapping[str, Any], changed: Component) -> Json:
    """A component as it was written, with what the releases of a cell change."""
    result = {**value, "podTemplate": changed.pod_template}
    result |= {"roles": changed.other["roles"]} if "roles" in changed.other else {}
    result.pop("runtimeVersionOverride", None)
    return result | (
        {"runtimeVersionOverride": changed.runtime_version_override} if changed.runtime_version_override else {}
    )


def beside(scenario: Scenario, name: str) -> list[Json]:
    """What the sources hold beside the graph in its namespace, for the namespace `name`, in apply order."""
    inventory, home = scenario.inventory, scenario.graph.namespace
    objects: list[Json] = [
        _named("ConfigMap", key, name, {"data": dict(data)})
        for (where, key), data in inventory.config_maps.items()
        if where == home
    ]
    for (where, key), secret in inventory.secrets.items():
        if where == home:
            encoded = {field: base64.b64encode(value).decode() for field, value in secret.values.items()}
            # Its type is what a kubelet looks for in an image pull secret.
            kind = {"type": "kubernetes.io/dockerconfigjson"} if set(encoded) == {_DOCKER} else {}
            objects.append(_named("Secret", key, name, {**kind, "data": encoded}))
    return [
        *objects,
        *({**item.value, "metadata": _metadata(item.value["metadata"], name)} for item in _others(scenario)),
    ]


def left_out(scenario: Scenario) -> tuple[str, ...]:
    """Documents of the sources that no cell gets: of other namespaces, of none, and of kinds that are not known."""
    taken = [id(item) for item in _others(scenario)]
    return tuple(item.file for item in scenario.inventory.others if id(item) not in taken)


def _others(scenario: Scenario) -> list[Document]:
    found = []
    for document in scenario.inventory.others:
        value = document.value
        try:
            namespaced = _KINDS.of(value).namespaced
        except UnknownKindError:
            continue
        metadata = value.get("metadata") or {}
        if (
            namespaced
            and metadata.get("name")
            and metadata.get("namespace", scenario.graph.namespace) == scenario.graph.namespace
        ):
            found.append(document)
    return found


def secret_values(scenario: Scenario) -> Iterator[str]:
    """The values that nothing that is kept may show."""
    values = (value for secret in scenario.inventory.secrets.values() for value in secret.values.values())
    return (value.decode("utf-8", "replace") for value in values if value)


def _named(kind: str, key: str, namespace_name: str, more: Json) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": key, "namespace": namespace_name}, **more}


def _metadata(value: Mapping[str, Any], name: str) -> Json:
    """What a person writes of metadata, without what an API server adds."""
    kept = {key: value[key] for key in ("name", "labels", "annotations") if value.get(key)}
    return {**kept, "namespace": name}
