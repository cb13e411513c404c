"""The custom resource definitions of the kinds that stator acts on, or that the runtimes in its pods write.

DynamoGraphDeploymentRequest and DynamoCheckpoint are not among them: nothing here reconciles them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stator.install.structural import structural
from stator.model.identity import GROUP
from stator.model.schema import schemas

Json = dict[str, Any]

BETA, ALPHA = "v1beta1", "v1alpha1"


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`. `path` is a JSON path into the object; a `wide` one is shown with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False

    def value(self) -> Json:
        """The column as the API server takes it."""
        shown = {"priority": 1} if self.wide else {}
        return {"name": self.name, "type": self.type, "jsonPath": self.path, **shown}


class CustomKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind. `columns` are by version; the last of `versions` is the one in which objects are stored."""

    kind: str
    short: str
    versions: tuple[str, ...] = (ALPHA, BETA)
    columns: Mapping[str, tuple[Column, ...]]
    status: bool = True
    scale: bool = False

    @property
    def plural(self) -> str:
        """The name in paths and rights."""
        return f"{self.kind.lower()}s"

    @property
    def name(self) -> str:
        """The name of the definition."""
        return f"{self.plural}.{GROUP}"

    @property
    def converted(self) -> bool:
        """Whether it has two versions, one converted into the other."""
        return len(self.versions) > 1


_AGE = Column("Age", ".metadata.creationTimestamp", "date")
_BACKEND = Column("Backend", ".spec.backendFramework")
_READY = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
_AVAILABLE = Column("Available", '.status.conditions[?(@.type=="Available")].status')
_WHY_READY, _WHY_AVAILABLE = (
    tuple(
        Column(field.capitalize(), f'.status.conditions[?(@.type=="{kind}")].{field}', wide=True)
        for field in ("reason", "message")
    )
    for kind in ("Ready", "Available")
)
_DGD = Column("DGD", ".spec.dgdRef.name")
_REPLICAS = Column("REPLICAS", ".status.replicas", "integer")
_ADAPTER_AGE = Column("AGE", ".metadata.creationTimestamp", "date")

GRAPH = CustomKind(
    kind="DynamoGraphDeployment",
    short="dgd",
    columns=dict.fromkeys((ALPHA, BETA), (_READY, _BACKEND, _AGE, *_WHY_READY)),
)
COMPONENT = CustomKind(
    kind="DynamoComponentDeployment",
    short="dcd",
    columns={
        ALPHA: (Column("DynamoComponent", ".spec.dynamoComponent"), _AVAILABLE, _BACKEND, _AGE, *_WHY_AVAILABLE),
        BETA: (_AVAILABLE, _BACKEND, _AGE, *_WHY_AVAILABLE),
    },
)
SCALING_ADAPTER = CustomKind(
    kind="DynamoGraphDeploymentScalingAdapter",
    short="dgdsa",
    columns={
        ALPHA: (_DGD, Column("SERVICE", ".spec.dgdRef.serviceName"), _REPLICAS, _ADAPTER_AGE),
        BETA: (_DGD, Column("COMPONENT", ".spec.dgdRef.componentName"), _REPLICAS, _ADAPTER_AGE),
    },
    scale=True,
)
MODEL = CustomKind(
    kind="DynamoModel",
    short="dm",
    versions=(ALPHA,),
    columns={
        ALPHA: (
            Column("BaseModel", ".spec.baseModelName"),
            Column("Type", ".spec.modelType"),
            Column("Ready", ".status.readyEndpoints", "integer"),
            Column("Total", ".status.totalEndpoints", "integer"),
            _AGE,
        )
    },
)
WORKER_METADATA = CustomKind(
    kind="DynamoWorkerMetadata", short="dwm", versions=(ALPHA,), columns={ALPHA: (_AGE,)}, status=False
)
KINDS = (GRAPH, COMPONENT, SCALING_ADAPTER, MODEL, WORKER_METADATA)


def custom_resource_definitions(conversion: Json | None = None) -> tuple[Json, ...]:
    """All definitions, in apply order.

    `conversion` is the `webhookClientConfig` of the conversion webhook (apiextensions.k8s.io/v1). Without one the
    deprecated version of a kind that has two is known and not served: nothing could translate it.
    """
    return tuple(_definition(kind, conversion) for kind in KINDS)


def _definition(kind: CustomKind, conversion: Json | None) -> Json:
    spec: Json = {
        "group": GROUP,
        "names": {
            "kind": kind.kind,
            "listKind": f"{kind.kind}List",
            "plural": kind.plural,
            "singular": kind.kind.lower(),
            "shortNames": [kind.short],
        },
        "scope": "Namespaced",
        "versions": [_version(kind, version, conversion) for version in kind.versions],
    }
    if kind.converted and conversion:
        webhook = {"clientConfig": conversion, "conversionReviewVersions": ["v1"]}
        spec["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.name, "labels": {"app.kubernetes.io/name": "stator"}},
        "spec": spec,
    }


def _version(kind: CustomKind, version: str, conversion: Json | None) -> Json:
    stored = version == kind.versions[-1]
    result: Json = {
        "name": version,
        "served": stored or conversion is not None,
        "storage": stored,
        "schema": {"openAPIV3Schema": _schema(kind, version)},
        "additionalPrinterColumns": [column.value() for column in kind.columns[version]],
    }
    if not stored:
        result["deprecated"] = True
        result["deprecationWarning"] = f"{GROUP}/{version} {kind.kind} is deprecated; use {GROUP}/{BETA} {kind.kind}"
    if subresources := _subresources(kind):
        result["subresources"] = subresources
    return result


def _subresources(kind: CustomKind) -> Json:
    result: Json = {"status": {}} if kind.status else {}
    if kind.scale:
        result["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
    return result


def _schema(kind: CustomKind, version: str) -> Json:
    """The whole object. Its metadata is the API server's own matter."""
    schema = structural(f"{version}.yaml#/{kind.kind}")
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": schema["properties"]["spec"],
    }
    if f"{kind.kind}.{version}" in schemas()["status.yaml"]:
        properties["status"] = structural(f"status.yaml#/{kind.kind}.{version}")
    return {
        "type": "object",
        "description": schema.get("description", ""),
        "required": ["spec"],
        "properties": properties,
    }
