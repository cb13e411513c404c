"""Each environment variable of a component's main container: which source wins, and what that shadows.

An `env` entry beats every `envFrom` source, a later source an earlier one (Kubernetes API, Container). What beats
what among the entries is the renderer's provenance; the keys of `envFrom` sources come from ConfigMaps and Secrets
that were loaded beside the graph. Of a Secret only key names are looked at. Variables that the kubelet adds for
Services are not listed: they depend on the cluster. Of a component with several roles it is the leader that is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from stator.errors import Position
from stator.model import MAIN, Inventory
from stator.render import Manifest, Provenance, RenderedComponent, Setter
from stator.render.container import source_name
from stator.render.explain import masked, masked_value

_SECRET_KEY = "(key of a Secret)"  # noqa: S105 - what stands in the place of a secret


class VariableSource(msgspec.Struct, frozen=True, kw_only=True):
    """One place that sets a variable. `layer` is a layer of provenance, or `env-from`; `value` is fit to be shown."""

    layer: str
    detail: str
    value: str
    position: Position | None = None


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """A variable. `shadows` are the sources that lose to `source`, the nearest loser first.

    `resolved` is the value a ConfigMap reference leads to, if that is known; `problem` why one leads nowhere.
    """

    name: str
    source: VariableSource
    shadows: tuple[VariableSource, ...] = ()
    resolved: str = ""
    problem: str = ""


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """An `envFrom` source that was not loaded: it may set any variable that starts with `prefix`."""

    source: str
    prefix: str = ""
    position: Position | None = None


class Variables(msgspec.Struct, frozen=True, kw_only=True):
    """All variables of one component, by name, and the sources that could not be read."""

    graph: str
    component: str
    variables: tuple[Variable, ...]
    unread: tuple[Unread, ...] = ()

    def only(self, name: str) -> Variables:
        """The same for one variable, with the unread sources that could set it."""
        return msgspec.structs.replace(
            self,
            variables=tuple(item for item in self.variables if item.name == name),
            unread=tuple(item for item in self.unread if name.startswith(item.prefix)),
        )


def variables(manifest: Manifest, component: RenderedComponent, inventory: Inventory) -> Variables:
    """The variables of a rendered component; references lead to the inventory and to what was rendered itself."""
    known = _Known(manifest, component, inventory)
    pod = component.pods[0]
    main = pod.template["spec"]["containers"][0]
    # Of the engines of a failover pod the first stands where `main` was, with the histories of both names.
    names = dict.fromkeys((MAIN, main["name"]))
    containers = [label for name in names for label in (name, f"{pod.role}/{name}")]
    histories = {(item.subject, item.name): item for item in component.provenance if item.container in containers}
    found: dict[str, list[VariableSource]] = {}
    unread: list[Unread] = []
    for body in main.get("envFrom") or ():
        history = histories.get(("env-from", source_name(body)))
        keys = known.keys(body)
        if keys is None:
            position = history.setter.position if history else None
            unread.append(Unread(source=source_name(body), prefix=body.get("prefix") or "", position=position))
            continue
        for name, value in keys.items():
            found.setdefault(name, []).append(_from_source(body, name, value, history))
    entries = {entry["name"]: entry for entry in main.get("env") or ()}
    for name in entries:
        found.setdefault(name, []).extend(_from_entries(histories["env", name]))
    return Variables(
        graph=manifest.graph,
        component=component.name,
        variables=tuple(_variable(name, found[name], entries.get(name), known) for name in sorted(found)),
        unread=tuple(unread),
    )


class _Known:
    """The ConfigMaps and Secrets whose keys are known."""

    def __init__(self, manifest: Manifest, component: RenderedComponent, inventory: Inventory) -> None:
        self.namespace = manifest.namespace
        self.inventory = inventory
        self.rendered = {
            item["metadata"]["name"]: item["data"] for item in component.objects if item["kind"] == "ConfigMap"
        }

    def config_map(self, name: str) -> Mapping[str, str] | None:
        return self.rendered.get(name) or self.inventory.config_maps.get((self.namespace, name))

    def keys(self, body: Mapping[str, Any]) -> dict[str, str] | None:
        """What an `envFrom` source sets, by variable, as it may be shown; None if the source was not loaded."""
        prefix = body.get("prefix") or ""
        if reference := body.get("configMapRef"):
            data = self.config_map(reference.get("name", ""))
            return None if data is None else {prefix + key: masked_value(prefix + key, data[key]) for key in data}
        name = (body.get("secretRef") or {}).get("name", "")
        secret = self.inventory.secrets.get((self.namespace, name))
        return None if secret is None else {prefix + key: _SECRET_KEY for key in secret.values}

    def follow(self, name: str, entry: Mapping[str, Any]) -> tuple[str, str]:
        """What an entry's reference leads to, and why it leads nowhere; both empty for what is not known here."""
        source = entry.get("valueFrom") or {}
        for kind in ("configMapKeyRef", "secretKeyRef"):
            if (reference := source.get(kind)) is None:
                continue
            of = (self.namespace, reference.get("name", ""))
            data = self.config_map(of[1]) if kind == "configMapKeyRef" else _names(self.inventory.secrets.get(of))
            if data is None:
                return "", ""
            if reference["key"] in data:
                return masked_value(name, data[reference["key"]]), ""
            left_out = "the variable is left out" if reference.get("optional") else "the pod would not start"
            return "", f"there is no key {reference['key']} in {of[1]}: {left_out}"
        return "", ""


def _names(secret: Any) -> Mapping[str, str] | None:
    return None if secret is None else dict.fromkeys(secret.values, "")


def _from_source(body: Mapping[str, Any], name: str, value: str, history: Provenance | None) -> VariableSource:
    setter = history.setter if history else Setter("component")
    by_rule = f" by {setter.detail}" if setter.layer == "repair" else ""
    return VariableSource(
        layer="env-from",
        detail=f"{source_name(body)} key {name.removeprefix(body.get('prefix') or '')}{by_rule}",
        value=value,
        position=setter.position,
    )


def _from_entries(history: Provenance) -> Iterator[VariableSource]:
    """The entries of one name, lowest layer first."""
    for setter in (*history.replaced, history.setter):
        yield VariableSource(
            layer=setter.layer, detail=setter.detail, value=masked(history, setter), position=setter.position
        )


def _variable(name: str, sources: Sequence[VariableSource], entry: Mapping[str, Any] | None, known: _Known) -> Variable:
    resolved, problem = known.follow(name, entry) if entry else ("", "")
    return Variable(
        name=name, source=sources[-1], shadows=tuple(reversed(sources[:-1])), resolved=resolved, problem=problem
    )
