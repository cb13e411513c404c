"""v1beta1 components to v1alpha1 services: the reverse of `stator.model.alpha`, by the same upstream rules.

Everything of the container `main` goes to `extraPodSpec.mainContainer`, which wins over a service's dedicated
fields anyway. What a service cannot say is left out here; `stator.model.preserved` keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.model.resources import FRONTEND_SIDECAR, MAIN

Json = dict[str, Any]

SAME_NAME = (
    "multinode",
    "roles",
    "minAvailable",
    "modelRef",
    "eppConfig",
    "topologyConstraint",
    "providerOverride",
    "runtimeVersionOverride",
    "globalDynamoNamespace",
    "replicas",
)
# Types that v1alpha1 says as a worker with a sub-type.
PROMOTED = ("prefill", "decode")


def service_value(component: Mapping[str, Any]) -> Json:
    """The service for a component of the v1beta1 shape, without its name."""
    service: Json = _type(component.get("type"))
    service |= {name: component[name] for name in SAME_NAME if name in component}
    if (size := component.get("sharedMemorySize")) is not None:
        service["sharedMemory"] = {"disabled": True} if str(size) == "0" else {"size": size}
    if "scalingAdapter" in component:
        service["scalingAdapter"] = {"enabled": True}
    if (cache := component.get("compilationCache")) is not None:
        named = {"pvcName": "name", "mountPath": "mountPoint"}
        mount = {there: cache[here] for here, there in named.items() if cache.get(here)}
        service["volumeMounts"] = [{**mount, "useAsCompilationCache": True}]
    service |= _experimental(component.get("experimental") or {})
    template = component.get("podTemplate") or {}
    if metadata := template.get("metadata"):
        service["extraPodMetadata"] = metadata
    return service | _pod(component, template.get("spec") or {})


def _type(name: Any) -> Json:
    if name in PROMOTED:
        return {"componentType": "worker", "subComponentType": name}
    return {} if not name else {"componentType": name}


def _experimental(features: Mapping[str, Any]) -> Json:
    value: Json = {}
    for name in ("gpuMemoryService", "failover"):
        if (feature := features.get(name)) is not None:
            mode = feature.get("mode", "IntraPod")
            value[name] = {"enabled": True, **feature, "mode": mode[0].lower() + mode[1:]}
    if "checkpoint" in features:
        value["checkpoint"] = features["checkpoint"]
    return value


def _pod(component: Mapping[str, Any], spec: Mapping[str, Any]) -> Json:
    """`extraPodSpec` with the main container in it, and the sidecar that has a field of its own."""
    pod: Json = {key: item for key, item in spec.items() if key != "containers"}
    service: Json = {}
    others = []
    for container in spec.get("containers") or ():
        if container.get("name") == MAIN:
            if content := {key: item for key, item in container.items() if key != "name"}:
                pod["mainContainer"] = content
        elif component.get("frontendSidecar") == container.get("name") and (inline := _inline(container)) is not None:
            service["frontendSidecar"] = inline
        else:
            others.append(container)
    if others:
        pod["containers"] = others
    return service | ({"extraPodSpec": pod} if pod else {})


def _inline(container: Mapping[str, Any]) -> Json | None:
    """The inline form of a frontend sidecar, None if its container says more than that form can."""
    sources = container.get("envFrom", [])
    secret = sources[0].get("secretRef") or {} if len(sources) == 1 and set(sources[0]) == {"secretRef"} else {}
    if (
        container["name"] != FRONTEND_SIDECAR
        or set(container) - {"name", "image", "args", "env", "envFrom"}
        or (sources and set(secret) != {"name"})
    ):
        return None
    named = {"image": "image", "args": "args", "env": "envs"}
    inline = {there: container[here] for here, there in named.items() if here in container}
    return inline | ({"envFromSecret": secret["name"]} if secret else {})
