"""The PodCliqueSet of a whole graph: a clique per role, and a scaling group where several cliques are one replica.

Grove schedules a set's cliques together and gives the pods their names; both have limits that this module keeps: a
pod's name must fit with the set's, the group's and the clique's in it, so a long graph name is shortened and given
a hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stator.errors import Problem
from stator.model import Component, Graph
from stator.render import names
from stator.render.context import Context, copied
from stator.render.manifest import RenderedPod, RenderOptions
from stator.render.provider import DECLINES_GROVE
from stator.render.workloads.deployment import replicas_of

Json = dict[str, Any]

_NAME_BUDGET = 45
_SHORTEST = 8
_HASH_DIGITS = 4
_TERMINATION_DELAY = "15m"
_UPDATE_STRATEGY = "nvidia.com/grove-update-strategy"
_UPDATE_STRATEGIES = ("RollingRecreate", "OnDelete")
_KAI = "kai-scheduler"
_KAI_QUEUE_LABEL = "kai.scheduler/queue"
# The queue has to be there: KAI leaves the pods of another one pending.
_KAI_QUEUE = "dynamo"
_VOLCANO = "volcano"
_VOLCANO_QUEUE = "scheduling.grove.io/volcano-queue"
SUFFIXES = {"leader": "-ldr", "worker": "-wkr", "main": ""}
_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193


class Clique(msgspec.Struct, frozen=True):
    """One component in one role, and its pod as rendered."""

    context: Context
    pod: RenderedPod

    @property
    def name(self) -> str:
        """`<component>`, with `-ldr` or `-wkr` where there are several roles."""
        return f"{self.context.component.name.lower()}{SUFFIXES[self.pod.role]}"


def pod_clique_set(graph: Graph, components: Sequence[Sequence[Clique]], problems: list[Problem]) -> Json:
    """The PodCliqueSet of a graph; `components` are its components' cliques, leader first."""
    cliques = [clique for component in components for clique in component]
    explicit = any(_starts_after(clique) for clique in cliques)
    template: Json = {
        "cliqueStartupType": f"CliqueStartupType{'Explicit' if explicit else 'AnyOrder'}",
        "headlessServiceConfig": {"publishNotReadyAddresses": True},
        "terminationDelay": _TERMINATION_DELAY,
        "cliques": [_clique(clique, in_group=_in_group(clique)) for clique in cliques],
    }
    if groups := [_group(component) for component in components if _in_group(component[0])]:
        template["podCliqueScalingGroups"] = groups
    if priority := graph.other.get("priorityClassName"):
        template["priorityClassName"] = priority
    if constraint := _topology(graph.other.get("topologyConstraint") or {}, graph):
        template["topologyConstraint"] = constraint
    spec: Json = {"replicas": 1, "template": template}
    if strategy := graph.annotations.get(_UPDATE_STRATEGY, ""):
        spec["updateStrategy"] = {"type": strategy}
    metadata: Json = {
        "name": set_name(graph, problems),
        "namespace": graph.namespace,
        "labels": {**graph.spec_labels, names.GRAPH_NAME: graph.name},
    }
    annotations = {**graph.spec_annotations, **_volcano_queue(graph, cliques[0].context.options)}
    if annotations:
        metadata["annotations"] = annotations
    made = {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": metadata, "spec": spec}
    return _overridden(made, graph.other.get("providerOverride") or {})


def set_name(graph: Graph, problems: list[Problem]) -> str:
    """The graph's name if its pods' names fit, else its beginning and a hash. Adds to `problems` what cannot fit."""
    if "." in graph.name:
        problems.append(
            Problem(
                what=f'"{graph.name}" cannot be the name of a graph on Grove',
                position=graph.locate("metadata", "name"),
                why="Grove makes a Service and hostnames of it, in which the API server takes no dot",
                remedy=f'rename the graph, or run it without Grove (annotation {DECLINES_GROVE}: "false")',
            )
        )
    longest = max(graph.components, key=_name_length)
    budget = _NAME_BUDGET - _name_length(longest)
    if budget < _SHORTEST and len(graph.name) > budget:
        problems.append(
            Problem(
                what=f"component {longest.name}: its name leaves {max(budget, 0)} characters for the graph's",
                position=graph.locate(*longest.path, "name"),
                why=f"Grove puts set, group and clique into a pod's name, which holds {_NAME_BUDGET} of theirs",
                remedy="shorten the component's name",
            )
        )
    budget = max(budget, _SHORTEST)
    if len(graph.name) <= budget:
        return graph.name
    return f"{graph.name[: budget - _HASH_DIGITS - 1]}-{_fnv(graph.name) & 0xFFFF:04x}"


def _name_length(component: Component) -> int:
    """Characters of a pod's name that the component takes: its group and longest clique, or its one clique."""
    name = component.name.lower()
    if component.other.get("multinode") is not None:
        return len(name) + len(name) + len("-ldr")
    return 2 * len(name) if _forced(component) else len(name)


def _fnv(text: str) -> int:
    """FNV-1a, 32 bits."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return value


def _in_group(clique: Clique) -> bool:
    return clique.context.role.nodes > 1 or _forced(clique.context.component)


def _forced(component: Component) -> bool:
    grove = (component.other.get("experimental") or {}).get("grove") or {}
    return bool(grove.get("forceScalingGroup"))


def _clique(clique: Clique, *, in_group: bool) -> Json:
    """The clique of one role. In a group it holds one replica's pods, all of them needed; else it is what scales."""
    context, template = clique.context, clique.pod.template
    count = clique.pod.count
    least = count
    if not in_group:
        count = _replicas(context)
        least = context.component.other.get("minAvailable") or 1
    spec: Json = {
        "roleName": clique.name,
        "replicas": count,
        "minAvailable": least,
        "podSpec": {**template["spec"], **_scheduled_by(context, template["spec"])},
    }
    if after := _starts_after(clique):
        spec["startsAfter"] = after
    made: Json = {"name": clique.name, **_metadata(template["metadata"]), "spec": spec}
    if spec["podSpec"].get("schedulerName") == _KAI and context.options.scheduler == "kai":
        queue = context.graph.annotations.get(names.KAI_QUEUE) or _KAI_QUEUE
        made["labels"] = {**made.get("labels", {}), _KAI_QUEUE_LABEL: queue}
    if in_group:
        return made
    component = context.component
    if constraint := _topology(component.other.get("topologyConstraint") or {}, context.graph):
        made["topologyConstraint"] = constraint
    return _overridden(made, component.other.get("providerOverride") or {})


def _group(component: Sequence[Clique]) -> Json:
    context = component[0].context
    made: Json = {
        "name": context.component.name.lower(),
        "cliqueNames": [clique.name for clique in component],
        "replicas": _replicas(context),
        "minAvailable": context.component.other.get("minAvailable") or 1,
    }
    if constraint := _topology(context.component.other.get("topologyConstraint") or {}, context.graph):
        made["topologyConstraint"] = constraint
    return _overridden(made, context.component.other.get("providerOverride") or {})


def _replicas(context: Context) -> int:
    replicas = replicas_of(context)
    return 1 if replicas is None else replicas


def _starts_after(clique: Clique) -> list[str]:
    """TensorRT-LLM's leader logs in to its workers, so it starts after them."""
    context = clique.context
    if context.backend != "trtllm" or context.role.name != "leader":
        return []
    return [f"{context.component.name.lower()}{SUFFIXES['worker']}"]


def _scheduled_by(context: Context, spec: Mapping[str, Any]) -> Json:
    """The scheduler that places a gang as one; a user's own choice of another stays."""
    scheduler = {"": "", "kai": _KAI, "volcano": _VOLCANO}[context.options.scheduler]
    return {"schedulerName": scheduler} if scheduler and spec.get("schedulerName") in (None, "", scheduler) else {}


def _volcano_queue(graph: Graph, options: RenderOptions) -> dict[str, str]:
    queue = graph.annotations.get(names.VOLCANO_QUEUE)
    return {_VOLCANO_QUEUE: queue} if queue and options.scheduler == "volcano" else {}


def _metadata(template: Mapping[str, Any]) -> Json:
    return {field: dict(template[field]) for field in ("labels", "annotations") if template.get(field)}


def _topology(constraint: Mapping[str, Any], graph: Graph) -> Json:
    """Where the pods have to be close: a component's constraint is in the topology that the graph names.

    Grove refuses its older `packDomain` on new objects since v0.1.0-alpha.11 (ai-dynamo/dynamo#11399).
    """
    if not constraint.get("packDomain"):
        return {}
    topology = (graph.other.get("topologyConstraint") or {}).get("clusterTopologyName")
    return {**({"topologyName": topology} if topology else {}), "pack": {"required": constraint["packDomain"]}}


def check_update_strategy(graph: Graph, problems: list[Problem]) -> None:
    """Add to `problems` a strategy that Grove does not have; it is wrong whoever runs the pods today."""
    strategy = graph.annotations.get(_UPDATE_STRATEGY, "")
    if strategy and strategy not in _UPDATE_STRATEGIES:
        problems.append(
            Problem(
                what=f'annotation {_UPDATE_STRATEGY} is "{strategy}"',
                position=graph.locate("metadata", "annotations", _UPDATE_STRATEGY),
                remedy=f"use {' or '.join(_UPDATE_STRATEGIES)}",
            )
        )


def _overridden(made: Json, override: Mapping[str, Any]) -> Json:
    """An object of Grove with the raw values of a provider override laid over it, mapping by mapping."""
    return _laid_over(made, copied(override.get("value") or {}))


def _laid_over(base: Json, over: Mapping[str, Any]) -> Json:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _laid_over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
