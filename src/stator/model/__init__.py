"""Typed resources and how sources become them."""

from stator.model.commandline import CommandLine, Invocation, read_command_line
from stator.model.documents import Document, Path
from stator.model.load import load, load_objects
from stator.model.resources import (
    MAIN,
    RUNTIME_CONTAINER,
    AlphaOnly,
    Component,
    Graph,
    Inventory,
    Kind,
    Origin,
    SecretData,
)

__all__ = [
    "MAIN",
    "RUNTIME_CONTAINER",
    "AlphaOnly",
    "CommandLine",
    "Component",
    "Document",
    "Graph",
    "Inventory",
    "Invocation",
    "Kind",
    "Origin",
    "Path",
    "SecretData",
    "load",
    "load_objects",
    "read_command_line",
]
