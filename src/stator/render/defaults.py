"""What a component's type gives its main container and pod, before the user's template is laid over it.

One function per type, from the upstream operator's defaults. There are no default resources, no image pull policy
and no container security context. Probe fields that are not listed are left to Kubernetes' own defaults.

Most of it depends on no name in the graph, only on the type and the two releases (`Kind`). That is made once for each
such kind, and every rendering lays its own names around it; so nobody changes a `Defaults`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from stator.model.commandline import read_command_line
from stator.render import gates, names
from stator.render.context import Context
from stator.render.environment import Entry
from stator.render.kind import DefaultProbe, Kind
from stator.render.probes import http

Json = dict[str, Any]

SHELL = ("/bin/sh", "-c")

_GRACE_SECONDS = 60
_EPP_GRACE_SECONDS = 130
_EPP_CACHE = "hf-cache"
_EPP_CONFIG = "epp-config"
_EPP_CONFIG_PATH = "/etc/epp"
# Types by releases: a cluster has a few dozen kinds.
_KINDS = 256


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """A type's defaults. `grace` is in seconds, `probes` are by container field."""

    command: tuple[str, ...] = SHELL
    args: tuple[str, ...] = ()
    env: tuple[Entry, ...] = ()
    ports: tuple[Json, ...] = ()
    probes: dict[str, DefaultProbe] = {}
    mounts: tuple[Json, ...] = ()
    volumes: tuple[Json, ...] = ()
    grace: int = _GRACE_SECONDS


def command_of(component_type: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Default command and args of a type."""
    if component_type == "frontend":
        return ("python3",), ("-m", "dynamo.frontend")
    if component_type == "epp":
        return (), ()
    return SHELL, ()


def args_behind(user: Mapping[str, Any], args: tuple[str, ...]) -> tuple[str, ...]:
    """The default args of a container: none where they start a module and its own command runs Dynamo by itself.

    Dynamo exits at arguments that it does not know (`Unknown arguments specified: ['-m', 'dynamo.frontend']`, seen
    with 1.6.1).
    """
    if args[:1] != ("-m",) or not user.get("command"):
        return args
    runs = read_command_line(user["command"], ()).invocations
    return () if any(run.module.startswith("dynamo.") and not run.in_shell for run in runs) else args


def defaults_of(context: Context) -> Defaults:
    """The defaults of the component's type; a type nobody knows gets the base ones."""
    if context.runs_native_engine:
        # The engine is the user's own; Dynamo runs beside it.
        return Defaults(command=())
    kind = _kind(context)
    if context.is_worker:
        return _named(context, kind, _worker(kind), _generation(context, kind))
    if context.type == "frontend":
        return _named(context, kind, _frontend(kind), _namespace_prefix(context, kind))
    if context.type == "planner":
        return _named(context, kind, _planner(kind))
    if context.type == "epp":
        return _named(context, kind, _epp(context, kind))
    return _named(context, kind, Defaults())


def runtime_defaults(context: Context) -> Defaults:
    """The container that runs Dynamo beside a native engine."""
    kind = _kind(context)
    return _named(context, kind, _runtime(kind), _generation(context, kind))


def _kind(context: Context) -> Kind:
    return Kind(context.type, context.version.core, context.options.operator)


def _named(context: Context, kind: Kind, defaults: Defaults, last: tuple[Entry, ...] = ()) -> Defaults:
    """Defaults with the variables around them that hold names of the graph."""
    return msgspec.structs.replace(defaults, env=(*_base_env(context, kind), *defaults.env, *last))


@lru_cache(_KINDS)
def _frontend(kind: Kind) -> Defaults:
    command, args = command_of("frontend")
    probes = {
        "livenessProbe": kind.probe(http("/live", "http", delay=15, period=10, timeout=1, failures=3)),
        "readinessProbe": kind.probe(http("/health", "http", delay=10, period=10, timeout=3, failures=3)),
    }
    if kind.has(gates.FRONTEND_STARTUP_PROBE):
        started = http("/live", "http", period=10, timeout=1, failures=30)
        probes["startupProbe"] = kind.probe(started, kind.why(gates.FRONTEND_STARTUP_PROBE))
    return Defaults(
        command=command,
        args=args,
        env=(kind.literal("DYNAMO_PORT", "8000"), kind.literal("DYN_HTTP_PORT", "8000")),
        ports=(_port("http", 8000),),
        probes=probes,
    )


@lru_cache(_KINDS)
def _worker(kind: Kind) -> Defaults:
    canary = "true" if kind.has(gates.CANARY_HEALTH_CHECKS) else "false"
    failures = 3 if kind.has(gates.WORKER_FAILURE_THRESHOLD) else 1
    return Defaults(
        env=(
            kind.literal("DYN_SYSTEM_ENABLED", "true"),
            kind.literal("DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", '["generate"]'),
            kind.literal("DYN_SYSTEM_PORT", "9090"),
            kind.literal("DYN_HEALTH_CHECK_ENABLED", canary, kind.why(gates.CANARY_HEALTH_CHECKS)),
            kind.literal("NIXL_TELEMETRY_ENABLE", "n"),
            kind.literal("NIXL_TELEMETRY_EXPORTER", "prometheus"),
            kind.literal("NIXL_TELEMETRY_PROMETHEUS_PORT", "19090"),
            kind.literal("DYN_FORWARDPASS_METRIC_PORT", "20380"),
        ),
        ports=(_port("system", 9090), _port("nixl", 19090)),
        probes={
            "startupProbe": kind.probe(http("/live", "system", period=10, timeout=5, failures=720)),
            "livenessProbe": kind.probe(
                http("/live", "system", period=5, timeout=4, failures=failures),
                kind.why(gates.WORKER_FAILURE_THRESHOLD),
            ),
            "readinessProbe": kind.probe(http("/health", "system", period=10, timeout=4, failures=3)),
        },
    )


@lru_cache(_KINDS)
def _runtime(kind: Kind) -> Defaults:
    return Defaults(
        command=(),
        env=(kind.literal("DYN_SYSTEM_ENABLED", "true"), kind.literal("DYN_SYSTEM_PORT", "9090")),
        ports=(_port("system", 9090),),
        probes={
            "startupProbe": kind.probe(http("/live", "system", period=2, timeout=1, failures=30)),
            "livenessProbe": kind.probe(http("/live", "system", period=5, timeout=4, failures=3)),
            "readinessProbe": kind.probe(http("/health", "system", period=5, timeout=4, failures=3)),
        },
    )


@lru_cache(_KINDS)
def _planner(kind: Kind) -> Defaults:
    return Defaults(
        env=(kind.literal("PLANNER_PROMETHEUS_PORT", "9085"), kind.literal("DYN_SYSTEM_PORT", "9090")),
        ports=(_port("metrics", 9085), _port("system", 9090)),
        probes={
            "startupProbe": kind.probe(http("/live", "system", period=10, timeout=5, failures=720)),
            "livenessProbe": kind.probe(http("/live", "system", period=5, timeout=4, failures=1)),
            "readinessProbe": kind.probe(http("/health", "system", period=10, timeout=4, failures=3)),
        },
    )


def _epp(context: Context, kind: Kind) -> Defaults:
    """The endpoint picker; without `eppConfig` it is the native one, which keeps a model cache."""
    config: Mapping[str, Any] | None = context.component.other.get("eppConfig")
    native = config is None
    env = [
        kind.literal("USE_STREAMING", "true"),
        kind.literal("RUST_LOG", "info"),
        kind.literal("DYN_ENFORCE_DISAGG", "false"),
        *_namespace_prefix(context, kind, strict=native),
    ]
    if native:
        env.append(kind.literal("HOME", "/home/dynamo"))
    health = {"service": "inference-extension", "port": 9003}
    check = kind.probe({"grpc": health, "initialDelaySeconds": 5, "periodSeconds": 10})
    mount, volume = ({"name": _EPP_CACHE, "mountPath": "/home/dynamo/.cache"}, {"name": _EPP_CACHE, "emptyDir": {}})
    args: tuple[str, ...] = ()
    if config is not None:
        mount, volume, args = _picker_config(context, config)
    return Defaults(
        command=(),
        args=args,
        env=tuple(env),
        ports=(_port("grpc", 9002), _port("grpc-health", 9003), _port("metrics", 9090)),
        probes={
            "startupProbe": kind.probe({"grpc": health, "periodSeconds": 10, "failureThreshold": 180}),
            "livenessProbe": check,
            "readinessProbe": check,
        },
        mounts=(mount,),
        volumes=(volume,),
        grace=_EPP_GRACE_SECONDS,
    )


def _picker_config(context: Context, config: Mapping[str, Any]) -> tuple[Json, Json, tuple[str, ...]]:
    """The older picker's configuration: mount, volume, and the arguments that lead to it and to the pool."""
    reference = config.get("configMapRef") or {}
    key = reference.get("key") or names.PICKER_CONFIG_KEY
    source: Json = {"name": reference.get("name") or names.picker_config_name(context.parent)}
    if reference.get("optional"):
        source["optional"] = True
    args = (
        *("--pool-name", names.pool_name(context.parent), "--pool-namespace", context.graph.namespace),
        *("--pool-group", names.POOL_GROUP, "-v", "4", "--zap-encoder", "json"),
        *("--grpc-port", "9002", "--grpc-health-port", "9003", "--config-file", f"{_EPP_CONFIG_PATH}/{key}"),
    )
    mount = {"name": _EPP_CONFIG, "mountPath": _EPP_CONFIG_PATH, "readOnly": True}
    return mount, {"name": _EPP_CONFIG, "configMap": source}, args


def _base_env(context: Context, kind: Kind) -> tuple[Entry, ...]:
    """What every main container gets: who it is, where it runs, how it finds the others."""
    component, *place, discovery = _same_everywhere(kind)
    entries = [
        kind.literal("DYN_NAMESPACE", context.dynamo_namespace),
        component,
        kind.literal("DYN_PARENT_DGD_K8S_NAME", context.parent),
        kind.literal("DYN_PARENT_DGD_K8S_NAMESPACE", context.graph.namespace),
        *place,
    ]
    if context.discovery != "etcd":
        entries.append(discovery)
        if context.annotations.get(names.DISCOVERY_MODE) == "container":
            entries.append(kind.literal("CONTAINER_NAME", context.container))
            entries.append(kind.literal("DYN_KUBE_DISCOVERY_MODE", "container"))
    return tuple(entries)


@lru_cache(_KINDS)
def _same_everywhere(kind: Kind) -> tuple[Entry, ...]:
    """The variables of a kind that need no name: its type, the pod's own three, the discovery backend."""
    return (
        kind.literal("DYN_COMPONENT", kind.type),
        kind.field("POD_NAME", "metadata.name"),
        kind.field("POD_NAMESPACE", "metadata.namespace"),
        kind.field("POD_UID", "metadata.uid"),
        kind.literal("DYN_DISCOVERY_BACKEND", "kubernetes"),
    )


def _generation(context: Context, kind: Kind) -> tuple[Entry, ...]:
    if not context.generation:
        return ()
    return (kind.literal("DYN_NAMESPACE_WORKER_SUFFIX", context.generation, "worker hash"),)


def _namespace_prefix(context: Context, kind: Kind, *, strict: bool = True) -> tuple[Entry, ...]:
    """Which Dynamo namespaces to look in: every worker generation's is the base, `-`, and its hash."""
    prefix = kind.literal("DYN_NAMESPACE_PREFIX", context.dynamo_namespace)
    return (prefix, *(_strictness(kind) if strict else ()))


@lru_cache(_KINDS)
def _strictness(kind: Kind) -> tuple[Entry, ...]:
    gate = gates.STRICT_NAMESPACE_PREFIX
    return (kind.literal("DYN_NAMESPACE_PREFIX_STRICT", "true", kind.why(gate)),) if kind.has(gate) else ()


def _port(name: str, number: int) -> Json:
    return {"name": name, "containerPort": number, "protocol": "TCP"}
