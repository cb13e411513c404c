"""What differs in the pods of one component, and who set it.

Rendering keeps the history of every env entry, envFrom source and probe; here a difference is looked up in it. What
a new worker hash alone changes (a name, two labels, one variable) is not listed: the hash is reported once, with the
inputs that changed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from stator.model import MAIN, Component
from stator.render import Provenance, RenderedComponent, names
from stator.render.environment import shown
from stator.render.explain import masked_value, who
from stator.render.manifest import RenderedPod
from stator.render.probes import probe_text
from stator.upgrade.arguments import argument_changes
from stator.upgrade.change import Change, Side, Subject
from stator.upgrade.structure import differences

_SUFFIX = "DYN_NAMESPACE_WORKER_SUFFIX"
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_OWN = ("image", "command", "args", "env", "envFrom", *_PROBES)
History = Mapping[tuple[str, str], Provenance]
Template = dict[str, Any]

_NOT_SHOWN = " (a part that is not shown differs)"


def pod_changes(before: Side, after: Side, old: RenderedComponent, new: RenderedComponent) -> tuple[Change, ...]:
    """Every difference of the pods of `old` (in `before`) and `new` (in `after`) that is not the hash's.

    Pods are compared role by role; where a component has several roles, a change names its own.
    """
    component = next(part for part in after.graph.components if part.name == new.name)
    olds, news = ({pod.role: pod for pod in part.pods} for part in (old, new))
    changes: list[Change] = []
    for role in dict.fromkeys((*olds, *news)):
        counts = [str(pods[role].count) if role in pods else None for pods in (olds, news)]
        if counts[0] != counts[1]:
            changes.append(
                Change(subject="field", name="pods of a replica", before=counts[0], after=counts[1], role=role)
            )
        if role in olds and role in news:
            templates = _without_hash(olds[role], before), _without_hash(news[role], after)
            histories = _history(old, role), _history(new, role)
            changes += [
                msgspec.structs.replace(change, role="" if role == MAIN else role)
                for change in _template_changes(after, component, templates, histories)
            ]
    return tuple(changes)


def _template_changes(
    after: Side, component: Component, templates: tuple[Template, Template], histories: tuple[History, History]
) -> Iterator[Change]:
    """The differences of two pod templates, from which their main containers are taken."""
    if templates[0] == templates[1]:
        return
    main, new_main = (template["spec"]["containers"].pop(0) for template in templates)
    was, now = histories
    yield from _image(main, new_main, after, component)
    for change in argument_changes(main, new_main):
        yield _written(after, component, change, now)
    yield from _env(main, new_main, was, now)
    yield from _env_from(main, new_main, was, now)
    yield from _probes(main, new_main, was, now)
    yield from differences(_rest(main), _rest(new_main), f"spec.containers[{MAIN}]")
    yield from differences(*templates)


def only_repairs(changes: tuple[Change, ...]) -> bool:
    """Whether nothing but repairs differs."""
    return bool(changes) and all(change.why.startswith("repair:") for change in changes)


def _without_hash(pod: RenderedPod, side: Side) -> Template:
    """A copy of a pod template without what the worker hash puts into it."""
    template: Template = msgspec.json.decode(msgspec.json.encode(pod.template))
    labels = template.get("metadata", {}).get("labels", {})
    labels.pop(names.SELECTOR, None)
    if generation := side.manifest.generation:
        if labels.get(names.WORKER_HASH) == generation:
            labels.pop(names.WORKER_HASH)
        main = template["spec"]["containers"][0]
        main["env"] = [entry for entry in main.get("env") or () if entry != {"name": _SUFFIX, "value": generation}]
    return template


def _rest(main: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of a main container when its parts with a history are taken away."""
    return {key: value for key, value in main.items() if key not in _OWN}


def _history(part: RenderedComponent, role: str) -> History:
    """The histories of a role's main container; what holds for every role is kept under `main`."""
    containers = (MAIN, f"{role}/{MAIN}")
    ordered = [item for container in containers for item in part.provenance if item.container == container]
    return {(item.subject, item.name): item for item in ordered}


def _image(old: Mapping[str, Any], new: Mapping[str, Any], side: Side, component: Component) -> Iterator[Change]:
    if old["image"] != new["image"]:
        position = side.graph.locate(*component.main_path, "image")
        why = f"component: {component.name}"
        yield Change(subject="image", name="", before=old["image"], after=new["image"], why=why, position=position)


def _written(side: Side, component: Component, change: Change, now: History) -> Change:
    """A change of the command line with who set it: a framework's flag, or the author, and where."""
    if (history := now.get(("flag", change.name))) is not None and change.after is not None:
        setter = history.setter
        why = who(msgspec.structs.replace(setter, position=None))
        return msgspec.structs.replace(change, why=why, position=setter.position)
    position = side.graph.locate(*component.main_path, "args" if component.main.get("args") else "command")
    return msgspec.structs.replace(change, why=f"component: {component.name}", position=position)


def _explained(
    subject: Subject,
    name: str,
    before: str | None,
    after: str | None,
    *,
    old: Provenance | None,
    new: Provenance | None,
) -> Change:
    """A change with who set the new value, or who had set one that is gone."""
    history = new if after is not None else old
    if history is None:
        return Change(subject=subject, name=name, before=before, after=after)
    setter = history.setter
    return Change(
        subject=subject,
        name=name,
        before=before,
        after=after,
        why=who(msgspec.structs.replace(setter, position=None)),
        position=setter.position,
    )


def _env(old: Mapping[str, Any], new: Mapping[str, Any], was: History, now: History) -> Iterator[Change]:
    entries = [{entry["name"]: entry for entry in main.get("env") or ()} for main in (old, new)]
    for name in dict.fromkeys((*entries[0], *entries[1])):
        bodies = [each.get(name) for each in entries]
        if bodies[0] != bodies[1]:
            before, after = (None if body is None else masked_value(name, shown(body)) for body in bodies)
            if before == after:
                after = f"{after}{_NOT_SHOWN}"
            keys = ("env", name)
            yield _explained("env", name, before, after, old=was.get(keys), new=now.get(keys))
    orders = [[name for name in each if name in entries[0] and name in entries[1]] for each in entries]
    if orders[0] != orders[1]:
        yield Change(subject="env", name="(order)", before=" ".join(orders[0]), after=" ".join(orders[1]))


def _env_from(old: Mapping[str, Any], new: Mapping[str, Any], was: History, now: History) -> Iterator[Change]:
    sources = [list(main.get("envFrom") or ()) for main in (old, new)]
    if sources[0] == sources[1]:
        return
    found = [[name for subject, name in history if subject == "env-from"] for history in (was, now)]
    changed = [name for name in dict.fromkeys((*found[0], *found[1])) if (name in found[0]) != (name in found[1])]
    for name in changed:
        key = ("env-from", name)
        texts = [name if name in each else None for each in found]
        yield _explained("env-from", name, *texts, old=was.get(key), new=now.get(key))
    if not changed:
        before, after = (", ".join(each) for each in found)
        yield Change(subject="env-from", name="(order or prefix)", before=before, after=f"{after}{_NOT_SHOWN}")


def _probes(old: Mapping[str, Any], new: Mapping[str, Any], was: History, now: History) -> Iterator[Change]:
    for field in _PROBES:
        if old.get(field) != new.get(field):
            key = ("probe", field)
            histories = [each.get(key) for each in (was, now)]
            before, after = (
                None if probe is None else item.setter.value if item else probe_text(probe)
                for probe, item in zip((old.get(field), new.get(field)), histories, strict=True)
            )
            if before == after:
                after = f"{after}{_NOT_SHOWN}"
            yield _explained("probe", field, before, after, old=histories[0], new=histories[1])
