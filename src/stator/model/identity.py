"""Which object a document is: kind, API group, namespace and name, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stator.errors import Problem
from stator.model.documents import Document

DEFAULT_NAMESPACE = "default"
GROUP = "nvidia.com"
GRAPH_KINDS = ("DynamoGraphDeployment", "DynamoComponentDeployment")
ADAPTER_KIND = "DynamoGraphDeploymentScalingAdapter"
GRAPH_VERSIONS = ("v1beta1", "v1alpha1")
_OTHER_DYNAMO_KINDS = (
    ADAPTER_KIND,
    "DynamoGraphDeploymentRequest",
    "DynamoModel",
    "DynamoWorkerMetadata",
    "DynamoCheckpoint",
)
_SPELLED = {kind.lower(): kind for kind in (*GRAPH_KINDS, *_OTHER_DYNAMO_KINDS)}


class Identity(NamedTuple):
    """What makes an object the same one: the version it is written in does not."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """`Kind/namespace/name`."""
        return f"{self.kind}/{self.namespace}/{self.name}"


def schema_of(document: Document) -> str | None:
    """The schema of a document of a kind that is read (`v1beta1.yaml#/Kind`), None for every other kind."""
    api_version, kind = document.value["apiVersion"], document.value["kind"]
    if kind in GRAPH_KINDS:
        return f"{api_version.rpartition('/')[2]}.yaml#/{kind}"
    return f"core.yaml#/{kind}" if api_version == "v1" and kind in ("ConfigMap", "Secret") else None


def identify(document: Document, namespace: str | None) -> Identity | None:
    """The identity of a document of which `identity_problems` finds none; None if the server is to make up the name."""
    metadata = document.value.get("metadata") or {}
    if metadata.get("name") is None:
        return None
    group = document.value["apiVersion"].rpartition("/")[0]
    where = metadata.get("namespace") or namespace or DEFAULT_NAMESPACE
    return Identity(group, document.value["kind"], where, metadata["name"])


def identity_problems(document: Document, namespace: str | None) -> list[Problem]:
    """Why a document is no object that can be told from others: no mapping, no kind, an unknown version and so on."""
    value = document.value
    if not isinstance(value, Mapping):
        what, remedy = "is not a Kubernetes object", "every document needs apiVersion, kind and metadata"
        return [Problem(what=what, position=document.locate(()), why="it is not a mapping", remedy=remedy)]
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field), str) or not value[field]:
            remedy = "leave files that are no manifests out, or write the missing field"
            return [document.problem((field,), "is required, and must be a string", remedy)]
    return [*_kind_problems(document), *_metadata_problems(document, namespace)]


def _kind_problems(document: Document) -> list[Problem]:
    api_version, kind = document.value["apiVersion"], document.value["kind"]
    spelled = _SPELLED.get(kind.lower(), _SPELLED.get(kind.lower().removesuffix("s")))
    if spelled is None:
        return []
    if spelled != kind:
        return [document.problem(("kind",), f"{kind} is not known", f"write `kind: {spelled}`")]
    group, _, version = api_version.rpartition("/")
    if kind in GRAPH_KINDS and (group != GROUP or version not in GRAPH_VERSIONS):
        known = " and ".join(f"{GROUP}/{known}" for known in GRAPH_VERSIONS)
        what = f"{kind} is known in {known}, not in {api_version}"
        return [document.problem(("apiVersion",), what, f"write `apiVersion: {GROUP}/{GRAPH_VERSIONS[0]}`")]
    return []


def _metadata_problems(document: Document, namespace: str | None) -> list[Problem]:
    metadata = document.value.get("metadata")
    if metadata is None:
        return []
    if not isinstance(metadata, Mapping):
        return [document.problem(("metadata",), "must be an object")]
    problems = [
        document.problem(("metadata", field), "must be a string", "put the value in quotes")
        for field in ("name", "namespace")
        if not isinstance(metadata.get(field, ""), str | None)
    ]
    if document.value["kind"] in GRAPH_KINDS and metadata.get("generateName") and not metadata.get("name"):
        what = "the server would make up the name, so what it renders to cannot be known"
        problems.append(document.problem(("metadata", "generateName"), what, "write metadata.name"))
    own = metadata.get("namespace")
    if namespace is not None and isinstance(own, str) and own and own != namespace:
        what = f'"{own}" does not match the namespace "{namespace}" that was asked for'
        remedy = f"ask for the namespace {own}, or leave it out of the object"
        problems.append(document.problem(("metadata", "namespace"), what, remedy))
    return problems
