"""Graph to Kubernetes objects: pure, deterministic, with provenance."""

from stator.render.manifest import (
    Layer,
    Manifest,
    Provenance,
    RenderedComponent,
    RenderOptions,
    Setter,
    Subject,
)

__all__ = ["Layer", "Manifest", "Provenance", "RenderOptions", "RenderedComponent", "Setter", "Subject"]
