"""What the API server would add to values that it keeps as a whole.

A reference in an environment entry is atomic to server-side apply: whoever sets it owns it with the defaults that the
server put into it (Kubernetes API, ObjectFieldSelector `apiVersion`, ResourceFieldSelector `divisor`). Sent complete,
what was applied and what is owned are equal, so that an operator that starts has nothing to ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_DEFAULTS: dict[str, Json] = {"fieldRef": {"apiVersion": "v1"}, "resourceFieldRef": {"divisor": "0"}}


def completed(item: Json) -> Json:
    """The object with those defaults; other kinds than Deployments as they are."""
    if item["kind"] != "Deployment":
        return item
    spec = item["spec"]
    template = spec["template"]
    pod = dict(template["spec"])
    for field in ("containers", "initContainers"):
        if field in pod:
            pod[field] = [_container(container) for container in pod[field]]
    return {**item, "spec": {**spec, "template": {**template, "spec": pod}}}


def _container(container: Json) -> Json:
    env = container.get("env")
    return {**container, "env": [*_entries(env)]} if env else container


def _entries(env: list[Json]) -> Iterator[Json]:
    for entry in env:
        source = entry.get("valueFrom") or {}
        kind = next((name for name in _DEFAULTS if source.get(name)), None)
        if kind is None:
            # An empty value is none: the server leaves it out.
            yield entry if entry.get("value") else {key: item for key, item in entry.items() if key != "value"}
        else:
            yield {**entry, "valueFrom": {**source, kind: {**_DEFAULTS[kind], **source[kind]}}}
