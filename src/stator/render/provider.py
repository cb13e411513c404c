"""Who runs a graph's pods: Deployments and LeaderWorkerSets component by component, or one Grove PodCliqueSet.

The choice that an operator has recorded on the graph is final: moving a running graph would stop it. Without a record
Grove is taken where the cluster has it, unless the graph declines. A DynamoComponentDeployment is a component already.
"""

from __future__ import annotations

from stator.errors import Problem
from stator.model import Graph
from stator.render.manifest import NotRendered, RenderOptions
from stator.render.multinode import Provider

RECORDED = "nvidia.com/workload-provider"
DECLINES_GROVE = "nvidia.com/enable-grove"
_DISAGGREGATED = "nvidia.com/enable-disaggregatedset"
_KNOWN: dict[str, Provider] = {"component": "component", "grove": "grove"}


def provider_of(graph: Graph, options: RenderOptions, problems: list[Problem], notes: list[NotRendered]) -> Provider:
    """The provider of a graph. Adds to `problems` a record nobody can follow, to `notes` a wish nobody fulfils."""
    if graph.kind == "DynamoComponentDeployment":
        return "component"
    recorded = graph.annotations.get(RECORDED)
    if recorded is not None:
        if known := _KNOWN.get(recorded):
            return known
        problems.append(
            Problem(
                what=f'the workload provider "{recorded}" is not rendered',
                position=graph.locate("metadata", "annotations", RECORDED),
                why="an operator has recorded it, and another provider would run the same pods twice",
                remedy='remove the graph and make it anew, or record "component" or "grove"',
            )
        )
        return "component"
    if options.provider == "grove" and graph.annotations.get(DECLINES_GROVE, "").lower() != "false":
        return "grove"
    if graph.annotations.get(_DISAGGREGATED) == "true":
        path = ("metadata", "annotations", _DISAGGREGATED)
        why = "no DisaggregatedSet is made; each component has a workload of its own"
        notes.append(NotRendered(path, graph.locate(*path), why))
    return "component"
