"""One component: its pods, role by role, and the objects that are its own beside the workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from stator.compat import ContainerFacts, Finding
from stator.errors import Problem
from stator.render.aliases import alias_changes
from stator.render.backends import engine_changes
from stator.render.backends.nixl import exporter_ports
from stator.render.changes import Changes, together
from stator.render.container import merged_container
from stator.render.context import Context
from stator.render.defaults import defaults_of
from stator.render.environment import merge
from stator.render.failover import with_engines
from stator.render.kv_transfer import kv_transfer_changes
from stator.render.manifest import NotRendered, Provenance, RenderedPod
from stator.render.memory_service import share_gpus
from stator.render.metadata import pod_labels, pod_metadata, workload_labels
from stator.render.objects.endpoint_picker import endpoint_picker_objects
from stator.render.objects.ingress import ingress
from stator.render.objects.scaling_adapter import scaling_adapter
from stator.render.pod import pod_spec, put_sidecars
from stator.render.pull_secrets import add_pull_secrets
from stator.render.repair import repaired
from stator.render.resources import mirror_requests
from stator.render.service import service
from stator.render.sidecars import sidecars

Json = dict[str, Any]
Item = TypeVar("Item")


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """A component without its workload. `objects` come in apply order; `shared` are of the graph, not of it alone."""

    contexts: tuple[Context, ...]
    labels: dict[str, str]
    pods: tuple[RenderedPod, ...]
    service: Json | None
    objects: tuple[Json, ...]
    shared: tuple[Json, ...]
    provenance: tuple[Provenance, ...]
    findings: tuple[Finding, ...]
    repairs: tuple[str, ...]
    not_rendered: tuple[NotRendered, ...]
    facts: ContainerFacts

    @property
    def context(self) -> Context:
        """The component in its first role."""
        return self.contexts[0]


class _Pod(msgspec.Struct, frozen=True, kw_only=True):
    """One role's pod and what came with it."""

    pod: RenderedPod
    config_maps: tuple[Json, ...]
    objects: tuple[Json, ...]
    shared: tuple[Json, ...]
    provenance: tuple[Provenance, ...]
    findings: tuple[Finding, ...]
    repairs: tuple[str, ...]
    not_rendered: tuple[NotRendered, ...]
    facts: ContainerFacts


def component_parts(contexts: Sequence[Context], problems: list[Problem]) -> Parts:
    """Render a component's pods in each of its roles. Adds to `problems` what cannot be rendered."""
    first = contexts[0]
    labels_by_role = [workload_labels(context) for context in contexts]
    pods = [_pod(context, labels, problems) for context, labels in zip(contexts, labels_by_role, strict=True)]
    labels = labels_by_role[0]
    own_service = service(first, labels)
    config_maps = _each_once(item for pod in pods for item in pod.config_maps)
    services = (own_service,) if own_service else ()
    beside = (
        *_each_once(item for pod in pods for item in pod.objects),
        *endpoint_picker_objects(first),
        *ingress(first, labels),
        *scaling_adapter(first),
    )
    return Parts(
        contexts=tuple(contexts),
        labels=labels,
        pods=tuple(item.pod for item in pods),
        service=own_service,
        objects=(*config_maps, *services, *beside),
        shared=_each_once(item for pod in pods for item in pod.shared),
        provenance=tuple(item for pod in pods for item in pod.provenance),
        findings=_each_once(item for pod in pods for item in pod.findings),
        repairs=_each_once(item for pod in pods for item in pod.repairs),
        not_rendered=_each_once(item for pod in pods for item in pod.not_rendered),
        facts=pods[0].facts,
    )


def _pod(context: Context, labels: dict[str, str], problems: list[Problem]) -> _Pod:
    notes: list[NotRendered] = []
    defaults = defaults_of(context)
    main = merged_container(context, defaults, problems)
    result = repaired(context, main, labels)
    body = main.body
    if ports := exporter_ports(context, body, main.env, problems):
        body["ports"] = ports
    policy = kv_transfer_changes(context)
    made = engine_changes(context, body, result.env, problems)
    if not context.runs_native_engine:
        made = together(policy, alias_changes(context), made)
    notes.extend(made.missing)
    _apply(body, made)
    mirror_requests(context, body, problems)
    env = merge((result.env, made.env)) if made.env else result.env
    if env:
        body["env"] = [entry.written() for entry in env]
    if result.env_from:
        body["envFrom"] = list(result.env_from)
    beside = sidecars(context, [*(body.get("volumeMounts") or ()), *made.mounts], policy, problems)
    if context.runs_native_engine:
        made = together(made, Changes(volumes=policy.volumes))
    spec = pod_spec(context, body, defaults, made, notes)
    put_sidecars(spec, {name: sidecar.body for name, sidecar in beside.items()})
    secrets = add_pull_secrets(context, spec)
    shared_gpus = share_gpus(context, spec, problems)
    engines = with_engines(context, spec, env)
    notes.extend(engines.missing)
    template = {"metadata": pod_metadata(context, pod_labels(context, labels)), "spec": spec}
    where = context.where
    return _Pod(
        pod=RenderedPod(role=context.role.name, count=context.role.pods, template=template),
        config_maps=result.config_maps,
        shared=made.config_maps,
        objects=(*made.objects, *shared_gpus.objects),
        provenance=(
            *(entry.provenance(where) for entry in env),
            *result.env_from_provenance,
            *_history(main.provenance, made.provenance),
            *(item for sidecar in beside.values() for item in sidecar.provenance),
            *secrets,
            *shared_gpus.provenance,
            *engines.provenance,
        ),
        findings=result.findings,
        repairs=result.rules,
        not_rendered=tuple(notes),
        facts=result.facts,
    )


def _history(merged: Sequence[Provenance], made: Sequence[Provenance]) -> Iterator[Provenance]:
    """One history per flag and probe: what a framework set says what it replaced."""
    if not made:
        yield from merged
        return
    replaced = {(item.subject, item.name): (*item.replaced, item.setter) for item in merged}
    changed = {(item.subject, item.name) for item in made}
    yield from (item for item in merged if (item.subject, item.name) not in changed)
    for item in made:
        yield msgspec.structs.replace(item, replaced=replaced.get((item.subject, item.name), ()))


def _apply(body: Json, made: Changes) -> None:
    """Put a framework's changes into the main container; its mounts wait for the pod's volumes."""
    if made.command or made.args:
        for field, words in (("command", made.command), ("args", made.args)):
            if words:
                body[field] = list(words)
            else:
                body.pop(field, None)
    for field, probe in made.probes.items():
        if probe is None:
            body.pop(field, None)
        else:
            body[field] = probe


def _each_once(items: Iterable[Item]) -> tuple[Item, ...]:
    """Equal items once, in the order they came: what holds for every role of a component is said once."""
    kept: list[Item] = []
    for item in items:
        if item not in kept:
            kept.append(item)
    return tuple(kept)
