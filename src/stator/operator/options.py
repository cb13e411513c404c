"""What the reconcilers need to know besides the objects: how to render, and what the cluster can hold."""

from __future__ import annotations

import msgspec

from stator.render import RenderOptions

# The one name under which the operator applies (Kubernetes documentation, "Server-Side Apply": field manager). It
# never changes: fields of an older name would stay behind in every object.
FIELD_MANAGER = "stator"


class OperatorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of all reconcilers.

    `installed` are the kinds besides the built-in ones that the API server serves (`LeaderWorkerSet`,
    `PodCliqueSet`, `VirtualService`, `InferencePool`, `ResourceClaimTemplate`).
    """

    render: RenderOptions = RenderOptions()
    installed: frozenset[str] = frozenset()
