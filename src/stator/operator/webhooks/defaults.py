"""What is written into a graph that does not say it, so that every client reads the same.

The default of `replicas` also stands in the schema, where it works without this webhook; here it serves definitions
that another installation brought. Nothing that is set is ever changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stator.model import Document, Graph, Origin
from stator.operator.webhooks.reviews import AdmissionRequest
from stator.render import RenderOptions, names
from stator.render.provider import provider_of

Json = dict[str, Any]
Change = tuple[tuple[str | int, ...], Any]

_NODES = 2


def defaults(request: AdmissionRequest, options: RenderOptions) -> list[Json]:
    """The JSON patch (RFC 6902) that adds what a graph or a component leaves out; empty if there is nothing to add.

    `options.operator` is the release that a new graph is stamped with, `options.provider` what the cluster has.
    """
    value = request.object or {}
    changes: list[Change] = []
    if request.kind.kind == "DynamoGraphDeployment":
        changes += _of_graph(request, value, options)
    elif request.operation == "CREATE":
        field = "name" if request.kind.version == "v1beta1" else "serviceName"
        if not value.get("spec", {}).get(field) and request.name:
            changes.append((("spec", field), request.name))
    return [{"op": "add", "path": _pointer(path), "value": item} for path, item in changes]


def _of_graph(request: AdmissionRequest, value: Json, options: RenderOptions) -> Iterator[Change]:
    creating = request.operation == "CREATE"
    annotations = value.get("metadata", {}).get("annotations")
    if creating and names.ORIGIN_VERSION not in (annotations or {}):
        stamp = str(options.operator)
        where = ("metadata", "annotations")
        yield ((*where, names.ORIGIN_VERSION), stamp) if annotations else (where, {names.ORIGIN_VERSION: stamp})
    on_grove = _on_grove(request, annotations or {}, options)
    spec = value.get("spec", {})
    if on_grove and isinstance(spec.get("providerOverride"), Mapping):
        yield from _missing(spec["providerOverride"], ("spec", "providerOverride"), target="PodCliqueSet")
    before = {name: part for name, _, part in _parts(request.old_object or {})}
    for name, path, part in _parts(value):
        yield from _missing(part, path, replicas=1)
        if not on_grove:
            continue
        # What an older operator did not write is frozen as absent.
        if creating or "minAvailable" in before.get(name, {}):
            yield from _missing(part, path, minAvailable=1)
        yield from _grove(part, path)


def _grove(part: Json, path: tuple[str | int, ...]) -> Iterator[Change]:
    multinode = part.get("multinode")
    nodes = multinode.get("nodeCount", _NODES) if isinstance(multinode, Mapping) else 1
    if isinstance(part.get("providerOverride"), Mapping):
        grove = part.get("experimental", {}).get("grove", {})
        grouped = nodes > 1 or grove.get("forceScalingGroup")
        target = "PodCliqueScalingGroupConfig" if grouped else "PodCliqueTemplateSpec"
        yield from _missing(part["providerOverride"], (*path, "providerOverride"), target=target)
    roles = part.get("roles")
    for index, role in enumerate(roles if isinstance(roles, list) else ()):
        replicas = 1 if role.get("name") == "leader" else nodes - 1
        yield from _missing(role, (*path, "roles", index), replicas=replicas)


def _parts(value: Json) -> Iterator[tuple[str, tuple[str | int, ...], Json]]:
    """Name, path and value of each component or service that is an object."""
    spec = value.get("spec", {})
    components, services = spec.get("components"), spec.get("services")
    for index, item in enumerate(components if isinstance(components, list) else ()):
        if isinstance(item, dict):
            yield str(item.get("name", "")), ("spec", "components", index), item
    for name, item in (services if isinstance(services, dict) else {}).items():
        if isinstance(item, dict):
            yield name, ("spec", "services", name), item


def _missing(part: Mapping[str, Any], path: tuple[str | int, ...], **wanted: Any) -> Iterator[Change]:
    for field, value in wanted.items():
        if part.get(field) is None:
            yield (*path, field), value


def _on_grove(request: AdmissionRequest, annotations: Mapping[str, str], options: RenderOptions) -> bool:
    graph = Graph(
        kind="DynamoGraphDeployment",
        api_version="",
        name=request.name,
        namespace=request.namespace,
        components=(),
        origin=Origin(Document("", {})),
        annotations=annotations,
    )
    return provider_of(graph, options, [], []) == "grove"


def _pointer(path: tuple[str | int, ...]) -> str:
    """The path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
