"""A container's environment as the kubelet computes it.

Lowest precedence first: variables of services, `envFrom` sources in order, `env` entries in order. What cannot be
resolved is what makes a pod wait with `CreateContainerConfigError`; it is reported in the kubelet's words, all of
it at once.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any, TypeVar

import msgspec

from stator.local.kubelet.expansion import TooLongError, expand, references
from stator.model import SecretData
from stator.model.quantities import quantity

Content = TypeVar("Content")

# IsEnvVarName of the Kubernetes API machinery. Releases with RelaxedEnvironmentVariableValidation accept more; a name
# outside of this set is skipped by the older ones, and a run here must not depend on it.
_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class PodFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the downward API can tell a container about its pod. `cpus` and `memory` (bytes) are the node's."""

    name: str
    namespace: str
    uid: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    node: str = "localhost"
    service_account: str = "default"
    ip: str = "127.0.0.1"
    cpus: int = 1
    memory: int = 0


class ServiceAddress(msgspec.Struct, frozen=True, kw_only=True):
    """One port of a Service, for the variables that announce it to containers."""

    name: str
    port_name: str
    host: str
    port: int


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where references lead: ConfigMaps and Secrets by name (one namespace), and the services to announce."""

    config_maps: Mapping[str, Mapping[str, str]] = {}
    secrets: Mapping[str, SecretData] = {}
    services: tuple[ServiceAddress, ...] = ()


class Unresolved(msgspec.Struct, frozen=True):
    """A reference that cannot be resolved: the variable or source it is for, and the kubelet's message."""

    name: str
    message: str


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The computed environment.

    `secret` are the names whose values hold a Secret's value, directly or by expansion. `skipped` are keys of
    `envFrom` sources that are no variable names. `too_long` are names whose expanded values are longer than a process
    can be given, and that are not among `values`. `unresolved` being not empty means that no container could be made.
    """

    values: Mapping[str, str]
    secret: frozenset[str] = frozenset()
    skipped: tuple[str, ...] = ()
    too_long: tuple[str, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()

    def __repr__(self) -> str:
        """Names only: values may be secret."""
        return f"Environment(names={sorted(self.values)})"


def pod_environment(container: Mapping[str, Any], pod: PodFacts, sources: Sources) -> Environment:
    """The environment of `container` (a core/v1 Container) in `pod`."""
    building = _Building(container, pod, sources)
    building.add_env_from(container.get("envFrom") or ())
    building.add_env(container.get("env") or ())
    return building.result()


def service_variables(services: Sequence[ServiceAddress]) -> Iterator[tuple[str, str]]:
    """The variables that announce services (Kubernetes documentation, Service, Environment variables).

    The first port of a service is also its default one; the other variables exist for every port.
    """
    announced: set[str] = set()
    for service in services:
        prefix = service.name.upper().replace("-", "_")
        if prefix not in announced:
            announced.add(prefix)
            yield f"{prefix}_SERVICE_HOST", service.host
            yield f"{prefix}_SERVICE_PORT", str(service.port)
            yield f"{prefix}_PORT", f"tcp://{service.host}:{service.port}"
        if service.port_name:
            yield f"{prefix}_SERVICE_PORT_{service.port_name.upper().replace('-', '_')}", str(service.port)
        each = f"{prefix}_PORT_{service.port}_TCP"
        yield each, f"tcp://{service.host}:{service.port}"
        yield f"{each}_PROTO", "tcp"
        yield f"{each}_PORT", str(service.port)
        yield f"{each}_ADDR", service.host


class UnresolvedError(Exception):
    """Carries a message in the kubelet's words to the entry it is for."""


class OptionalAbsentError(Exception):
    """An optional reference leads nowhere: the entry is left out."""


class _Building:
    def __init__(self, container: Mapping[str, Any], pod: PodFacts, sources: Sources) -> None:
        self.container = container
        self.pod = pod
        self.sources = sources
        self.services = dict(service_variables(sources.services))
        self.values: dict[str, str] = {}
        self.secret: set[str] = set()
        self.skipped: list[str] = []
        self.too_long: list[str] = []
        self.unresolved: list[Unresolved] = []

    def add_env_from(self, entries: Sequence[Mapping[str, Any]]) -> None:
        for entry in entries:
            prefix = entry.get("prefix") or ""
            try:
                data, secret = self._source(entry)
            except OptionalAbsentError:
                continue
            except UnresolvedError as error:
                self.unresolved.append(Unresolved("envFrom", str(error)))
                continue
            for key, value in data.items():
                name = prefix + key
                if _NAME.fullmatch(name):
                    self._set(name, value, secret=secret)
                else:
                    self.skipped.append(name)

    def add_env(self, entries: Sequence[Mapping[str, Any]]) -> None:
        for entry in entries:
            name = entry["name"]
            try:
                value, secret = self._value(entry)
            except OptionalAbsentError:
                continue
            except UnresolvedError as error:
                self.unresolved.append(Unresolved(name, str(error)))
                continue
            except TooLongError:
                self.too_long.append(name)
                continue
            self._set(name, value, secret=secret)

    def result(self) -> Environment:
        return Environment(
            values={**self.services, **self.values},
            secret=frozenset(self.secret),
            skipped=tuple(sorted(self.skipped)),
            too_long=tuple(self.too_long),
            unresolved=tuple(self.unresolved),
        )

    def _set(self, name: str, value: str, *, secret: bool) -> None:
        self.values[name] = value
        (self.secret.add if secret else self.secret.discard)(name)

    def _source(self, entry: Mapping[str, Any]) -> tuple[Mapping[str, str], bool]:
        if (reference := entry.get("configMapRef")) is not None:
            return self._config_map(reference), False
        if (reference := entry.get("secretRef")) is not None:
            return {key: _text(value) for key, value in self._secret(reference).values.items()}, True
        return {}, False

    def _value(self, entry: Mapping[str, Any]) -> tuple[str, bool]:
        if literal := entry.get("value"):
            return expand(literal, ChainMap(self.values, self.services)), bool(references(literal) & self.secret)
        source = entry.get("valueFrom") or {}
        if (reference := source.get("fieldRef")) is not None:
            return field_value(reference, self.pod), False
        if (reference := source.get("resourceFieldRef")) is not None:
            return resource_value(reference, self.container, self.pod), False
        if (reference := source.get("configMapKeyRef")) is not None:
            return self._key(self._config_map(reference), reference, "ConfigMap"), False
        if (reference := source.get("secretKeyRef")) is not None:
            return _text(self._key(self._secret(reference).values, reference, "Secret")), True
        return "", False

    def _config_map(self, reference: Mapping[str, Any]) -> Mapping[str, str]:
        return _named(self.sources.config_maps, reference, "configmap")

    def _secret(self, reference: Mapping[str, Any]) -> SecretData:
        return _named(self.sources.secrets, reference, "secret")

    def _key(self, data: Mapping[str, Any], reference: Mapping[str, Any], kind: str) -> Any:
        key = reference["key"]
        if key in data:
            return data[key]
        if reference.get("optional"):
            raise OptionalAbsentError
        raise UnresolvedError(f"couldn't find key {key} in {kind} {self.pod.namespace}/{reference['name']}")


def _named(objects: Mapping[str, Content], reference: Mapping[str, Any], kind: str) -> Content:
    name = reference.get("name") or ""
    if name in objects:
        return objects[name]
    if reference.get("optional"):
        raise OptionalAbsentError
    raise UnresolvedError(f'{kind} "{name}" not found')


def field_value(reference: Mapping[str, Any], pod: PodFacts) -> str:
    """A `fieldRef`'s value (Kubernetes documentation, Downward API)."""
    path = reference["fieldPath"]
    fields: dict[str, Callable[[], str]] = {
        "metadata.name": lambda: pod.name,
        "metadata.namespace": lambda: pod.namespace,
        "metadata.uid": lambda: pod.uid,
        "metadata.labels": lambda: _listed(pod.labels),
        "metadata.annotations": lambda: _listed(pod.annotations),
        "spec.nodeName": lambda: pod.node,
        "spec.serviceAccountName": lambda: pod.service_account,
        "status.hostIP": lambda: pod.ip,
        "status.hostIPs": lambda: pod.ip,
        "status.podIP": lambda: pod.ip,
        "status.podIPs": lambda: pod.ip,
    }
    if path in fields:
        return fields[path]()
    if found := _SUBSCRIPT.fullmatch(path):
        return (pod.labels if found[1] == "labels" else pod.annotations).get(found[2], "")
    raise UnresolvedError(f"unsupported fieldPath: {path}")


def resource_value(reference: Mapping[str, Any], container: Mapping[str, Any], pod: PodFacts) -> str:
    """A `resourceFieldRef`'s value: in units of `divisor`, rounded up.

    A limit that is not set is the node's capacity, a request that is not set is 0, as in the kubelet.
    """
    resource, divisor = reference["resource"], reference.get("divisor") or "1"
    kind, _, name = resource.partition(".")
    quantities = (container.get("resources") or {}).get(kind) or {}
    capacity = {"limits.cpu": str(pod.cpus), "limits.memory": str(pod.memory)}
    try:
        amount = quantity(str(quantities.get(name, capacity.get(resource, "0"))))
        unit = quantity(str(divisor)) or Decimal(1)
    except ValueError as error:
        raise UnresolvedError(str(error)) from error
    return str((amount / unit).to_integral_value(rounding=ROUND_CEILING))


def _listed(pairs: Mapping[str, str]) -> str:
    return "".join(f'{key}="{value}"\n' for key, value in sorted(pairs.items())).removesuffix("\n")


def _text(value: bytes) -> str:
    # An environment holds bytes; surrogateescape brings the same ones back out when the process is started.
    return value.decode("utf-8", "surrogateescape")
