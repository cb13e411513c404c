"""What rendering returns: Kubernetes objects, and for everything in them who put it there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from stator.compat import ContainerFacts, Finding
from stator.errors import Position
from stator.model import Path
from stator.render.multinode import Provider, RoleName
from stator.render.restart import RestartProgress
from stator.versions import ResolvedVersion, Version

Layer = Literal["infrastructure", "type-default", "graph", "component", "backend", "repair"]
Subject = Literal["env", "env-from", "flag", "probe", "pull-secret"]
Scheduler = Literal["", "kai", "volcano"]


class Setter(msgspec.Struct, frozen=True):
    """Who set something: the layer, a detail in words (`worker default, runtime >= 1.5.0`; a rule id), and where."""

    layer: Layer
    detail: str = ""
    position: Position | None = None
    value: str = ""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """The history of one env entry, envFrom source, flag or probe of one container, or of one pull secret of a pod.

    `setter` won; `replaced` are the ones it beat, lowest layer first. `value` of a setter is the text to show: the
    literal, or the reference (`secretKeyRef hf/token`), never a secret's content.
    """

    container: str
    subject: Subject
    name: str
    setter: Setter
    replaced: tuple[Setter, ...] = ()


class NotRendered(msgspec.Struct, frozen=True):
    """Something the graph asks for that is not in the rendered objects, and why.

    `path` is the field's in the v1beta1 shape, or has one step: the object that is missing
    (`ServiceAccount/ns/planner-serviceaccount`).
    """

    path: Path
    position: Position | None
    why: str

    @property
    def field(self) -> str:
        """The path as people write it: `spec.components[1].modelRef`."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).removeprefix(".")


class RenderedPod(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of pod of a component: `metadata` and `spec` of its template, and how many there are in a replica."""

    role: RoleName
    count: int
    template: dict[str, Any]


class RenderedComponent(msgspec.Struct, frozen=True, kw_only=True):
    """One component as Kubernetes objects.

    `workload` is the Deployment or LeaderWorkerSet, or the PodCliqueSet of the whole graph; `objects` holds all that
    are the component's own, which a PodCliqueSet is not. `pods` are the pods of one replica, leader first.
    `replicas` is None where an autoscaler owns the number. `repairs` are the ids of the rules whose repair is in the
    objects, `facts` what the rules looked at (of a component in several roles: its leader).
    """

    name: str
    type: str
    backend: str
    version: ResolvedVersion
    workload: dict[str, Any]
    service: dict[str, Any] | None
    objects: tuple[dict[str, Any], ...]
    provenance: tuple[Provenance, ...]
    pods: tuple[RenderedPod, ...] = ()
    replicas: int | None = None
    findings: tuple[Finding, ...] = ()
    repairs: tuple[str, ...] = ()
    not_rendered: tuple[NotRendered, ...] = ()
    facts: ContainerFacts | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A rendered graph. `objects` come in apply order and hold the components' objects too.

    No object has owner references: rendering is pure and knows no UIDs. Whoever applies the objects adds them, with
    the graph as controller. `generation` is the worker hash (8 hex digits), empty where there is none.
    `provider` is who runs the pods. `not_rendered` holds the components' too, after the graph's own.
    """

    graph: str
    name: str
    namespace: str
    objects: tuple[dict[str, Any], ...]
    components: tuple[RenderedComponent, ...]
    generation: str = ""
    provider: Provider = "component"
    not_rendered: tuple[NotRendered, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every component's findings, in component order."""
        return tuple(finding for component in self.components for finding in component.findings)


class RenderOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What rendering depends on besides the graph.

    `operator` is the operator release whose injection is rendered; `repairs` off renders what an operator without
    repairs would; `infrastructure_env` are core `EnvVar` objects from the operator's configuration (lowest layer).
    `provider` is what the cluster has: with `grove` a graph may still decline it. `mpi_secret` is the Secret with the
    key pair of multi-node TensorRT-LLM; the two ClusterRoles are bound to the accounts of planners and endpoint
    pickers, `""` if the installation binds them itself.

    What only a cluster knows comes in here too: `scheduler` is who schedules Grove's pods besides Kubernetes,
    `pull_secrets` are the Secrets by registry host, `restarts` is how far a restart is (None: rendered as if it were
    over), `waiting_for_checkpoint` are the components whose checkpoint is not ready.
    """

    operator: Version = Version(1, 6, 1)
    discovery_backend: str = "kubernetes"
    repairs: bool = True
    infrastructure_env: tuple[dict[str, Any], ...] = ()
    provider: Provider = "component"
    planner_cluster_role: str = ""
    epp_cluster_role: str = ""
    scheduler: Scheduler = ""
    pull_secrets: Mapping[str, tuple[str, ...]] = {}
    restarts: RestartProgress | None = None
    waiting_for_checkpoint: frozenset[str] = frozenset()
    mpi_secret: str = "mpi-run-ssh-secret"  # noqa: S105 (the name of a Secret, not its content)
