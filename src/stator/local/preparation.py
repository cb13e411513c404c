"""From loaded graphs to plans that can be started: the steps of `stator up` before anything runs.

What can be refused without making anything is refused first, and all of it at once: graphs that run already, images
without a runtime, references that lead nowhere, more processes than fit. Only then environments are made and models
fetched.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from stator.errors import InvalidInputError, Position, Problem, StatorError
from stator.local.config import LocalConfig
from stator.local.lifecycle import already_running, is_running, reserved_ports
from stator.local.plan import Adaptation, LocalPlan
from stator.local.planning.graph import Machine, plan_graph
from stator.local.planning.limit import crowds, too_many
from stator.local.planning.ports import PortAllocator
from stator.local.runtimes import (
    MODEL_FLAGS,
    Runtime,
    RuntimeRequest,
    RuntimeUnavailableError,
    StandIn,
    directories_in_use,
    ensure,
    prepare_volumes,
    resolve_runtime,
    with_mocker,
)
from stator.local.state import StateDirectory
from stator.model import MAIN, Graph, Inventory
from stator.model.commandline import read_command_line
from stator.render import Manifest, RenderedComponent, RenderOptions, render_graph
from stator.versions import Version, resolve, with_versions_where_named

# A container of a graph: component name, container name.
_Key = tuple[str, str]


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """What to run and how.

    `settings` are versions by component name or type; `mocker` puts the published mocker in the place of engines that
    cannot run here; `cache` is where environments are kept. Generations of one graph that serve side by side find
    each other through one directory, `discovery` (None: each graph its own). `taken` are ports to stay away from.
    """

    render: RenderOptions
    config: LocalConfig
    state: StateDirectory
    cache: Path
    settings: Mapping[str, Version] = {}
    mocker: bool = False
    offline: bool = False
    discovery: Path | None = None
    taken: frozenset[int] = frozenset()


def prepare(
    inventory: Inventory, how: Preparation, *, progress: Callable[[str], None]
) -> tuple[tuple[Manifest, LocalPlan], ...]:
    """Render every graph of `inventory`, make what it needs, and plan it. `progress` hears what is being made.

    Raises StatorError with every problem that can be found before something is made, else with those of making it.
    """
    drafts = _drafts(inventory, how)
    ports = PortAllocator(",".join(draft.id for draft in drafts), taken=reserved_ports(how.state) | how.taken)
    # Planning depends on where environments are, not on whether they are there: every reference is checked before
    # gigabytes are fetched. The ports of this trial are not kept.
    for draft in drafts:
        draft.plan(inventory, how, draft.pending(), PortAllocator(draft.id))
    runtimes = {
        request: ensure(request, cache=how.cache, progress=progress, offline=how.offline)
        for request in dict.fromkeys(request for draft in drafts for request in draft.requests.values())
    }
    specs = [component.workload["spec"]["template"]["spec"] for draft in drafts for component in draft.components]
    needed = directories_in_use(how.config, specs)
    prepare_volumes(how.config, needed, cache=how.cache, progress=progress, offline=how.offline)
    prepared = tuple(
        (
            draft.manifest,
            draft.plan(inventory, how, {key: runtimes[asked] for key, asked in draft.requests.items()}, ports),
        )
        for draft in drafts
    )
    if missing := [problem for _, plan in prepared for problem in _missing_models(plan, how.config)]:
        raise InvalidInputError(*missing)
    return prepared


def requirements(inventory: Inventory, how: Preparation) -> tuple[RuntimeRequest, ...]:
    """The environments that `prepare` would make, each once; nothing is made or looked up.

    Raises InvalidInputError with every reason why a graph cannot run on this machine.
    """
    drafts = _drafts(inventory, how)
    return tuple(dict.fromkeys(request for draft in drafts for request in draft.requests.values()))


def unavailable(
    requests: Iterable[RuntimeRequest], how: Preparation, *, progress: Callable[[str], None]
) -> dict[RuntimeRequest, tuple[Problem, ...]]:
    """Make each environment, and say what is wrong with those that cannot be had."""
    problems: dict[RuntimeRequest, tuple[Problem, ...]] = {}
    for request in dict.fromkeys(requests):
        try:
            ensure(request, cache=how.cache, progress=progress, offline=how.offline)
        except RuntimeUnavailableError as error:
            problems[request] = error.problems
    return problems


def _drafts(inventory: Inventory, how: Preparation) -> list[_Draft]:
    graphs = with_versions_where_named(inventory.graphs, how.settings)
    drafts = [_Draft(graph, how) for graph in graphs]
    problems = [problem for draft in drafts for problem in draft.problems]
    ignored = how.config.ignored_sidecars
    if crowded := too_many(crowd for draft in drafts for crowd in crowds(draft.graph, draft.components, ignored)):
        problems.append(crowded)
    if problems:
        raise InvalidInputError(*problems)
    return drafts


def _missing_models(plan: LocalPlan, config: LocalConfig) -> Iterator[Problem]:
    """A model that is named by an absolute path must be there: an engine takes a missing one for a name on a hub."""
    for pod in plan.pods:
        for container in pod.containers:
            words = [word for word in container.argv if isinstance(word, str)]
            for flag, path in pairwise(words):
                if flag in MODEL_FLAGS and path.startswith("/") and not Path(path).exists():
                    yield Problem(
                        what=f"{plan.namespace}/{plan.name} component {pod.component}: no model at {path}",
                        why=f"{flag} names it, and no volume of {config.file or 'a stator.toml'} brings it",
                        remedy="put the model there, or say in stator.toml how the volume's contents are made",
                    )


class _Draft:
    """One graph on its way: rendered, with stand-ins for engines, and with the environments its containers need."""

    def __init__(self, graph: Graph, how: Preparation) -> None:
        self.problems: list[Problem] = []
        self.requests: dict[_Key, RuntimeRequest] = {}
        self.stand_ins: dict[str, StandIn] = {}
        self.graph = graph
        self.id = f"{graph.namespace}.{graph.name}"
        self.directory = how.state.graph(graph.namespace, graph.name)
        if is_running(self.directory):
            self.problems += already_running(self.directory).problems
        self.manifest = render_graph(graph, how.render)
        alone = tuple(item for item in self.manifest.components if item.workload["kind"] == "Deployment")
        self.problems += [_not_one_machine(graph, item) for item in self.manifest.components if item not in alone]
        self.components = tuple(item for item in alone if not _claims(item))
        self.problems += [_shares_gpus(graph, item) for item in alone if _claims(item)]
        if how.mocker:
            self.components = tuple(self._with_stand_in(component) for component in self.components)
        for component in self.components:
            self._resolve(component, how.config)

    def pending(self) -> dict[_Key, Runtime]:
        """Environments as planning needs them, before they are there."""
        return {
            key: Runtime(
                image=request.image,
                python="python3",
                bin="",
                profile=request.profile,
                version=request.version,
                source="to be made",
            )
            for key, request in self.requests.items()
        }

    def made(self, runtimes: Mapping[RuntimeRequest, Runtime]) -> dict[_Key, Runtime]:
        """The environments of this graph's containers, now that they are there."""
        return {key: runtimes[request] for key, request in self.requests.items()}

    def plan(
        self, inventory: Inventory, how: Preparation, runtimes: Mapping[_Key, Runtime], ports: PortAllocator
    ) -> LocalPlan:
        """The plan with these environments."""
        plan = plan_graph(
            msgspec.structs.replace(self.manifest, components=self.components),
            inventory,
            Machine.here(runtimes, how.config.volumes, how.config.ignored_sidecars),
            ports=ports,
            directory=self.directory.path,
            new_uid=lambda: str(uuid.uuid4()),
            discovery=how.discovery,
        )
        stand_ins = tuple(
            Adaptation(
                pod=pod.name,
                what="engine",
                cluster=stand_in.replaced,
                local="dynamo.mocker",
                why=f"--engine mocker; options it does not have: {', '.join(stand_in.dropped) or 'none'}",
            )
            for pod in plan.pods
            if (stand_in := self.stand_ins.get(pod.component))
        )
        return msgspec.structs.replace(plan, adaptations=(*stand_ins, *plan.adaptations))

    def _with_stand_in(self, component: RenderedComponent) -> RenderedComponent:
        container = _main(component)
        line = read_command_line(container.get("command") or (), container.get("args") or ())
        try:
            stand_in = with_mocker(line, facts=component.facts, position=self._position(component))
        except StatorError as error:
            self.problems += error.problems
            return component
        if stand_in is None:
            return component
        self.stand_ins[component.name] = stand_in
        mocker = {**container, "command": list(stand_in.argv), "args": []}
        spec = component.workload["spec"]
        pod_spec = spec["template"]["spec"]
        containers = [mocker if each is container else each for each in pod_spec["containers"]]
        template = {**spec["template"], "spec": {**pod_spec, "containers": containers}}
        return msgspec.structs.replace(
            component, workload={**component.workload, "spec": {**spec, "template": template}}
        )

    def _resolve(self, component: RenderedComponent, config: LocalConfig) -> None:
        pod_spec = component.workload["spec"]["template"]["spec"]
        for container in (*(pod_spec.get("initContainers") or ()), *pod_spec["containers"]):
            name, image = container["name"], container.get("image") or ""
            if name in config.ignored_sidecars:
                continue
            # The component's version is that of its main container; a sidecar is judged by its own image.
            version = component.version if name == MAIN else resolve(None, image)
            line = read_command_line(container.get("command") or (), container.get("args") or ())
            try:
                request = resolve_runtime(image, line, version, config, position=self._position(component))
            except StatorError as error:
                self.problems += error.problems
            else:
                self.requests[component.name, name] = request

    def _position(self, component: RenderedComponent) -> Position:
        part = next(part for part in self.graph.components if part.name == component.name)
        return self.graph.locate(*part.main_path, "image")


def _main(component: RenderedComponent) -> Mapping[str, Any]:
    containers = component.workload["spec"]["template"]["spec"]["containers"]
    return next(container for container in containers if container["name"] == MAIN)


def _claims(component: RenderedComponent) -> bool:
    return bool(component.workload["spec"]["template"]["spec"].get("resourceClaims"))


def _shares_gpus(graph: Graph, component: RenderedComponent) -> Problem:
    """Devices are claimed from a driver of the cluster's; its engines may have other names than `main`."""
    path = next(item.path for item in graph.components if item.name == component.name)
    return Problem(
        what=f"component {component.name} claims devices for its pods, which one machine does not hand out",
        position=graph.locate(*path),
        why="resourceClaims are met by a device driver of a cluster",
        remedy="leave experimental.gpuMemoryService and resourceClaims out, or run the graph on a cluster",
    )


def _not_one_machine(graph: Graph, component: RenderedComponent) -> Problem:
    """Pods that find each other by the names another scheduler gives them have no counterpart here."""
    path = next(item.path for item in graph.components if item.name == component.name)
    return Problem(
        what=f"component {component.name} becomes a {component.workload['kind']}, which does not run on one machine",
        position=graph.locate(*path),
        why="only Deployments do",
        remedy="leave multinode out, and the record of another workload provider, or run the graph on a cluster",
    )
