"""The pod around the main container: containers in the user's order, volumes, shared memory, security, accounts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stator.model import MAIN, Path
from stator.render import names, rbac
from stator.render.changes import Changes
from stator.render.context import Context, copied
from stator.render.defaults import Defaults
from stator.render.manifest import NotRendered
from stator.render.objects.accounts import account_of

Json = dict[str, Any]

SHARED_MEMORY = "shared-memory"
_SHARED_MEMORY_PATH = "/dev/shm"  # noqa: S108 - the mount point of POSIX shared memory, not a temporary file
_SHARED_MEMORY_SIZE = "8Gi"
_FS_GROUP = 1000
_ZERO = re.compile(r"[+-]?0*(?:\.0*)?(?:[eE][+-]?\d+|[numkMGTPE]i?|Ki)?")


def pod_spec(context: Context, main: Json, defaults: Defaults, made: Changes, notes: list[NotRendered]) -> Json:
    """The pod's `spec` with `main` as its first container. Adds to `notes` what the user asked for in vain.

    `made` is what its framework adds. Completes the mounts of `main`, which depend on the pod's volumes.
    """
    user = context.component.pod_spec
    spec: Json = copied({key: value for key, value in user.items() if key != "containers"})
    spec["containers"] = [
        main,
        *(copied(item) for item in user.get("containers") or () if item.get("name") != MAIN),
    ]
    spec["restartPolicy"] = spec.get("restartPolicy") or "Always"
    if user.get("terminationGracePeriodSeconds") == 0:
        notes.append(
            NotRendered(
                _path(context, "terminationGracePeriodSeconds"),
                context.at("podTemplate", "spec", "terminationGracePeriodSeconds"),
                f"an empty value does not override the default of {defaults.grace} seconds",
            )
        )
    spec["terminationGracePeriodSeconds"] = spec.get("terminationGracePeriodSeconds") or defaults.grace
    # Any securityContext of the user's, even an empty one, says "hands off".
    if spec.get("securityContext") is None:
        spec["securityContext"] = {"fsGroup": _FS_GROUP}
    _service_account(context, spec, notes)
    volumes = spec.pop("volumes", None) or []
    mounts = main.pop("volumeMounts", None) or []
    # A default volume goes with its default mount: without it the mount would become a claim that nobody made.
    mounted = {mount.get("name") for mount in mounts}
    present = {volume.get("name") for volume in volumes}
    volumes += [copied(item) for item in defaults.volumes if item["name"] in mounted and item["name"] not in present]
    # A name or a place that the user has taken stays theirs: two of one are refused by the API server.
    volumes += [copied(item) for item in made.volumes if item["name"] not in present]
    places = {mount.get("mountPath") for mount in mounts}
    mounts += [dict(item) for item in made.mounts if item["mountPath"] not in places]
    taken = {item.get("name") for field in ("containers", "initContainers") for item in spec.get(field) or ()}
    if added := [copied(item) for item in made.init_containers if item["name"] not in taken]:
        spec["initContainers"] = [*(spec.get("initContainers") or ()), *added]
    volumes, mounts = _shared_memory(context, volumes, mounts, notes)
    if volumes := _ordered(volumes, mounts):
        spec["volumes"] = volumes
    if mounts:
        main["volumeMounts"] = mounts
    return spec


def put_sidecars(spec: Json, rendered: Mapping[str, Json]) -> None:
    """Put rendered containers in the places of the user's of the same names."""
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = [rendered.get(item.get("name"), item) for item in spec[field]]


def _service_account(context: Context, spec: Json, notes: list[NotRendered]) -> None:
    """Set the account of the type: forced for a planner, a default for an endpoint picker, else discovery's."""
    # `serviceAccount` is the deprecated name of the same field (Kubernetes API, PodSpec).
    given = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if context.type == "planner" and context.provider == "component":
        if given and given != names.PLANNER_ACCOUNT:
            notes.append(
                NotRendered(
                    _path(context, "serviceAccountName"),
                    context.at("podTemplate", "spec", "serviceAccountName"),
                    f"a planner always runs as {names.PLANNER_ACCOUNT}, which may scale the graph",
                )
            )
        spec.pop("serviceAccount", None)
        spec["serviceAccountName"] = names.PLANNER_ACCOUNT
    elif given:
        return
    elif context.type == "planner":
        spec["serviceAccountName"] = names.PLANNER_ACCOUNT
    elif context.type == "epp":
        spec["serviceAccountName"] = names.PICKER_ACCOUNT
    elif context.discovery == "kubernetes":
        spec["serviceAccountName"] = rbac.account_name(context.parent)
    account = spec.get("serviceAccountName")
    if account in {names.PLANNER_ACCOUNT, names.PICKER_ACCOUNT} and not account_of(context.type, context.options)[1]:
        notes.append(
            NotRendered(
                (f"ServiceAccount/{context.graph.namespace}/{account}",),
                context.at(),
                "the account and its role bindings are made by the operator's installation",
            )
        )


def _shared_memory(
    context: Context, volumes: list[Json], mounts: list[Json], notes: list[NotRendered]
) -> tuple[list[Json], list[Json]]:
    """Volumes and mounts with `/dev/shm` as a memory volume, unless its size is zero.

    A volume of that name and a mount of that name or place are the user's attempt at the same; ours stand in for them.
    """
    size = context.component.shared_memory_size or _SHARED_MEMORY_SIZE
    if _ZERO.fullmatch(size):
        return volumes, mounts
    kept_volumes = [volume for volume in volumes if volume.get("name") != SHARED_MEMORY]
    kept_mounts = [
        mount
        for mount in mounts
        if mount.get("name") != SHARED_MEMORY and str(mount.get("mountPath") or "").rstrip("/") != _SHARED_MEMORY_PATH
    ]
    if len(kept_volumes) < len(volumes) or len(kept_mounts) < len(mounts):
        notes.append(
            NotRendered(
                _path(context, "volumes"),
                context.at("podTemplate", "spec", "volumes"),
                f"{_SHARED_MEMORY_PATH} is made from sharedMemorySize ({size}) instead of your volume and mount",
            )
        )
    volume = {"name": SHARED_MEMORY, "emptyDir": {"medium": "Memory", "sizeLimit": size}}
    return [*kept_volumes, volume], [*kept_mounts, {"name": SHARED_MEMORY, "mountPath": _SHARED_MEMORY_PATH}]


def _ordered(volumes: list[Json], mounts: list[Json]) -> list[Json]:
    """The volumes of the mounts in mount order, then the rest; a mount without a volume names a claim."""
    left: dict[Any, Json] = {volume.get("name"): volume for volume in volumes}
    ordered: dict[Any, Json] = {}
    for mount in mounts:
        name = mount.get("name")
        if name not in ordered:
            claim = {"name": name, "persistentVolumeClaim": {"claimName": name}}
            ordered[name] = left.pop(name, claim)
    return [*ordered.values(), *left.values()]


def _path(context: Context, field: str) -> Path:
    return (*context.component.path, "podTemplate", "spec", field)
