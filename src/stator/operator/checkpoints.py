"""Components that wait for a checkpoint which nobody takes.

This operator takes no checkpoints. Who asked a worker to start from one alone (`startupPolicy: WaitForCheckpoint`) gets
no pods instead of pods that start otherwise, and reads why. What runs already, started by another operator, is let run.
"""

from __future__ import annotations

from collections.abc import Container

from stator.model import Graph
from stator.render.checkpoint import waits_for_checkpoint

AWAITED = (
    "waits for its checkpoint, and this operator takes none: set experimental.checkpoint.startupPolicy to Immediate, "
    "or leave the checkpoint out"
)


def awaited(graph: Graph, started: Container[str]) -> frozenset[str]:
    """The components to hold back; `started` are those that have pods, or are to have some."""
    return frozenset(
        component.name
        for component in graph.components
        if waits_for_checkpoint(component) and component.name not in started
    )
