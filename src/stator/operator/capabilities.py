"""What the reconcilers are told of a cluster: the kinds that others bring, and who schedules Grove's pods."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import msgspec

from stator.kube.resources import Kind
from stator.operator import kinds
from stator.operator.options import OperatorOptions
from stator.operator.settings import Settings
from stator.render.manifest import Scheduler

_SCHEDULERS: dict[Kind, Scheduler] = {kinds.KAI_QUEUE: "kai", kinds.VOLCANO_QUEUE: "volcano"}


def capable(settings: Settings, found: AbstractSet[Kind]) -> OperatorOptions:
    """The options for a cluster that serves these kinds."""
    render = msgspec.structs.replace(settings.options.render, scheduler=scheduler(settings, found))
    installed = frozenset(kind.kind for kind in kinds.OPTIONAL if kind in found)
    return msgspec.structs.replace(settings.options, render=render, installed=installed)


def scheduler(settings: Settings, found: AbstractSet[Kind]) -> Scheduler:
    """Who schedules Grove's pods: the one that is asked for, else the only one there is besides Kubernetes itself."""
    if settings.scheduler == "auto":
        there = schedulers(found)
        return there[0] if len(there) == 1 else ""
    return "" if settings.scheduler == "none" else settings.scheduler


def schedulers(found: AbstractSet[Kind]) -> tuple[Scheduler, ...]:
    """The schedulers of gangs that a cluster has."""
    return tuple(name for kind, name in _SCHEDULERS.items() if kind in found)
