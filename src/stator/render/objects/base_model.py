"""A component's base model: the labels that tie its pods to a DynamoModel, and the headless Service over them.

Every component that serves the model is behind the one Service, which finds pods by a hash of the model's name: a
name has slashes and more characters than a label holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from stator.model import Component
from stator.render import names
from stator.render.context import Context

Json = dict[str, Any]

_DIGITS = 8
_SYSTEM_PORT = 9090


def model_labels(component: Component) -> dict[str, str]:
    """The label of the workload and its pods; empty without `modelRef`."""
    name = _model(component)
    return {names.BASE_MODEL_HASH: _hash(name)} if name else {}


def model_annotations(component: Component) -> dict[str, str]:
    """The name in full."""
    name = _model(component)
    return {names.BASE_MODEL: name} if name else {}


def model_services(contexts: Sequence[Context]) -> tuple[Json, ...]:
    """One Service per model of a graph, in the order in which its components name them."""
    models = dict.fromkeys(name for context in contexts if (name := _model(context.component)))
    graph = contexts[0].graph
    return tuple(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": f"dynamo-model-{_hash(name)}",
                "namespace": graph.namespace,
                "labels": {names.BASE_MODEL_HASH: _hash(name), names.GRAPH_NAME: contexts[0].parent},
                "annotations": {names.BASE_MODEL: name},
            },
            "spec": {
                "clusterIP": "None",
                "selector": {names.BASE_MODEL_HASH: _hash(name)},
                "ports": [{"name": "system", "port": _SYSTEM_PORT, "protocol": "TCP", "targetPort": "system"}],
            },
        }
        for name in models
    )


def _model(component: Component) -> str:
    return (component.other.get("modelRef") or {}).get("name") or ""


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]
