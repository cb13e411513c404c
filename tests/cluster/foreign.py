"""Stand-ins for the definitions of other projects: they take anything, and nobody acts on their objects."""

from __future__ import annotations

from typing import Any

from stator.kube.resources import RESOURCE_CLAIM_TEMPLATE, Kind
from stator.operator import kinds

Json = dict[str, Any]

# What graphs may need beside a cluster of its own.
FOREIGN = tuple(kind for kind in kinds.OPTIONAL if kind != RESOURCE_CLAIM_TEMPLATE)


def definition(kind: Kind) -> Json:
    """The definition of a kind."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "annotations": {"api-approved.kubernetes.io": "https://example.com/a-stand-in-for-tests"},
        },
        "spec": {
            "group": kind.group,
            "names": {"kind": kind.kind, "plural": kind.plural},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [
                {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }
