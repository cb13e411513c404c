"""What will run on this machine, as values: pods, their containers, services, and every difference from the cluster.

A `LocalPlan` is complete: the supervisor starts it without looking anything up. It travels to the supervisor through
a pipe, because it holds secret values; what is written to disk is `redacted(plan)`. This module imports nothing
but msgspec, so that the supervisor stays small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

REDACTED = "***"

ProbeKind = Literal["startup", "liveness", "readiness"]


class SecretText(msgspec.Struct, frozen=True):
    """A text that holds, or was expanded from, a Secret's value. Its `repr` shows nothing."""

    secret: str

    def __repr__(self) -> str:
        """Never the value."""
        return f"SecretText({REDACTED})"


Text = str | SecretText


def reveal(text: Text) -> str:
    """The plain text; only for starting a process with it."""
    return text.secret if isinstance(text, SecretText) else text


class HttpGet(msgspec.Struct, frozen=True, kw_only=True, tag="http"):
    """An httpGet handler with its concrete port. `scheme` is `http` or `https` (certificates are not verified)."""

    port: int
    path: str = "/"
    host: str = "127.0.0.1"
    scheme: Literal["http", "https"] = "http"
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def url(self) -> str:
        """As the kubelet prints it."""
        return f"{self.scheme}://{self.host}:{self.port}{self.path}"


class TcpSocket(msgspec.Struct, frozen=True, kw_only=True, tag="tcp"):
    """A tcpSocket handler with its concrete port."""

    port: int
    host: str = "127.0.0.1"


class ExecCommand(msgspec.Struct, frozen=True, kw_only=True, tag="exec"):
    """An exec handler; runs with the container's environment and working directory."""

    argv: tuple[Text, ...]


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One probe. Times are seconds; the defaults are those of the Kubernetes API (core/v1 Probe)."""

    handler: HttpGet | TcpSocket | ExecCommand
    initial_delay: float = 0
    period: float = 10
    timeout: float = 1
    success_threshold: int = 1
    failure_threshold: int = 3
    grace: float | None = None


class FilePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a configMap, secret, projected or downwardAPI volume, written before the pod starts."""

    path: str
    content: bytes
    mode: int = 0o644
    secret: bool = False

    def __repr__(self) -> str:
        """Never the content."""
        return f"FilePlan(path={self.path!r}, secret={self.secret})"


class ContainerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One container as a process: complete argv, complete environment, concrete ports.

    `ports` maps a port's number in the cluster to its number on this machine.
    """

    name: str
    image: str
    runtime: str
    argv: tuple[Text, ...]
    env: Mapping[str, Text]
    directory: str
    ports: Mapping[int, int] = {}
    startup: Probe | None = None
    liveness: Probe | None = None
    readiness: Probe | None = None


class PodPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One replica of one component. `grace` is terminationGracePeriodSeconds.

    `canary_rule` is the compatibility rule to name when this pod's canary is rejected (`DYN101`), or empty.
    """

    name: str
    uid: str
    component: str
    type: str
    backend: str
    version: str
    replica: int
    containers: tuple[ContainerPlan, ...]
    init_containers: tuple[ContainerPlan, ...] = ()
    grace: float = 30
    directories: tuple[str, ...] = ()
    files: tuple[FilePlan, ...] = ()
    canary_rule: str = ""


class Target(msgspec.Struct, frozen=True):
    """Where a service port leads: a pod, and the port it listens on here."""

    pod: str
    port: int


class ServicePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One port of a rendered Service as a local TCP address.

    `cluster_port` is what the manifest says, `port` where it listens on 127.0.0.1 here.
    """

    name: str
    port_name: str
    cluster_port: int
    port: int
    targets: tuple[Target, ...]
    frontend: bool = False

    @property
    def address(self) -> str:
        """`127.0.0.1:8000`."""
        return f"127.0.0.1:{self.port}"


class Adaptation(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between what runs here and what the cluster would run.

    `what` names it (`env DYN_HTTP_PORT`, `port system`, `path /models`); `cluster` and `local` are the two values
    (empty: absent). A secret's value is shown as `***`. `pod` is empty for what concerns the whole graph.
    """

    pod: str
    what: str
    cluster: str
    local: str
    why: str


class Ignored(msgspec.Struct, frozen=True, kw_only=True):
    """Something the manifest says that this machine cannot give. `component` is empty for the whole graph."""

    component: str
    what: str
    why: str


class ComponentSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A component in words: its version with the source of it, and what the rules found and repaired."""

    name: str
    type: str
    version: str
    notes: tuple[str, ...] = ()


class LocalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A graph, ready to start. `directory` is the graph's state directory (see `stator.local.state`)."""

    name: str
    namespace: str
    directory: str
    pods: tuple[PodPlan, ...]
    services: tuple[ServicePlan, ...] = ()
    components: tuple[ComponentSummary, ...] = ()
    adaptations: tuple[Adaptation, ...] = ()
    ignored: tuple[Ignored, ...] = ()

    @property
    def id(self) -> str:
        """`<namespace>.<name>`: unique here, and a directory name."""
        return f"{self.namespace}.{self.name}"

    @property
    def ports(self) -> frozenset[int]:
        """Every port of this machine that was planned with, whether something listens there yet or not."""
        containers = (container for pod in self.pods for container in pod.containers)
        return frozenset(
            (
                *(service.port for service in self.services),
                *(port for container in containers for port in container.ports.values()),
            )
        )


def redacted(plan: LocalPlan) -> LocalPlan:
    """The same plan without any secret value: for files, for reports, for people."""
    return msgspec.structs.replace(plan, pods=tuple(_redacted_pod(pod) for pod in plan.pods))


def secret_values(plan: LocalPlan) -> frozenset[str]:
    """Every secret text of the plan, for removing them from what processes say about themselves."""
    containers = (container for pod in plan.pods for container in (*pod.init_containers, *pod.containers))
    texts = (text for container in containers for text in (*container.argv, *container.env.values()))
    files = (file.content.decode("utf-8", "replace") for pod in plan.pods for file in pod.files if file.secret)
    return frozenset((*(text.secret for text in texts if isinstance(text, SecretText)), *files)) - {""}


def _redacted_pod(pod: PodPlan) -> PodPlan:
    return msgspec.structs.replace(
        pod,
        containers=tuple(_redacted_container(container) for container in pod.containers),
        init_containers=tuple(_redacted_container(container) for container in pod.init_containers),
        files=tuple(msgspec.structs.replace(file, content=b"") if file.secret else file for file in pod.files),
    )


def _redacted_container(container: ContainerPlan) -> ContainerPlan:
    return msgspec.structs.replace(
        container,
        argv=_redacted_texts(container.argv),
        env={name: _redacted_text(value) for name, value in container.env.items()},
        startup=_redacted_probe(container.startup),
        liveness=_redacted_probe(container.liveness),
        readiness=_redacted_probe(container.readiness),
    )


def _redacted_probe(probe: Probe | None) -> Probe | None:
    if probe is None or not isinstance(probe.handler, ExecCommand):
        return probe
    return msgspec.structs.replace(probe, handler=ExecCommand(argv=_redacted_texts(probe.handler.argv)))


def _redacted_texts(texts: tuple[Text, ...]) -> tuple[Text, ...]:
    return tuple(_redacted_text(text) for text in texts)


def _redacted_text(text: Text) -> Text:
    return REDACTED if isinstance(text, SecretText) else text
