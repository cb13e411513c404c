"""What a cluster holds of the graphs and of what they refer to, read and never written.

Graphs, the definitions of their kinds and the release of Kubernetes are listed. ConfigMaps and Secrets are fetched one
by one, only those that a graph names, and of each no more than its keys is kept. What may not be read stays unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stator.check.definitions import by_kind, kinds
from stator.check.reading import Reading, Reference
from stator.compat import Platform
from stator.errors import Problem
from stator.kube.client import Client
from stator.kube.connection import connect
from stator.kube.errors import ForbiddenError, NotFoundError, UnfitClusterError
from stator.kube.resources import CONFIG_MAP, SECRET, Kind
from stator.model import Document, Graph, Inventory, SecretData, load_objects
from stator.model.identity import GRAPH_KINDS, GRAPH_VERSIONS, GROUP
from stator.versions import Version

_DEFINITION = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)


class Live(NamedTuple):
    """A cluster at one moment. `absent` are the ConfigMaps and Secrets it was asked for and has not."""

    inventory: Inventory
    platform: Platform
    absent: frozenset[Reference]


def read_live(
    reading: Reading, *, namespace: str | None = None, kubeconfig: Path | None = None, context: str | None = None
) -> Live:
    """What the configured cluster holds: the graphs of a namespace or of all, and what these and the files refer to.

    Raises ApiError if the cluster cannot be asked, and UnfitClusterError if it has none of the kinds.
    """

    async def connected() -> Live:
        async with connect(kubeconfig, context=context) as client:
            return await fetch(client, reading, namespace)

    return asyncio.run(connected())


def read_graphs(
    *, namespace: str | None = None, kubeconfig: Path | None = None, context: str | None = None
) -> tuple[Graph, ...]:
    """The graphs of a namespace, or of all, as the configured cluster holds them. Raises as `read_live`."""

    async def connected() -> tuple[Graph, ...]:
        async with connect(kubeconfig, context=context) as client:
            return load_objects([value async for value in _graphs(client, namespace or "")]).graphs

    return asyncio.run(connected())


async def fetch(client: Client, reading: Reading, namespace: str | None) -> Live:
    """As `read_live`, with a client."""
    platform = await _platform(client)
    live = load_objects([value async for value in _graphs(client, namespace or "")])
    wanted = {*_references(live.graphs), *_of_files(reading)}
    keys: dict[Reference, tuple[str, ...]] = {}
    absent: set[Reference] = set()
    for reference in sorted(wanted):
        found = await _keys(client, reference)
        if found is None:
            absent.add(reference)
        elif found is not _UNKNOWN:
            keys[reference] = found
    inventory = Inventory(
        graphs=live.graphs,
        config_maps={(where, name): dict.fromkeys(found, "") for (kind, where, name), found in _of(keys, "ConfigMap")},
        secrets={
            (where, name): SecretData(dict.fromkeys(found, b"")) for (kind, where, name), found in _of(keys, "Secret")
        },
        others=live.others,
    )
    return Live(inventory, platform, frozenset(absent))


_UNKNOWN: tuple[str, ...] = ("",)


def _of(keys: Mapping[Reference, tuple[str, ...]], kind: str) -> Iterator[tuple[Reference, tuple[str, ...]]]:
    return ((reference, found) for reference, found in keys.items() if reference[0] == kind)


async def _platform(client: Client) -> Platform:
    """The definitions, if they may be read, and the release the server says it is."""
    version = await client.get_path("/version")
    digits = [str(version.get(part, "")).rstrip("+") for part in ("major", "minor")]
    patch = str(version.get("gitVersion", "")).partition("-")[0].split(".")[-1]
    release = Version(*map(int, (*digits, patch))) if all(part.isdecimal() for part in (*digits, patch)) else None
    try:
        items = (await client.list(_DEFINITION)).items
    except ForbiddenError:
        return Platform(kubernetes=release)
    documents = [Document(f"CustomResourceDefinition/{item['metadata']['name']}", item) for item in items]
    return Platform(definitions=by_kind(documents), kinds=kinds(documents), kubernetes=release)


async def _graphs(client: Client, namespace: str) -> Any:
    """Every graph, and every component deployment that is no graph's own, in the newest version that is served."""
    found = False
    for name in GRAPH_KINDS:
        for version in GRAPH_VERSIONS:
            kind = Kind(GROUP, version, name, f"{name.lower()}s")
            try:
                items = (await client.list(kind, namespace)).items
            except NotFoundError:
                continue
            found = True
            for item in items:
                if not (item.get("metadata") or {}).get("ownerReferences"):
                    yield {"apiVersion": kind.api_version, "kind": name, **item}
            break
    if not found:
        what, remedy = f"the cluster has none of {', '.join(GRAPH_KINDS)}", "install the operator's definitions first"
        raise UnfitClusterError(Problem(what=what, remedy=remedy))


async def _keys(client: Client, reference: Reference) -> tuple[str, ...] | None:
    """The keys of a ConfigMap or Secret; None if there is none, `_UNKNOWN` if it may not be read."""
    kind, namespace, name = reference
    try:
        value = await client.get(CONFIG_MAP if kind == "ConfigMap" else SECRET, name, namespace)
    except NotFoundError:
        return None
    except ForbiddenError:
        return _UNKNOWN
    return tuple(sorted({*(value.get("data") or {}), *(value.get("binaryData") or {})}))


def _of_files(reading: Reading) -> Iterator[Reference]:
    """What the graphs in the files refer to and the files do not hold."""
    wanted: set[Reference] = set()
    held: set[Reference] = set()
    for loaded in reading.files():
        wanted |= set(_references(loaded.inventory.graphs))
        held |= {("ConfigMap", *key) for key in loaded.inventory.config_maps}
        held |= {("Secret", *key) for key in loaded.inventory.secrets}
    yield from wanted - held


def _references(graphs: Iterable[Graph]) -> Iterator[Reference]:
    """Every ConfigMap and Secret that variables of the graphs come from."""
    for graph in graphs:
        lists: list[Sequence[Mapping[str, Any]]] = [graph.env]
        for part in graph.components:
            lists += [part.main.get("env") or (), part.main.get("envFrom") or ()]
        for entry in (entry for each in lists for entry in each):
            sources = {**entry, **(entry.get("valueFrom") or {})}
            for field in ("configMapRef", "configMapKeyRef", "secretRef", "secretKeyRef"):
                if name := (sources.get(field) or {}).get("name"):
                    yield ("ConfigMap" if field.startswith("config") else "Secret", graph.namespace, name)
