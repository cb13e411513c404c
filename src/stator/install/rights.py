"""What the operator may do, as a table: each right with the reason it is needed for.

The operator makes Roles for the pods of a graph, and RBAC lets nobody give rights that he has not got himself, so some
rights here are only there to be passed on (Kubernetes documentation, "Privilege escalation prevention"). No right is a
wildcard. Secrets are out of reach, but for those that a feature names: the webhooks' certificates, the keys of engines
that span nodes, and pull Secrets where the installation names some.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from stator.install.crds import KINDS
from stator.install.settings import PICKER_ROLE, PLANNER_ROLE, Settings
from stator.model.identity import GROUP
from stator.operator.names import CERTIFICATES, CONVERTED, LEASE, NAME
from stator.render import RenderOptions

Json = dict[str, Any]

_READ = ("get", "list", "watch")
# Server-side apply creates by `patch`, and needs `create` for it.
_APPLY = (*_READ, "create", "patch")
_OWN = (*_APPLY, "delete")
_RBAC = "rbac.authorization.k8s.io"


class Right(msgspec.Struct, frozen=True):
    """Verbs on resources of one group, only on objects of some `names` if there are any; `why` is for readers."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    why: str
    names: tuple[str, ...] = ()

    def rule(self) -> Json:
        """The right as a rule of a Role."""
        rule: Json = {"apiGroups": [self.group], "resources": [*self.resources], "verbs": [*self.verbs]}
        return rule | {"resourceNames": [*self.names]} if self.names else rule


_GRAPH, _COMPONENT = "dynamographdeployments", "dynamocomponentdeployments"
_ADAPTER, _MODEL, _METADATA = "dynamographdeploymentscalingadapters", "dynamomodels", "dynamoworkermetadatas"

# In the namespaces whose graphs the operator runs.
GRAPHS = (
    Right(GROUP, (_GRAPH,), (*_READ, "patch"), "reads graphs; records its choices; sets replicas that an adapter owns"),
    Right(GROUP, (_COMPONENT, _ADAPTER), _OWN, "makes one for each component"),
    Right(GROUP, tuple(f"{plural}/status" for plural in (_GRAPH, _COMPONENT, _ADAPTER)), ("patch",), "reports"),
    Right(
        GROUP,
        (f"{_GRAPH}/finalizers", f"{_COMPONENT}/finalizers"),
        ("update",),
        "owner references that block deletion, where the server checks them (OwnerReferencesPermissionEnforcement)",
    ),
    Right("apps", ("deployments",), _OWN, "runs components"),
    Right("leaderworkerset.x-k8s.io", ("leaderworkersets",), _OWN, "runs components of several nodes"),
    Right("grove.io", ("podcliquesets",), _OWN, "runs graphs on Grove"),
    Right("grove.io", ("podcliques", "podcliquescalinggroups"), _READ, "reads their readiness"),
    Right("", ("services",), _OWN, "addresses of components"),
    Right("", ("configmaps",), _OWN, "repairs, scripts and settings of components"),
    Right("", ("serviceaccounts",), _OWN, "accounts of pods"),
    Right("", ("persistentvolumeclaims",), _APPLY, "claims of v1alpha1 graphs; data is never deleted"),
    Right("resource.k8s.io", ("resourceclaimtemplates",), _OWN, "GPUs that several containers share"),
    Right("networking.k8s.io", ("ingresses",), _OWN, "access to frontends"),
    Right("networking.istio.io", ("virtualservices",), _OWN, "access to frontends"),
    Right("inference.networking.k8s.io", ("inferencepools",), _OWN, "pools of endpoint pickers"),
    Right(_RBAC, ("roles", "rolebindings"), _OWN, "rights of pods"),
    Right("", ("pods", "endpoints"), _READ, "reads readiness; passed on to pods for discovery"),
    Right("discovery.k8s.io", ("endpointslices",), _READ, "passed on to pods for discovery"),
    Right(GROUP, (_METADATA,), (*_OWN, "update"), "passed on to pods, which publish themselves"),
    Right("events.k8s.io", ("events",), ("create", "patch"), "events"),
    Right("", ("secrets",), ("create",), "keys of TensorRT-LLM engines that span nodes"),
    Right("", ("secrets",), ("get",), "sees whether those keys are there", (RenderOptions().mpi_secret,)),
)
# In the operator's own namespace.
OWN = (
    Right("coordination.k8s.io", ("leases",), ("create",), "election of a leader"),
    Right("coordination.k8s.io", ("leases",), ("get", "update"), "election of a leader", (LEASE,)),
)
CERTIFICATE_SECRET = (
    Right("", ("secrets",), ("create",), "certificates of the webhooks"),
    Right("", ("secrets",), ("get", "update"), "certificates of the webhooks", (CERTIFICATES,)),
)
# Outside of namespaces.
READ_DEFINITIONS = (
    Right(
        "apiextensions.k8s.io",
        ("customresourcedefinitions",),
        ("get",),
        "compares the installed definitions with its own",
        tuple(kind.name for kind in KINDS),
    ),
)
OTHERS = (
    Right("coordination.k8s.io", ("leases",), ("list",), "tells of another operator of the same graphs", (LEASE,)),
)
INGRESS_CLASSES = (
    Right("networking.k8s.io", ("ingressclasses",), _READ, "tells of a class that an Ingress names and nobody serves"),
)
TRUST = (
    Right(
        "apiextensions.k8s.io",
        ("customresourcedefinitions",),
        ("patch",),
        "authority of the conversion webhook's certificate",
        CONVERTED,
    ),
    Right(
        "admissionregistration.k8s.io",
        ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
        ("get", "patch"),
        "authority of the admission webhooks' certificate",
        (NAME,),
    ),
)
BIND = (
    Right(
        _RBAC, ("clusterroles",), ("bind",), "accounts of planners and endpoint pickers", (PLANNER_ROLE, PICKER_ROLE)
    ),
)
# What the pods of two component types may do in their namespace.
PLANNER = (
    Right(GROUP, (_GRAPH,), ("get", "list", "watch", "patch"), "reads the graph; sets replicas without an adapter"),
    Right(GROUP, (_COMPONENT, _METADATA), _READ, "reads workers"),
    Right(GROUP, (_ADAPTER,), _READ, "reads adapters"),
    Right(GROUP, (f"{_ADAPTER}/scale",), ("get", "patch", "update"), "sets replicas"),
    Right("", ("pods",), _READ, "reads pods"),
)
PICKER = (
    Right("", ("pods",), _READ, "endpoints to pick from"),
    Right("discovery.k8s.io", ("endpointslices",), _READ, "endpoints to pick from"),
    Right(GROUP, (_METADATA,), _READ, "models of the endpoints"),
    Right("inference.networking.k8s.io", ("inferencepools",), _READ, "its pool"),
)


def _of_graphs(settings: Settings) -> tuple[Right, ...]:
    """The rights where graphs are. Without names a rule is for all objects, so there is none without names."""
    if not settings.pull_secrets:
        return GRAPHS
    why = "registries that the named pull Secrets are for"
    return (*GRAPHS, Right("", ("secrets",), _READ, why, settings.pull_secrets))


def access(settings: Settings) -> tuple[Json, ...]:
    """The operator's account and all its rights, then the rights of planners and endpoint pickers, in apply order."""
    own = (*OWN, *(CERTIFICATE_SECRET if settings.serves_webhooks else ()))
    outside = (*READ_DEFINITIONS, *INGRESS_CLASSES, *OTHERS, *(TRUST if settings.serves_webhooks else ()))
    objects: list[Json] = [account(settings, NAME)]
    if settings.namespaced:
        objects += _role_and_binding(settings, NAME, (*own, *_of_graphs(settings)))
        objects += _cluster_role_and_binding(settings, outside)
        for name, rights in (("planner-serviceaccount", PLANNER), ("epp-serviceaccount", PICKER)):
            objects += [account(settings, name), *_role_and_binding(settings, name, rights)]
        return tuple(objects)
    objects += _role_and_binding(settings, NAME, own)
    objects += _cluster_role_and_binding(settings, (*outside, *BIND, *_of_graphs(settings)))
    objects += [_cluster_role(PLANNER_ROLE, PLANNER), _cluster_role(PICKER_ROLE, PICKER), *_for_people()]
    return tuple(objects)


def account(settings: Settings, name: str) -> Json:
    """A ServiceAccount in the operator's namespace."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(name, settings)}


def metadata(name: str, settings: Settings | None = None) -> Json:
    """Metadata of an object of the installation; in its namespace if `settings` are given."""
    place = {"namespace": settings.namespace} if settings else {}
    return {"name": name, **place, "labels": {"app.kubernetes.io/name": NAME}}


def _role_and_binding(settings: Settings, name: str, rights: Iterable[Right]) -> list[Json]:
    return [
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": metadata(name, settings),
            "rules": [right.rule() for right in rights],
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": metadata(name, settings),
            **_bound("Role", name, settings, name),
        },
    ]


def _cluster_role_and_binding(settings: Settings, rights: Iterable[Right]) -> list[Json]:
    name = settings.cluster_name
    return [
        _cluster_role(name, rights),
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata(name),
            **_bound("ClusterRole", name, settings, NAME),
        },
    ]


def _cluster_role(name: str, rights: Iterable[Right]) -> Json:
    rules = [right.rule() for right in rights]
    return {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": metadata(name), "rules": rules}


def _bound(kind: str, role: str, settings: Settings, account_name: str) -> Json:
    return {
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account_name, "namespace": settings.namespace}],
    }


def _for_people() -> list[Json]:
    """What the built-in roles `view` and `edit` gain, so that who may run Deployments may run graphs."""
    edited = (_GRAPH, _COMPONENT, _ADAPTER, f"{_ADAPTER}/scale", _MODEL)
    verbs = {"view": _READ, "edit": ("create", "update", "patch", "delete", "deletecollection")}
    resources = {"view": (*edited, _METADATA), "edit": edited}
    roles = []
    for role in ("view", "edit"):
        made = _cluster_role(f"{NAME}-{role}", [Right(GROUP, resources[role], verbs[role], "people")])
        made["metadata"]["labels"][f"{_RBAC}/aggregate-to-{role}"] = "true"
        roles.append(made)
    roles[1]["metadata"]["labels"][f"{_RBAC}/aggregate-to-admin"] = "true"
    return roles
