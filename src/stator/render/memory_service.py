"""The GPU memory service inside a pod: a server holds what engines put into GPU memory, so it outlives them.

Server and engine have to see the same GPUs, which a device plugin cannot give. The container's GPU limit becomes a
device claim of the pod (Kubernetes documentation, "Dynamic Resource Allocation", `resource.k8s.io/v1`, from 1.34 on)
that both name. The server is a restartable init container: it is there before the engine starts, and its sockets are
in a volume that they share.

The form between pods needs servers of their own beside the engines; it is not rendered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stator.errors import Problem
from stator.render import names
from stator.render.backends.setters import literal
from stator.render.context import Context
from stator.render.manifest import Provenance
from stator.render.resources import GPU, gpu_count

Json = dict[str, Any]

DIRECTORY = "/gms-intrapod-control"

_CLAIM = "intrapod-shared-gpu"
_DEVICE_CLASS = "gpu.nvidia.com"
_SERVER = "gms-server"
_MODULE = "gpu_memory_service.cli.server"
_VOLUME = "gms-intrapod-control"
_SOCKETS = literal("GMS_SOCKET_DIR", DIRECTORY, "GPU memory service")
_MOUNT = {"name": _VOLUME, "mountPath": DIRECTORY}
# Nodes with GPUs are tainted; the device plugin's admission adds this for a GPU limit, a claim gets it from nobody.
_TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
_STARTED = {"exec": {"command": ["test", "-f", f"{DIRECTORY}/gms-ready"]}, "periodSeconds": 1, "failureThreshold": 300}


class SharedGpus(msgspec.Struct, frozen=True):
    """What was made beside the pod, and who set what in it."""

    objects: tuple[Json, ...] = ()
    provenance: tuple[Provenance, ...] = ()


def memory_service(context: Context) -> Mapping[str, Any] | None:
    """The component's wish for the service inside its pods, None if it has none."""
    wanted = (context.component.other.get("experimental") or {}).get("gpuMemoryService")
    if wanted is None or wanted.get("mode", "IntraPod") != "IntraPod" or not context.is_worker:
        return None
    return wanted  # type: ignore[no-any-return] # the loader has checked that it is a mapping


def share_gpus(context: Context, spec: Json, problems: list[Problem]) -> SharedGpus:
    """Put the service into a pod whose first container is the engine. Adds to `problems` a pod without GPUs."""
    wanted = memory_service(context)
    if wanted is None:
        return SharedGpus()
    engine = spec["containers"][0]
    gpus = gpu_count(engine.get("resources") or {})
    if not gpus:
        problems.append(
            Problem(
                what=f"component {context.component.name}: the GPU memory service has no GPUs to hold",
                position=context.at("experimental", "gpuMemoryService"),
                why=f"its main container has no {GPU} limit",
                remedy=f"set podTemplate.spec.containers[name=main].resources.limits[{GPU}]",
            )
        )
        return SharedGpus()
    template = f"{context.parent}-{context.component.name.lower()}-gpu"
    for kind in ("limits", "requests"):
        if kind in engine["resources"]:
            engine["resources"][kind].pop(GPU, None)
            if not engine["resources"][kind]:
                del engine["resources"][kind]
    clients = wanted.get("extraClientContainers") or ()
    set_in = [_connect(context, item) for item in spec["containers"] if item is engine or item.get("name") in clients]
    spec["initContainers"] = [*(spec.get("initContainers") or ()), _server(engine)]
    spec["volumes"] = [*(spec.get("volumes") or ()), {"name": _VOLUME, "emptyDir": {}}]
    spec["resourceClaims"] = [
        *(spec.get("resourceClaims") or ()),
        {"name": _CLAIM, "resourceClaimTemplateName": template},
    ]
    tolerations = spec.get("tolerations") or []
    if _TOLERATION not in tolerations:
        spec["tolerations"] = [*tolerations, dict(_TOLERATION)]
    return SharedGpus(
        (_claim_template(context, template, gpus, wanted.get("deviceClassName") or _DEVICE_CLASS),),
        tuple(item for item in set_in if item),
    )


def _connect(context: Context, container: Json) -> Provenance | None:
    """Give a container the claim and the sockets; an entry of the user's for their place stays."""
    resources = container.setdefault("resources", {})
    resources["claims"] = [*(resources.get("claims") or ()), {"name": _CLAIM}]
    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), dict(_MOUNT)]
    env = container.get("env") or []
    if any(entry.get("name") == _SOCKETS.name for entry in env):
        return None
    container["env"] = [*env, _SOCKETS.written()]
    return _SOCKETS.provenance(context.role.label(container["name"]))


def _server(engine: Json) -> Json:
    return {
        "name": _SERVER,
        "image": engine.get("image"),
        "restartPolicy": "Always",
        "command": ["python3", "-m", _MODULE],
        "env": [_SOCKETS.written()],
        "resources": {"claims": [{"name": _CLAIM}]},
        "startupProbe": {**_STARTED},
        "volumeMounts": [dict(_MOUNT)],
    }


def _claim_template(context: Context, name: str, gpus: int, device_class: str) -> Json:
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": gpus}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": name,
            "namespace": context.graph.namespace,
            "labels": {names.COMPONENT: context.component.name, names.GRAPH_NAME: context.parent},
        },
        "spec": {"spec": {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}},
    }
