"""The Deployment of a component: replicas, how its pods are replaced, and the pod template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stator.errors import Position, Problem
from stator.render import names
from stator.render.checkpoint import waits_for_checkpoint
from stator.render.context import Context
from stator.render.metadata import workload_annotations

Json = dict[str, Any]

STRATEGY = "nvidia.com/deployment-strategy"
SURGE = "nvidia.com/deployment-rolling-update-max-surge"
UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"
QUARTER = "25%"
_AMOUNT = re.compile(r"\d{1,9}%?")


def deployment(context: Context, template: Json, labels: Mapping[str, str], problems: list[Problem]) -> Json:
    """The Deployment around a pod template.

    Replicas that a graph leaves out are 1, as its defaulter says; a DynamoComponentDeployment has no defaulter, and
    leaving the field out lets an autoscaler own it.
    """
    metadata: Json = {"name": context.workload, "namespace": context.graph.namespace, "labels": dict(labels)}
    if annotations := workload_annotations(context):
        metadata["annotations"] = annotations
    replicas = replicas_of(context)
    body: Json = {} if replicas is None else {"replicas": replicas}
    body["selector"] = {"matchLabels": {names.SELECTOR: context.workload}}
    body["strategy"] = _strategy(context, problems)
    body["template"] = template
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": body}


def replicas_of(context: Context) -> int | None:
    """The component's replicas: None if nobody but an autoscaler is to say, 0 while its checkpoint is awaited."""
    if context.component.name in context.options.waiting_for_checkpoint and waits_for_checkpoint(context.component):
        return 0
    replicas = context.component.replicas
    return 1 if replicas is None and context.graph.kind == "DynamoGraphDeployment" else replicas


def _strategy(context: Context, problems: list[Problem]) -> Json:
    if context.annotations.get(STRATEGY) == "Recreate":
        return {"type": "Recreate"}
    surge, unavailable = (_amount(context, key, problems) for key in (SURGE, UNAVAILABLE))
    if _is_zero(surge) and _is_zero(unavailable):
        problems.append(
            Problem(
                what=f"component {context.component.name}: max-surge and max-unavailable are both zero",
                position=_annotation_position(context, UNAVAILABLE),
                why="a rolling update could replace nothing",
                remedy="raise one of them",
            )
        )
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def _amount(context: Context, key: str, problems: list[Problem]) -> int | str:
    if key not in context.annotations:
        return QUARTER
    text = context.annotations[key].strip()
    if not _AMOUNT.fullmatch(text):
        problems.append(
            Problem(
                what=f'component {context.component.name}: annotation {key} is "{text}"',
                position=_annotation_position(context, key),
                remedy='use a number of pods ("1") or a percentage ("25%")',
            )
        )
        return QUARTER
    return text if text.endswith("%") else int(text)


def _is_zero(amount: int | str) -> bool:
    return str(amount).rstrip("%").strip("0") == ""


def _annotation_position(context: Context, key: str) -> Position:
    if key in context.graph.spec_annotations:
        return context.graph.locate("spec", "annotations", key)
    return context.at("podTemplate", "metadata", "annotations", key)
