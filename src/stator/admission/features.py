"""Experimental features of a worker: a runtime beside a native engine, GPU memory service, failover, checkpoints.

A failover takes over the memory that a GPU memory service of the same mode holds; so what such a service needs (a
worker with a GPU; Grove and vLLM between pods) is said once, there. That the service inside a pod needs a GPU is
rendering's to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stator.admission.subject import (
    Breach,
    Subject,
    container_names,
    experimental,
    is_worker,
    main_of,
    templates,
)
from stator.model import RUNTIME_CONTAINER, Component, Path
from stator.render import names
from stator.render.resources import GPU, gpu_count

_DISCOVERY_MODE = names.DISCOVERY_MODE
_INTRA, _INTER = "IntraPod", "InterPod"


def runtime_container(subject: Subject) -> Iterator[Breach]:
    """Only a worker has a runtime beside its engine. What does not go with one is rendering's to refuse."""
    for component in subject.graph.components:
        for index, container in enumerate(component.pod_spec.get("initContainers") or ()):
            always = container.get("restartPolicy") == "Always"
            if container.get("name") == RUNTIME_CONTAINER and always and not is_worker(component):
                yield Breach(
                    rule="runtime-container",
                    path=(*component.path, "podTemplate", "spec", "initContainers", index),
                    what=f'component {component.name}: a "{RUNTIME_CONTAINER}" container goes with workers only',
                    remedy="give the container another name, or set the type to worker, prefill or decode",
                    given=component.type,
                )


def gpu_memory_service(subject: Subject) -> Iterator[Breach]:
    """GPU memory in a process of its own."""
    for component in subject.graph.components:
        if (settings := experimental(component, "gpuMemoryService")) is not None:
            yield from _gpu_memory_service(subject, component, settings)


def _gpu_memory_service(subject: Subject, component: Component, settings: Mapping[str, Any]) -> Iterator[Breach]:
    path = (*component.path, "experimental", "gpuMemoryService")
    about = f"component {component.name}: gpuMemoryService"

    def breach(what: str, *field: str | int, remedy: str = "", given: Any = None) -> Breach:
        full: Path = (*path, *field)
        return Breach(rule="gpu-memory-service", path=full, what=f"{about} {what}", remedy=remedy, given=given)

    if not is_worker(component):
        yield breach("goes with workers only", remedy="leave it out, or set the type", given=component.type)
    if mode_of(settings) == _INTER:
        if is_worker(component) and not gpu_count(main_of(component).get("resources") or {}):
            yield breach("needs a GPU", remedy=f"give the main container a limit of at least 1 {GPU}")
        if subject.on_grove is False:
            yield breach("between pods needs Grove", "mode", remedy=f"use the mode {_INTRA}, or run it on Grove")
        if (backend := subject.backend(component)) not in ("vllm", "noop"):
            yield breach(f"between pods is made for vllm, not {backend}", "mode", remedy=f"use the mode {_INTRA}")
        elif backend == "noop" and subject.graph.backend_framework is None:
            yield breach("between pods is made for vllm", "mode", remedy="set spec.backendFramework to vllm")
    if "extraClientPods" in settings:
        yield breach("takes no extraClientPods yet", "extraClientPods", remedy="leave them out")
    yield from _clients(component, settings, breach)


def _clients(component: Component, settings: Mapping[str, Any], breach: Any) -> Iterator[Breach]:
    clients = settings.get("extraClientContainers") or []
    if clients and mode_of(settings) != _INTRA:
        yield breach("between pods takes no extraClientContainers", "extraClientContainers", remedy="leave them out")
        return
    known = {name for _, template in templates(component) for name in container_names(template)}
    for index, name in enumerate(clients):
        if name in clients[:index]:
            yield breach(f'names the container "{name}" twice', "extraClientContainers", index, remedy="remove one")
        elif name not in known:
            remedy = f"name one of {', '.join(sorted(known)) or 'the pod template'}"
            yield breach(f'names no container with "{name}"', "extraClientContainers", index, remedy=remedy)


def failover(subject: Subject) -> Iterator[Breach]:
    """A shadow engine that takes over."""
    for component in subject.graph.components:
        if (settings := experimental(component, "failover")) is None:
            continue
        path = (*component.path, "experimental", "failover")
        about = f"component {component.name}: failover"
        mode, service = mode_of(settings), experimental(component, "gpuMemoryService")
        if service is None or mode_of(service) != mode:
            other = "it has none" if service is None else f"its mode is {mode_of(service)}"
            yield Breach(
                rule="failover-memory",
                path=path,
                what=f"{about} of the mode {mode} needs a gpuMemoryService of the same mode",
                why=other,
                remedy="give both the same mode",
                given=other,
            )
        if mode == _INTRA and subject.graph.annotations.get(_DISCOVERY_MODE) != "container":
            yield Breach(
                rule="failover-discovery",
                path=("metadata", "annotations", _DISCOVERY_MODE),
                what=f'{about} inside a pod needs the annotation {_DISCOVERY_MODE}: "container"',
                why="two engines of one pod are two instances",
                remedy="set it on the object itself",
            )


def checkpoint(subject: Subject) -> Iterator[Breach]:
    """Snapshots of a worker."""
    for component in subject.graph.components:
        settings = experimental(component, "checkpoint")
        if settings is not None and settings.get("enabled"):
            yield from _checkpoint(subject, component, settings)


def _checkpoint(subject: Subject, component: Component, settings: Mapping[str, Any]) -> Iterator[Breach]:
    path = (*component.path, "experimental", "checkpoint")
    about = f"component {component.name}: checkpoint"
    if subject.installed.snapshots is False:
        yield Breach(
            rule="checkpoint-gate",
            path=path,
            what=f"{about}: this cluster's operator takes no snapshots",
            remedy="leave it out",
        )
    if not is_worker(component):
        yield Breach(
            rule="checkpoint-type",
            path=path,
            what=f"{about} goes with workers only",
            remedy="set the type to worker, prefill or decode",
            given=component.type,
        )
    alone = subject.graph.kind == "DynamoComponentDeployment" and not subject.graph.labels.get(names.GRAPH_NAME)
    if alone and settings.get("checkpointRef"):
        yield Breach(
            rule="checkpoint-standalone",
            path=(*path, "checkpointRef"),
            what=f"{about}: a component that stands alone cannot use another's checkpoint",
            remedy="leave checkpointRef out, or make the component part of a graph",
        )
    job = settings.get("job") or {}
    clients = job.get("gmsClientContainers") or []
    own = [("", job["podTemplate"])] if job.get("podTemplate") else templates(component)
    known = {name for _, template in own for name in container_names(template)}
    for index, name in enumerate(clients):
        if name not in known or name in clients[:index]:
            words = f'names the container "{name}" twice' if name in known else f'names no container with "{name}"'
            yield Breach(
                rule="checkpoint-job",
                path=(*path, "job", "gmsClientContainers", index),
                what=f"{about}: its job {words}",
                remedy=f"name each of {', '.join(sorted(known)) or 'its containers'} once at most",
            )


def mode_of(settings: Mapping[str, Any]) -> str:
    """The mode of a GPU memory service or a failover."""
    return settings.get("mode") or _INTRA
