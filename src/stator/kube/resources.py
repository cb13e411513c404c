"""Kinds and the paths of their resources, and what a server has of them.

A `Kind` is what the API calls a resource: paths are made of the group, the version and the plural, objects carry the
kind. `Kinds` answers which of them an object is; `installed` asks the server's discovery.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from stator.errors import Problem, StatorError
from stator.kube.errors import NotFoundError

if TYPE_CHECKING:
    from stator.kube.client import Client

Json = dict[str, Any]


class Key(NamedTuple):
    """What a cache and a queue know an object by; the namespace of a cluster-scoped object is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Kind(Struct, frozen=True):
    """One resource of the API, e.g. `Kind("apps", "v1", "Deployment", "deployments")`."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As objects carry it: `group/version`, or `v1` in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of the collection (of all namespaces without one), of an object, or of its subresource."""
        parts = ["/apis" if self.group else "/api", self.api_version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


POD = Kind("", "v1", "Pod", "pods")
SERVICE = Kind("", "v1", "Service", "services")
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts")
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
SECRET = Kind("", "v1", "Secret", "secrets")
PERSISTENT_VOLUME_CLAIM = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
EVENT = Kind("events.k8s.io", "v1", "Event", "events")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets")
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets")
JOB = Kind("batch", "v1", "Job", "jobs")
ROLE = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles")
ROLE_BINDING = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING = Kind(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
INGRESS = Kind("networking.k8s.io", "v1", "Ingress", "ingresses")
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
POD_DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
RESOURCE_CLAIM_TEMPLATE = Kind("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates")
ENDPOINT_SLICE = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
SELF_SUBJECT_ACCESS_REVIEW = Kind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
VALIDATING_WEBHOOK_CONFIGURATION = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
MUTATING_WEBHOOK_CONFIGURATION = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)

BUILT_IN = (
    POD,
    SERVICE,
    SERVICE_ACCOUNT,
    CONFIG_MAP,
    SECRET,
    PERSISTENT_VOLUME_CLAIM,
    NAMESPACE,
    EVENT,
    DEPLOYMENT,
    REPLICA_SET,
    STATEFUL_SET,
    JOB,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    INGRESS,
    LEASE,
    POD_DISRUPTION_BUDGET,
    RESOURCE_CLAIM_TEMPLATE,
    ENDPOINT_SLICE,
    CUSTOM_RESOURCE_DEFINITION,
    VALIDATING_WEBHOOK_CONFIGURATION,
    MUTATING_WEBHOOK_CONFIGURATION,
)


class UnknownKindError(StatorError):
    """An object's `apiVersion` and `kind` are not in the table the caller works with."""


class Kinds:
    """The kinds a program works with, found by what objects say they are."""

    def __init__(self, *more: Kind) -> None:
        self._by_name = {(kind.api_version, kind.kind): kind for kind in (*BUILT_IN, *more)}

    def of(self, value: Json) -> Kind:
        """The kind of an object. Raises `UnknownKindError`."""
        api_version, kind = str(value.get("apiVersion", "")), str(value.get("kind", ""))
        try:
            return self._by_name[api_version, kind]
        except KeyError:
            raise UnknownKindError(
                Problem(
                    what=f"{kind or 'an object without kind'} of {api_version or 'no apiVersion'} is not known here"
                )
            ) from None


async def installed(client: Client, kinds: Iterable[Kind]) -> frozenset[Kind]:
    """Those of the kinds that the server serves now, one discovery request for each group and version."""
    found: set[Kind] = set()
    by_version: dict[str, list[Kind]] = {}
    for kind in kinds:
        by_version.setdefault(kind.api_version, []).append(kind)
    for api_version, members in by_version.items():
        try:
            served = await client.get_path(f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}")
        except NotFoundError:
            continue
        names = {(each.get("name"), each.get("kind")) for each in served.get("resources") or ()}
        found |= {kind for kind in members if (kind.plural, kind.kind) in names}
    return frozenset(found)


def key_of(value: Json) -> Key:
    """The key of an object."""
    metadata = value.get("metadata") or {}
    return Key(metadata.get("namespace") or "", metadata.get("name") or "")
