"""Objects to be admitted: valid ones that run, to be made invalid in one place."""

from __future__ import annotations

from typing import Any

from stator.model.conversion import to_alpha

Json = dict[str, Any]

IMAGE = "reg/vllm-runtime:1.6.1"
GPU = {"limits": {"nvidia.com/gpu": 1}}


def pod(*others: Json, image: str = IMAGE, spec: Json | None = None, metadata: Json | None = None, **main: Any) -> Json:
    """A pod template: `main` is more of its main container, `others` are sidecars."""
    template: Json = {"spec": {"containers": [{"name": "main", "image": image, **main}, *others], **(spec or {})}}
    return template | ({"metadata": metadata} if metadata else {})


def part(name: str = "w", kind: str = "worker", template: Json | None = None, **fields: Any) -> Json:
    """A component; with `template` an empty mapping it has no pod template."""
    own = pod() if template is None else template
    return {"name": name, **({"type": kind} if kind else {}), **fields, **({"podTemplate": own} if own else {})}


def graph(*parts: Json, annotations: Json | None = None, kind: str = "DynamoGraphDeployment", **spec: Any) -> Json:
    """A v1beta1 graph of these components, or a component that stands alone."""
    metadata: Json = {"name": "g", "namespace": "ns"} | ({"annotations": annotations} if annotations else {})
    own = parts[0] if kind == "DynamoComponentDeployment" else {"components": list(parts)}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": kind, "metadata": metadata, "spec": {**spec, **own}}


def alpha(value: Json) -> Json:
    """The same object in v1alpha1."""
    return to_alpha(value)


def services(service: Json, **spec: Any) -> Json:
    """A v1alpha1 graph of one service `w`, a worker with an image unless it says otherwise."""
    own = {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": IMAGE}}, **service}
    metadata = {"name": "g", "namespace": "ns"}
    spec = {**spec, "services": {"w": own}}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}
