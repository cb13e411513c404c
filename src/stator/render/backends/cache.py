"""The compilation cache: a claim mounted where the engine keeps what it has compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stator.errors import Problem
from stator.render.backends.setters import literal
from stator.render.changes import Changes, Json
from stator.render.context import Context

# Only vLLM has a place that needs no asking.
_VLLM_PLACE = "/root/.cache/vllm"
_VLLM_VARIABLE = "VLLM_CACHE_ROOT"
_FIELD = "compilationCache"


def changes(context: Context, body: Json, problems: list[Problem]) -> Changes:
    """The mount, its volume, and for vLLM the variable that names the place; nothing without the field.

    A mount of the same claim at the same place is the user's own way to say it and stays.
    """
    wanted: Mapping[str, Any] = context.component.other.get(_FIELD) or {}
    if not wanted:
        return Changes()
    claim, place = wanted["pvcName"], wanted.get("mountPath") or ""
    if not place and context.backend == "vllm":
        place = _VLLM_PLACE
    volumes = context.component.pod_spec.get("volumes") or ()
    if problem := _problem(context, claim, place, body.get("volumeMounts") or (), volumes):
        problems.append(problem)
        return Changes()
    there = any(mount.get("name") == claim and _same(mount, place) for mount in body.get("volumeMounts") or ())
    named = any(volume.get("name") == claim for volume in volumes)
    return Changes(
        mounts=() if there else ({"name": claim, "mountPath": place},),
        volumes=() if named else ({"name": claim, "persistentVolumeClaim": {"claimName": claim}},),
        env=(literal(_VLLM_VARIABLE, place, "compilation cache"),) if context.backend == "vllm" else (),
    )


def _problem(
    context: Context, claim: str, place: str, mounts: Sequence[Json], volumes: Sequence[Json]
) -> Problem | None:
    def problem(why: str, remedy: str) -> Problem:
        what = f"component {context.component.name}: the compilation cache cannot be mounted"
        return Problem(what=what, position=context.at(_FIELD), why=why, remedy=remedy)

    if not place:
        why = f"only vLLM has a default place, and this component runs {context.backend}"
        return problem(why, f"set {_FIELD}.mountPath")
    for mount in mounts:
        if _same(mount, place) and mount.get("name") != claim:
            why = f'the volume "{mount.get("name")}" is mounted at {place} already'
            return problem(why, "mount one of them elsewhere")
        if _same(mount, place) and mount.get("readOnly"):
            return problem("it is mounted read-only, and the engine writes to it", "leave readOnly out")
    for volume in volumes:
        if volume.get("name") == claim:
            source = volume.get("persistentVolumeClaim")
            if not source:
                return problem(f'the volume "{claim}" is no claim', "give the volume another name")
            if source.get("readOnly"):
                return problem("its volume is read-only, and the engine writes to it", "leave readOnly out")
    return None


def _same(mount: Json, place: str) -> bool:
    return str(mount.get("mountPath") or "").rstrip("/") == place.rstrip("/")
