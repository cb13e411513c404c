"""What a graph's manifest says twice, in vain, or against itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from stator.compat.edits import RemoveEnv
from stator.compat.facts import ContainerFacts, GraphFacts
from stator.compat.given import given
from stator.compat.outcome import Outcome
from stator.compat.predicates.wire import routes_by_events
from stator.compat.roles import WORKERS, role
from stator.compat.rule import Rule
from stator.model import Component

_SLEEP = re.compile(r"(?:^|[\s;&/])sleep\s+(\d{1,9})s?\s*$", re.ASCII)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


def duplicate_env(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Names that stand twice in one list of variables: outcomes `duplicate` and `same`, at the later entry."""
    del rule
    lists: list[tuple[str, tuple[str | int, ...], Sequence[Mapping[str, Any]]]] = [
        ("", ("spec", "env"), facts.graph.env),
        *((part.name, (*part.main_path, "env"), part.main.get("env") or ()) for part in facts.graph.components),
    ]
    for component, path, entries in lists:
        first: dict[str, int] = {}
        for index, entry in enumerate(entries):
            earlier = first.setdefault(entry["name"], index)
            if earlier != index:
                same = entries[earlier] == entry
                yield Outcome(
                    key="same" if same else "duplicate",
                    component=component,
                    position=facts.graph.locate(*path, index),
                    values={"variable": entry["name"], "line": str(facts.graph.locate(*path, earlier).line)},
                    edit=RemoveEnv(name=entry["name"]) if same else None,
                )


def shadowed_source(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Keys of a ConfigMap or Secret in `envFrom` that an entry of the operator's beats: outcome `shadowed`.

    Only of those that are known. An entry that the user wrote beside the source is meant to win.
    """
    del rule
    for container in facts.containers:
        own = {entry["name"] for entry in (*facts.graph.env, *(facts.component(container).main.get("env") or ()))}
        for index, source in enumerate(container.env_from):
            name, keys = _keys(facts, source)
            for key in keys:
                variable = f"{source.get('prefix') or ''}{key}"
                if variable not in own and container.entry(variable) is not None:
                    yield Outcome(
                        key="shadowed",
                        component=container.component,
                        where=("envFrom", index),
                        values={"variable": variable, "source": name},
                    )


def _keys(facts: GraphFacts, source: Mapping[str, Any]) -> tuple[str, Collection[str]]:
    """What an `envFrom` source is called, and its keys if they are known."""
    for field, known in (("configMapRef", facts.config_maps), ("secretRef", facts.secrets)):
        if source.get(field):
            name = source[field].get("name", "")
            return name, known.get((facts.graph.namespace, name), ())
    return "", ()


def missing_reference(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """ConfigMaps and Secrets, or keys of them, that a container asks for and that are not there.

    Outcomes `object` and `key`. What is not known to be missing says nothing, nor what is optional.
    """
    del rule
    for container in facts.containers:
        for where, kind, reference, key in _references(container):
            name = reference.get("name", "")
            known = (facts.config_maps if kind == "ConfigMap" else facts.secrets).get((facts.graph.namespace, name))
            lacks_object = known is None and (kind, facts.graph.namespace, name) in facts.absent
            if reference.get("optional") or not (lacks_object or (known is not None and key and key not in known)):
                continue
            yield Outcome(
                key="object" if lacks_object else "key",
                component=container.component,
                where=where,
                values={"kind": kind, "name": name, "key": key},
            )


def _references(container: ContainerFacts) -> Iterator[tuple[tuple[str | int, ...], str, Mapping[str, Any], str]]:
    """Place, kind, reference and key (empty for all of them) of everything a container's variables come from."""
    for entry in container.env:
        for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            if reference := (entry.get("valueFrom") or {}).get(field):
                yield ("env", entry["name"]), kind, reference, str(reference.get("key", ""))
    for index, source in enumerate(container.env_from):
        for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if reference := source.get(field):
                yield ("envFrom", index), kind, reference, ""


def identity_variables(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Variables by which the parts know who they are, set by hand: outcome `identity`. `looks_for`: `variables`.

    An entry that takes the pod's own field says what the operator's says.
    """
    names = rule.looks_for["variables"]
    for index, entry in enumerate(facts.graph.env):
        if entry["name"] in names and not _of_the_pod(entry):
            position = facts.graph.locate("spec", "env", index)
            yield Outcome(key="identity", position=position, values={"variable": entry["name"]})
    for part in facts.graph.components:
        for index, entry in enumerate(part.main.get("env") or ()):
            if entry["name"] in names and not _of_the_pod(entry):
                position = facts.graph.locate(*part.main_path, "env", index)
                values = {"variable": entry["name"]}
                yield Outcome(key="identity", component=part.name, position=position, values=values)


def refused(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """What admission refuses: outcome `refused`, one for each of its rules."""
    del rule
    for problem in facts.refused:
        why = f": {problem.why}" if problem.why else ""
        values = {"what": problem.what, "why": why, "remedy": problem.remedy}
        yield Outcome(key="refused", position=problem.position, values=values)


def _of_the_pod(entry: Mapping[str, Any]) -> bool:
    return bool((entry.get("valueFrom") or {}).get("fieldRef"))


def gpus(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Workers that spread over more GPUs than they are given: outcome `few`.

    `looks_for`: by backend, the spellings of the `tensor` and `pipeline` options, and `nodes`, the number of
    nodes of a multi-node worker that names none. A worker that asks for no GPU by
    number says nothing: it may get devices by claim.
    """
    for container in facts.containers:
        component = facts.component(container)
        limits = (container.body.get("resources") or {}).get("limits") or {}
        wanted, where = _parallel(container, rule)
        given_gpus = str(limits.get("nvidia.com/gpu", ""))
        multinode = component.other.get("multinode")
        nodes = 1 if multinode is None else int(multinode.get("nodeCount") or rule.looks_for["nodes"])
        if _NUMBER.fullmatch(given_gpus) and int(given_gpus) and wanted > int(given_gpus) * nodes:
            yield Outcome(
                key="few",
                component=container.component,
                where=where,
                values={"wanted": str(wanted), "given": str(int(given_gpus) * nodes)},
            )


def shared_memory(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Workers with several GPUs and no shared memory: outcome `none`. `looks_for` as for `gpus`."""
    for container in facts.containers:
        component = facts.component(container)
        mounts = container.body.get("volumeMounts") or ()
        if component.shared_memory_size is None or not re.fullmatch(r"0+[A-Za-z]*", component.shared_memory_size):
            continue
        wanted, _ = _parallel(container, rule)
        if wanted > 1 and not any(mount.get("mountPath") == "/dev/shm" for mount in mounts):  # noqa: S108 - a mount
            position = facts.graph.locate(*component.path, "sharedMemorySize")
            values = {"wanted": str(wanted)}
            yield Outcome(key="none", component=container.component, position=position, values=values)


def _parallel(container: ContainerFacts, rule: Rule) -> tuple[int, tuple[str | int, ...]]:
    """Tensor times pipeline parallel size of the worker, 1 if not given or not known, and where it stands."""
    options = rule.looks_for.get(container.backend)
    wanted: int = 1
    where: tuple[str | int, ...] = ("args",)
    if options is None:
        return wanted, where
    for spellings in (options["tensor"], options["pipeline"]):
        uses = list(given(container, (options["module"],), spellings))
        if uses and _NUMBER.fullmatch(uses[-1].value or ""):
            wanted *= int(uses[-1].value or 1)
            where = uses[-1].where
    return wanted, where


def grace(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Hooks before the stop that use up the time for it: outcome `used-up`. `looks_for`: `default`, in seconds.

    The grace period begins before the hook runs (Kubernetes documentation, "Container Lifecycle Hooks").
    """
    for container in facts.containers:
        seconds = _hook_seconds(container.body)
        component = facts.component(container)
        limit = component.pod_spec.get("terminationGracePeriodSeconds", _default_grace(component, rule))
        if seconds is not None and isinstance(limit, int) and seconds >= limit:
            yield Outcome(
                key="used-up",
                component=container.component,
                where=("lifecycle", "preStop"),
                values={"seconds": str(seconds), "grace": str(limit)},
            )


def _default_grace(component: Component, rule: Rule) -> int:
    return int(rule.looks_for["default"].get(component.type, rule.looks_for["default"]["other"]))


def _hook_seconds(body: Mapping[str, Any]) -> int | None:
    """How long the hook plainly waits: a `sleep` handler, or a command that ends in one."""
    hook = (body.get("lifecycle") or {}).get("preStop") or {}
    if hook.get("sleep"):
        return int(hook["sleep"].get("seconds", 0))
    found = _SLEEP.search(" ".join((hook.get("exec") or {}).get("command") or ()))
    return int(found[1]) if found else None


def reserved_container(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Init containers with a name the operator takes for its own: outcome `reserved`. `looks_for`: `names`."""
    for part in facts.graph.components:
        for index, container in enumerate(part.pod_spec.get("initContainers") or ()):
            if container.get("name") in rule.looks_for["names"] and container.get("restartPolicy") != "Always":
                position = facts.graph.locate(*part.path, "podTemplate", "spec", "initContainers", index)
                values = {"container": container["name"]}
                yield Outcome(key="reserved", component=part.name, position=position, values=values)


def kv_events_source(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Workers of vLLM that publish no KV events to a frontend that routes by them: outcome `silent`.

    `looks_for`: `flags` that configure events.
    """
    frontends = [part for part in facts.of_type("frontend") if routes_by_events(part)]
    for worker in facts.of_type(*WORKERS) if frontends else ():
        release = worker.version.core
        runs_vllm = any(run.module == "dynamo.vllm" for run in worker.command_line.invocations)
        if release is None or release not in rule.affected or not runs_vllm or worker.command_line.opaque:
            continue
        if role(facts, worker) == "decode":
            continue
        if not any(given(worker, ("dynamo.vllm",), rule.looks_for["flags"])):
            values = {"frontend": frontends[0].component}
            yield Outcome(key="silent", component=worker.component, where=("args",), values=values)


def ray_executor(facts: GraphFacts, rule: Rule) -> Iterator[Outcome]:
    """Workers of vLLM that are told to use Ray: outcomes `flag` and `annotation`, the latter where it has an effect.

    `looks_for`: `flags`, and the `annotation` of a graph by which its workers on several nodes are told.
    """
    for worker in facts.of_type(*WORKERS):
        release = worker.version.core
        if release is None or release not in rule.affected or worker.backend not in rule.backends:
            continue
        for use in given(worker, ("dynamo.vllm",), rule.looks_for["flags"]):
            if use.value == "ray":
                yield Outcome(key="flag", component=worker.component, where=use.value_where, values={"flag": use.flag})
        annotation = rule.looks_for["annotation"]
        spread = facts.component(worker).other.get("multinode") is not None
        if spread and facts.graph.annotations.get(annotation, "").strip().lower() == "ray":
            position = facts.graph.locate("metadata", "annotations", annotation)
            values = {"annotation": annotation}
            yield Outcome(key="annotation", component=worker.component, position=position, values=values)
