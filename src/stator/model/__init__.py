"""Typed resources and how sources become them."""

from stator.model.documents import Document, Path
from stator.model.resources import MAIN, AlphaOnly, Component, Graph, Inventory, Kind, Origin, SecretData

__all__ = [
    "MAIN",
    "AlphaOnly",
    "Component",
    "Document",
    "Graph",
    "Inventory",
    "Kind",
    "Origin",
    "Path",
    "SecretData",
]
