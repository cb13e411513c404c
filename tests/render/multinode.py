"""Workers that span nodes, and what their leader and workers become."""

from __future__ import annotations

from typing import Any

import yaml
from rendered import pod_of, render

from stator.render import Manifest, RenderOptions

GROVE = RenderOptions(provider="grove")
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def multinode(
    *args: str,
    nodes: int = 2,
    command: tuple[str, ...] = ("python3",),
    gpus: int = 0,
    annotations: dict[str, str] | None = None,
    framework: str = "",
    env: list[dict[str, Any]] | None = None,
) -> str:
    """A graph `g` of one decode component `Dec` that runs `command` and `args`; one node is no multinode."""
    main: dict[str, Any] = {"name": "main", "image": "reg/runtime:1.5.1", "command": list(command), "args": list(args)}
    if gpus:
        main["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    if env:
        main["env"] = env
    component: dict[str, Any] = {"name": "Dec", "type": "decode", "podTemplate": {"spec": {"containers": [main]}}}
    if nodes > 1:
        component["multinode"] = {"nodeCount": nodes}
    spec: dict[str, Any] = {"components": [component]}
    if framework:
        spec["backendFramework"] = framework
    metadata = {"name": "g", "namespace": "ns", "annotations": annotations or {}}
    return yaml.safe_dump(
        {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}
    )


def main_in(manifest: Manifest, role: str) -> dict[str, Any]:
    """The main container of `Dec` in a role."""
    return pod_of(manifest, "Dec", role)["containers"][0]  # type: ignore[no-any-return]


def argv_in(manifest: Manifest, role: str) -> tuple[list[str], list[str]]:
    """Its command and args."""
    main = main_in(manifest, role)
    return main["command"], main["args"]


def lws(*args: str, **settings: Any) -> Manifest:
    """Rendered for LeaderWorkerSet."""
    return render(multinode(*args, **settings))


def grove(*args: str, **settings: Any) -> Manifest:
    """Rendered for Grove."""
    return render(multinode(*args, **settings), GROVE)
