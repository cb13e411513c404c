"""Environments for images, stand-ins for engines, and the models a graph needs: what makes a machine able to run it."""

from stator.local.runtimes.environments import Runtime, default_cache, ensure
from stator.local.runtimes.mocker import MODEL_FLAGS, StandIn, with_mocker
from stator.local.runtimes.request import RuntimeRequest, UnrunnableError, resolve_runtime
from stator.local.runtimes.uv import RuntimeUnavailableError
from stator.local.runtimes.volumes import directories_in_use, prepare_volumes

__all__ = [
    "MODEL_FLAGS",
    "Runtime",
    "RuntimeRequest",
    "RuntimeUnavailableError",
    "StandIn",
    "UnrunnableError",
    "default_cache",
    "directories_in_use",
    "ensure",
    "prepare_volumes",
    "resolve_runtime",
    "with_mocker",
]
