"""What the inference frameworks need of a worker's pods, one module per framework."""

from stator.render.backends.backend import engine_changes

__all__ = ["engine_changes"]
