"""Checkpoints, as far as they hold pods back: a component may wait for its checkpoint before it starts at all.

No checkpoint is taken or restored here. Whether one is ready only the cluster knows: whoever applies the objects says
in the options which components wait, and those are rendered with no replicas.
"""

from __future__ import annotations

from stator.model import Component

_FIELD = "checkpoint"


def waits_for_checkpoint(component: Component) -> bool:
    """Whether the component is to start only when its checkpoint is ready (`startupPolicy: WaitForCheckpoint`)."""
    checkpoint = (component.other.get("experimental") or {}).get(_FIELD) or {}
    return bool(checkpoint.get("enabled")) and checkpoint.get("startupPolicy") == "WaitForCheckpoint"
