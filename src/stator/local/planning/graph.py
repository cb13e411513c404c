"""Plan a whole graph: services first (containers are told about them), then pod by pod."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from stator.errors import InvalidInputError
from stator.local.kubelet.environment import PodFacts, Sources
from stator.local.plan import REDACTED, ComponentSummary, ContainerPlan, LocalPlan, PodPlan, ServicePlan, Target
from stator.local.planning.containers import PASSED_ON, PodContext, RuntimeFacts, plan_container
from stator.local.planning.limit import replicas, roles
from stator.local.planning.notes import Notes
from stator.local.planning.ports import PodPorts, PortAllocator
from stator.local.planning.probes import UnknownPortError, find_port
from stator.local.planning.services import ServiceNames, addresses, allocate_services
from stator.local.planning.unsupported import note_objects, note_pod
from stator.local.planning.volumes import PodVolumes
from stator.local.processes import MARKER
from stator.model import Inventory
from stator.render import Manifest, RenderedComponent

# The API server's default (core/v1 PodSpec).
_GRACE = 30

_CANARY_RULE = "DYN101"


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What this machine offers a graph.

    `runtimes` maps a component's and a container's name to the environment that stands for the container's image
    (one image may hold several runtimes: an engine's also runs the frontend); `volumes` a claim name to a local
    directory.
    `env` is this machine's environment, of which a few entries are passed on (`HOME`, `PATH`, `LANG`, ...).
    `ignored_sidecars` are names of containers to leave out. `memory` is in bytes.
    """

    runtimes: Mapping[tuple[str, str], RuntimeFacts]
    volumes: Mapping[str, Path] = {}
    env: Mapping[str, str] = {}
    ignored_sidecars: frozenset[str] = frozenset()
    hostname: str = "localhost"
    cpus: int = 1
    memory: int = 0

    @staticmethod
    def here(
        runtimes: Mapping[tuple[str, str], RuntimeFacts],
        volumes: Mapping[str, Path],
        ignored_sidecars: frozenset[str] = frozenset(),
    ) -> Machine:
        """The machine this process runs on."""
        return Machine(
            runtimes=runtimes,
            volumes=volumes,
            env=dict(os.environ),
            ignored_sidecars=ignored_sidecars,
            hostname=socket.gethostname(),
            cpus=os.cpu_count() or 1,
            memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        )


def plan_graph(
    manifest: Manifest,
    inventory: Inventory,
    machine: Machine,
    *,
    ports: PortAllocator,
    directory: Path,
    new_uid: Callable[[], str],
    discovery: Path | None = None,
) -> LocalPlan:
    """Everything needed to run `manifest` here. Raises InvalidInputError with every problem found.

    `directory` is the graph's own state directory (`StateDirectory.graph(...).path`); `new_uid` gives pods their uid;
    `discovery` is where the runtimes find each other (None: in `directory`).
    """
    planner = _GraphPlanner(manifest, inventory, machine, ports=ports, directory=directory, new_uid=new_uid)
    planner.discovery = discovery or planner.discovery
    return planner.plan()


class _GraphPlanner:
    def __init__(
        self,
        manifest: Manifest,
        inventory: Inventory,
        machine: Machine,
        *,
        ports: PortAllocator,
        directory: Path,
        new_uid: Callable[[], str],
    ) -> None:
        self.manifest = manifest
        self.machine = machine
        self.ports = ports
        self.directory = directory
        self.discovery = directory / "kv"
        self.new_uid = new_uid
        self.notes = Notes()
        rendered = [item for item in manifest.objects if item["kind"] == "Service"]
        frontends = frozenset(
            component.service["metadata"]["name"]
            for component in manifest.components
            if component.type == "frontend" and component.service
        )
        self.service_objects = {service["metadata"]["name"]: service for service in rendered}
        self.services = allocate_services(rendered, frontends, ports, self.notes)
        self.names = ServiceNames(self.services, manifest.namespace)
        self.sources = _sources(manifest, inventory, self.services)
        self.targets: dict[tuple[str, int], list[Target]] = {
            (service.name, service.cluster_port): [] for service in self.services
        }

    def plan(self) -> LocalPlan:
        note_objects(self.notes, self.manifest.objects)
        marked = "every process of the graph can be found by it"
        self.notes.adapt("", f"env {MARKER}", cluster="", local="set, new at each start", why=marked)
        names = ", ".join(("PATH", *PASSED_ON))
        self.notes.adapt("", f"env {names}", cluster="the image's", local="this machine's", why="there is no image")
        pods = [
            self._pod(component, replica)
            for component in self.manifest.components
            for replica in range(replicas(component))
        ]
        if self.notes.problems:
            raise InvalidInputError(*self.notes.problems)
        return LocalPlan(
            name=self.manifest.name,
            namespace=self.manifest.namespace,
            directory=str(self.directory),
            pods=tuple(pods),
            services=tuple(self._with_targets(service) for service in self.services),
            components=tuple(_summary(component) for component in self.manifest.components),
            adaptations=tuple(self.notes.adaptations),
            ignored=tuple(self.notes.ignored),
        )

    def _with_targets(self, service: ServicePlan) -> ServicePlan:
        return msgspec.structs.replace(service, targets=tuple(self.targets[service.name, service.cluster_port]))

    def _pod(self, component: RenderedComponent, replica: int) -> PodPlan:
        template = component.workload["spec"]["template"]
        metadata, spec = template.get("metadata") or {}, template["spec"]
        note_pod(self.notes, component.name, spec)
        pod = PodFacts(
            name=f"{component.workload['metadata']['name']}-{replica}",
            namespace=self.manifest.namespace,
            uid=self.new_uid(),
            labels=metadata.get("labels") or {},
            annotations=metadata.get("annotations") or {},
            node=self.machine.hostname,
            service_account=spec.get("serviceAccountName") or "default",
            cpus=self.machine.cpus,
            memory=self.machine.memory,
        )
        directory = self.directory / "pods" / pod.name
        sources = self.sources
        if spec.get("enableServiceLinks") is False:
            sources = msgspec.structs.replace(sources, services=())
        context = PodContext(
            component=component,
            pod=pod,
            sources=sources,
            names=self.names,
            ports=PodPorts(self.ports),
            volumes=PodVolumes(spec, pod, sources, self.machine.volumes, directory),
            directory=directory,
            kv=self.discovery,
            host_env=self.machine.env,
            notes=self.notes,
        )
        init, running = roles(spec)
        init_plans = self._containers(init, context)
        plans = self._containers(running, context)
        self._note_ports(context, running)
        self._add_targets(context, running)
        return PodPlan(
            name=pod.name,
            uid=pod.uid,
            component=component.name,
            type=component.type,
            backend=component.backend,
            version=str(component.version),
            replica=replica,
            containers=plans,
            init_containers=init_plans,
            grace=spec.get("terminationGracePeriodSeconds", _GRACE),
            directories=(str(directory), *context.volumes.directories),
            files=context.volumes.files,
            canary_rule=_canary_rule(component),
        )

    def _containers(self, containers: list[Mapping[str, Any]], context: PodContext) -> tuple[ContainerPlan, ...]:
        plans = []
        for container in containers:
            image = container.get("image") or ""
            if container["name"] in self.machine.ignored_sidecars:
                self.notes.ignore(context.component.name, f"container {container['name']}", "stator.toml ignores it")
            elif (runtime := self.machine.runtimes.get((context.component.name, container["name"]))) is None:
                self.notes.refuse(
                    f"component {context.component.name}: container {container['name']} cannot run here",
                    why=f"no Python environment stands for image {image!r}",
                    remedy="map the image in stator.toml under [images], or list the container under [ignore] sidecars",
                )
            else:
                plans.append(plan_container(container, runtime, context))
        return tuple(plans)

    def _note_ports(self, context: PodContext, containers: list[Mapping[str, Any]]) -> None:
        """Moved ports are adaptations; the ones that cannot be moved must be free, and of one pod only."""
        names = {
            int(port["containerPort"]): port.get("name") or ""
            for container in containers
            for port in container.get("ports") or ()
        }
        for port, local in context.ports.moved.items():
            shown = REDACTED if port in context.ports.secret and port not in names else str(port)
            what = f"port {shown} {names.get(port, '')}".rstrip()
            why = "pods have an address of their own in a cluster, and share this machine's here"
            self.notes.adapt(context.pod.name, what, cluster=shown, local=str(local), why=why)
        for port in sorted(names.keys() - context.ports.moved.keys()):
            if not self.ports.reserve(port):
                self.notes.refuse(
                    f"component {context.component.name}: port {port} {names[port]}".rstrip() + " is taken",
                    why="the process chooses it by itself (no variable or flag stator knows says it), so it cannot be "
                    "moved to a free one",
                    remedy="free the port, run one replica, or pass the port by a flag such as --port",
                )

    def _add_targets(self, context: PodContext, containers: list[Mapping[str, Any]]) -> None:
        for service in self.services:
            spec = self.service_objects[service.name]["spec"]
            selector = spec.get("selector") or {}
            if not selector or not selector.items() <= context.pod.labels.items():
                continue
            declared = next(port for port in spec["ports"] if int(port["port"]) == service.cluster_port)
            try:
                port = find_port(containers, declared.get("targetPort", service.cluster_port))
            except UnknownPortError as error:
                # As in a cluster: the pod is not among the service's endpoints, and that is no error of the pod.
                what = f"service {service.name}: target port"
                self.notes.ignore(context.component.name, what, f"{error}; the service has no endpoint for it")
                continue
            target = Target(context.pod.name, context.ports.local(port))
            self.targets[service.name, service.cluster_port].append(target)


def _sources(manifest: Manifest, inventory: Inventory, services: tuple[ServicePlan, ...]) -> Sources:
    """The ConfigMaps and Secrets of the graph's namespace; those that were rendered with the graph win."""
    namespace = manifest.namespace
    config_maps = {name: data for (where, name), data in inventory.config_maps.items() if where == namespace}
    rendered = {
        item["metadata"]["name"]: item.get("data") or {} for item in manifest.objects if item["kind"] == "ConfigMap"
    }
    return Sources(
        config_maps={**config_maps, **rendered},
        secrets={name: secret for (where, name), secret in inventory.secrets.items() if where == namespace},
        services=addresses(services),
    )


def _canary_rule(component: RenderedComponent) -> str:
    """The rule to name if the canary is rejected: the one rendering found to apply, repaired or not."""
    return _CANARY_RULE if any(finding.rule == _CANARY_RULE for finding in component.findings) else ""


def _summary(component: RenderedComponent) -> ComponentSummary:
    notes = (
        f"{finding.rule} {finding.severity}: {finding.message}{f' ({finding.repair})' if finding.repair else ''}"
        for finding in component.findings
    )
    return ComponentSummary(
        name=component.name, type=component.type, version=str(component.version), notes=tuple(notes)
    )
