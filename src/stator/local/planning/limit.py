"""How many processes one run may be: a graph of a large cluster would take this machine down before anybody sees why.

Only what certainly cannot run is refused. What fits depends on the engine and its model, and shows when it runs.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from stator.errors import Problem
from stator.model import Graph
from stator.render import RenderedComponent

# Memory for each process, in bytes. The smallest one of a published runtime, a frontend at rest, takes about 50 MiB.
LEAST_MEMORY = 32 << 20


class Crowd(msgspec.Struct, frozen=True):
    """A component with the processes that it is at once."""

    graph: Graph
    component: RenderedComponent
    processes: int


def crowds(
    graph: Graph, components: Iterable[RenderedComponent], ignored_sidecars: Collection[str]
) -> tuple[Crowd, ...]:
    """The components of a graph; init containers that end before the others begin do not count."""
    return tuple(
        Crowd(graph, component, replicas(component) * _side_by_side(component, ignored_sidecars))
        for component in components
    )


def too_many(found: Iterable[Crowd]) -> Problem | None:
    """The problem with more processes than this machine has memory for, at the component that is most of them."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    most = memory // LEAST_MEMORY
    found = tuple(found)
    total = sum(each.processes for each in found)
    if total <= most:
        return None
    largest = max(found, key=lambda each: each.processes)
    part = next(part for part in largest.graph.components if part.name == largest.component.name)
    return Problem(
        what=f"{total:,} processes would run at once, {largest.processes:,} of them of component {part.name}",
        position=largest.graph.locate(*part.path, "replicas"),
        why=f"with {memory / (1 << 30):.0f} GiB of memory at most {most:,} are started here,"
        f" one for every {LEAST_MEMORY >> 20} MiB",
        remedy="lower the replicas, or run the graph on a cluster",
    )


def replicas(component: RenderedComponent) -> int:
    """How many pods of it there are."""
    wanted = component.workload["spec"].get("replicas")
    return 1 if wanted is None else int(wanted)


def roles(spec: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Init containers, and the ones that run side by side: a restartable init container is a sidecar."""
    init = [container for container in spec.get("initContainers") or () if container.get("restartPolicy") != "Always"]
    sidecars = [
        container for container in spec.get("initContainers") or () if container.get("restartPolicy") == "Always"
    ]
    return init, [*(spec.get("containers") or ()), *sidecars]


def _side_by_side(component: RenderedComponent, ignored_sidecars: Collection[str]) -> int:
    _, running = roles(component.workload["spec"]["template"]["spec"])
    return sum(container["name"] not in ignored_sidecars for container in running)
