"""Graphs to check, written as short as a test can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import yaml

from stator.check import CheckOptions, Report, check, read

REGISTRY = "registry.example"
MODULES = {"sglang": "dynamo.sglang", "vllm": "dynamo.vllm", "trtllm": "dynamo.trtllm", "mocker": "dynamo.mocker"}


def part(
    name: str,
    kind: str,
    release: str,
    *args: str,
    module: str = "",
    env: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    main: Mapping[str, Any] | None = None,
    pod: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A component of a v1beta1 graph. `env` maps names to texts, or is the list itself."""
    entries = [{"name": key, "value": value} for key, value in env.items()] if isinstance(env, Mapping) else list(env)
    container: dict[str, Any] = {"name": "main", "image": f"{REGISTRY}/runtime:{release}"}
    if module:
        container["command"] = ["python3", "-m", module]
    if args:
        container["args"] = list(args)
    if entries:
        container["env"] = entries
    spec = {"containers": [{**container, **(main or {})}], **(pod or {})}
    return {"name": name, "type": kind, "replicas": 1, "podTemplate": {"spec": spec}, **fields}


def frontend(release: str = "1.6.1", *args: str, **fields: Any) -> dict[str, Any]:
    """A frontend; with arguments it says its module itself."""
    given = ("-m", "dynamo.frontend", *args) if args else ()
    return part("Frontend", "frontend", release, *given, **fields)


def worker(
    release: str = "1.6.1", *args: str, engine: str = "sglang", kind: str = "worker", **fields: Any
) -> dict[str, Any]:
    """A worker of an engine, called like its type."""
    return part(fields.pop("name", kind.title()), kind, release, *args, module=MODULES[engine], **fields)


def graph(*parts: Mapping[str, Any], name: str = "chat", **spec: Any) -> dict[str, Any]:
    """A graph of parts; `annotations` are the object's, everything else is part of its `spec`."""
    annotations = spec.pop("annotations", None)
    metadata = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": metadata,
        "spec": {"components": list(parts), **spec},
    }


def report(*documents: Mapping[str, Any], **options: Any) -> Report:
    """What checking the documents, read from standard input, leads to."""
    text = yaml.safe_dump_all(documents, sort_keys=False)
    return check(read(["-"], stdin=BytesIO(text.encode())), CheckOptions(**options))


def found(*documents: Mapping[str, Any], **options: Any) -> set[tuple[str, str, str]]:
    """`(rule, severity, component)` of each finding."""
    return {(item.rule, item.severity, item.component) for item in report(*documents, **options).findings}
