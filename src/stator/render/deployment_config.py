"""`DYN_DEPLOYMENT_CONFIG`: an older way to say replicas and resources, as JSON in the main container's environment.

    {"<component>": {"port": 3000, "ServiceArgs": {"workers": 2, "resources": {"cpu": "4", "memory": "8Gi", "gpu": 1,
                                                                              "custom": {"<resource>": "1"}}}}}

The part of the component's own name counts. Its workers are the replicas of a component that has none, its resources
become requests and limits, and a frontend's port is the one that its probes and its Service use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stator.errors import Problem
from stator.model import MAIN, Component, Graph, Path
from stator.render.resources import GPU

Json = dict[str, Any]

_VARIABLE = "DYN_DEPLOYMENT_CONFIG"
_FRONTEND_PORT = 8000


def configured(graph: Graph, component: Component, problems: list[Problem]) -> Component:
    """The component with what the variable says. Adds to `problems` a value that cannot be read."""
    found = _entry(graph, component)
    if found is None:
        return component
    entry, path = found
    if not isinstance(entry.get("value"), str):
        return component
    try:
        config = msgspec.json.decode(entry["value"], type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError):
        problems.append(
            Problem(
                what=f"component {component.name}: {_VARIABLE} is no JSON object",
                position=graph.locate(*path),
                remedy="write a JSON object with the names of components as its keys",
            )
        )
        return component
    own = config.get(component.name)
    if not isinstance(own, Mapping):
        return component
    arguments = own.get("ServiceArgs")
    arguments = arguments if isinstance(arguments, Mapping) else {}
    main = dict(component.main)
    if resources := _resources(arguments.get("resources")):
        main["resources"] = _with_both(main.get("resources") or {}, resources)
    if component.type == "frontend" and own.get("port") not in (None, _FRONTEND_PORT):
        text = msgspec.json.encode({**config, component.name: {**own, "port": _FRONTEND_PORT}}).decode()
        env = list(main.get("env") or ())
        served = {"name": _VARIABLE, "value": text}
        main["env"] = [served if item.get("name") == _VARIABLE else item for item in env]
        if served not in main["env"]:
            main["env"].append(served)
    workers = arguments.get("workers")
    replicas = component.replicas
    if replicas is None and isinstance(workers, int) and not isinstance(workers, bool) and workers >= 0:
        replicas = workers
    return msgspec.structs.replace(component, replicas=replicas, pod_template=_with_main(component, main))


def _entry(graph: Graph, component: Component) -> tuple[Mapping[str, Any], Path] | None:
    """The entry that is in force, and where it stands: the component's last one, else the graph's."""
    own = component.main.get("env") or ()
    if (index := _last(own)) is not None:
        return own[index], (*component.main_path, "env", index)
    if (index := _last(graph.env)) is not None:
        return graph.env[index], ("spec", "env", index)
    return None


def _last(env: Sequence[Mapping[str, Any]]) -> int | None:
    return next((index for index in range(len(env) - 1, -1, -1) if env[index].get("name") == _VARIABLE), None)


def _resources(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        return {}
    named = {"cpu": given.get("cpu"), "memory": given.get("memory"), GPU: given.get("gpu")}
    custom = given.get("custom")
    if isinstance(custom, Mapping):
        named |= custom
    return {name: str(amount) for name, amount in named.items() if amount not in (None, "")}


def _with_both(resources: Mapping[str, Any], amounts: Mapping[str, str]) -> Json:
    both = {kind: {**(resources.get(kind) or {}), **amounts} for kind in ("requests", "limits")}
    return {**resources, **both}


def _with_main(component: Component, main: Json) -> Json:
    spec = component.pod_spec
    containers = [main if item.get("name") == MAIN else item for item in spec.get("containers") or ()]
    if main not in containers:
        containers.insert(0, {**main, "name": MAIN})
    return {**component.pod_template, "spec": {**spec, "containers": containers}}
