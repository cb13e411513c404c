"""Graph to Kubernetes objects: pure, deterministic, with provenance."""

from stator.render.graph import render_graph
from stator.render.manifest import (
    Layer,
    Manifest,
    NotRendered,
    Provenance,
    RenderedComponent,
    RenderOptions,
    Setter,
    Subject,
)
from stator.render.multinode import Provider

__all__ = [
    "Layer",
    "Manifest",
    "NotRendered",
    "Provenance",
    "Provider",
    "RenderOptions",
    "RenderedComponent",
    "Setter",
    "Subject",
    "render_graph",
]
