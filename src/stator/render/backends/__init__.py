"""What the inference frameworks need of a worker's pods, one module per framework."""

from stator.render.backends.backend import engine_changes
from stator.render.backends.changes import Changes

__all__ = ["Changes", "engine_changes"]
