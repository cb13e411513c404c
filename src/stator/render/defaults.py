"""What a component's type gives its main container and pod, before the user's template is laid over it.

One function per type, from the upstream operator's defaults. There are no default resources, no image pull policy
and no container security context. Probe fields that are not listed are left to Kubernetes' own defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stator.model.commandline import read_command_line
from stator.render import gates, names
from stator.render.context import Context
from stator.render.environment import Entry, shown
from stator.render.manifest import Setter

Json = dict[str, Any]

SHELL = ("/bin/sh", "-c")
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")

_GRACE_SECONDS = 60
_EPP_GRACE_SECONDS = 130
_EPP_CACHE = "hf-cache"
_EPP_CONFIG = "epp-config"
_EPP_CONFIG_PATH = "/etc/epp"


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """A type's defaults. `grace` is in seconds; `probes` maps a container field to `(probe, why)`."""

    command: tuple[str, ...] = SHELL
    args: tuple[str, ...] = ()
    env: tuple[Entry, ...] = ()
    ports: tuple[Json, ...] = ()
    probes: dict[str, tuple[Json, str]] = {}
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
    if context.is_worker:
        return _worker(context)
    special = {"frontend": _frontend, "planner": _planner, "epp": _epp}.get(context.type)
    return special(context) if special else Defaults(env=_base_env(context))


def _frontend(context: Context) -> Defaults:
    command, args = command_of("frontend")
    probes = {
        "livenessProbe": (_http("/live", "http", delay=15, period=10, timeout=1, failures=3), ""),
        "readinessProbe": (_http("/health", "http", delay=10, period=10, timeout=3, failures=3), ""),
    }
    if context.gate(gates.FRONTEND_STARTUP_PROBE):
        probes["startupProbe"] = (
            _http("/live", "http", period=10, timeout=1, failures=30),
            context.why(gates.FRONTEND_STARTUP_PROBE),
        )
    return Defaults(
        command=command,
        args=args,
        env=(
            *_base_env(context),
            _literal(context, "DYNAMO_PORT", "8000"),
            _literal(context, "DYN_HTTP_PORT", "8000"),
            *_namespace_prefix(context),
        ),
        ports=(_port("http", 8000),),
        probes=probes,
    )


def _worker(context: Context) -> Defaults:
    canary = "true" if context.gate(gates.CANARY_HEALTH_CHECKS) else "false"
    failures = 3 if context.gate(gates.WORKER_FAILURE_THRESHOLD) else 1
    env = [
        *_base_env(context),
        _literal(context, "DYN_SYSTEM_ENABLED", "true"),
        _literal(context, "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", '["generate"]'),
        _literal(context, "DYN_SYSTEM_PORT", "9090"),
        _literal(context, "DYN_HEALTH_CHECK_ENABLED", canary, context.why(gates.CANARY_HEALTH_CHECKS)),
        _literal(context, "NIXL_TELEMETRY_ENABLE", "n"),
        _literal(context, "NIXL_TELEMETRY_EXPORTER", "prometheus"),
        _literal(context, "NIXL_TELEMETRY_PROMETHEUS_PORT", "19090"),
        _literal(context, "DYN_FORWARDPASS_METRIC_PORT", "20380"),
    ]
    if context.generation:
        env.append(_literal(context, "DYN_NAMESPACE_WORKER_SUFFIX", context.generation, "worker hash"))
    return Defaults(
        env=tuple(env),
        ports=(_port("system", 9090), _port("nixl", 19090)),
        probes={
            "startupProbe": (_http("/live", "system", period=10, timeout=5, failures=720), ""),
            "livenessProbe": (
                _http("/live", "system", period=5, timeout=4, failures=failures),
                context.why(gates.WORKER_FAILURE_THRESHOLD),
            ),
            "readinessProbe": (_http("/health", "system", period=10, timeout=4, failures=3), ""),
        },
    )


def runtime_defaults(context: Context) -> Defaults:
    """The container that runs Dynamo beside a native engine."""
    env = [
        *_base_env(context),
        _literal(context, "DYN_SYSTEM_ENABLED", "true"),
        _literal(context, "DYN_SYSTEM_PORT", "9090"),
    ]
    if context.generation:
        env.append(_literal(context, "DYN_NAMESPACE_WORKER_SUFFIX", context.generation, "worker hash"))
    return Defaults(
        command=(),
        env=tuple(env),
        ports=(_port("system", 9090),),
        probes={
            "startupProbe": (_http("/live", "system", period=2, timeout=1, failures=30), ""),
            "livenessProbe": (_http("/live", "system", period=5, timeout=4, failures=3), ""),
            "readinessProbe": (_http("/health", "system", period=5, timeout=4, failures=3), ""),
        },
    )


def _planner(context: Context) -> Defaults:
    return Defaults(
        env=(
            *_base_env(context),
            _literal(context, "PLANNER_PROMETHEUS_PORT", "9085"),
            _literal(context, "DYN_SYSTEM_PORT", "9090"),
        ),
        ports=(_port("metrics", 9085), _port("system", 9090)),
        probes={
            "startupProbe": (_http("/live", "system", period=10, timeout=5, failures=720), ""),
            "livenessProbe": (_http("/live", "system", period=5, timeout=4, failures=1), ""),
            "readinessProbe": (_http("/health", "system", period=10, timeout=4, failures=3), ""),
        },
    )


def _epp(context: Context) -> Defaults:
    """The endpoint picker; without `eppConfig` it is the native one, which keeps a model cache."""
    config: Mapping[str, Any] | None = context.component.other.get("eppConfig")
    native = config is None
    env = [
        *_base_env(context),
        _literal(context, "USE_STREAMING", "true"),
        _literal(context, "RUST_LOG", "info"),
        _literal(context, "DYN_ENFORCE_DISAGG", "false"),
        *_namespace_prefix(context, strict=native),
    ]
    if native:
        env.append(_literal(context, "HOME", "/home/dynamo"))
    health = {"service": "inference-extension", "port": 9003}
    check = {"grpc": health, "initialDelaySeconds": 5, "periodSeconds": 10}
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
            "startupProbe": ({"grpc": {**health}, "periodSeconds": 10, "failureThreshold": 180}, ""),
            "livenessProbe": (check, ""),
            "readinessProbe": ({**check, "grpc": {**health}}, ""),
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


def _base_env(context: Context) -> tuple[Entry, ...]:
    """What every main container gets: who it is, where it runs, how it finds the others."""
    entries = [
        _literal(context, "DYN_NAMESPACE", context.dynamo_namespace),
        _literal(context, "DYN_COMPONENT", context.type),
        _literal(context, "DYN_PARENT_DGD_K8S_NAME", context.parent),
        _literal(context, "DYN_PARENT_DGD_K8S_NAMESPACE", context.graph.namespace),
        _field(context, "POD_NAME", "metadata.name"),
        _field(context, "POD_NAMESPACE", "metadata.namespace"),
        _field(context, "POD_UID", "metadata.uid"),
    ]
    if context.discovery != "etcd":
        entries.append(_literal(context, "DYN_DISCOVERY_BACKEND", "kubernetes"))
        if context.annotations.get(names.DISCOVERY_MODE) == "container":
            entries.append(_literal(context, "CONTAINER_NAME", context.container))
            entries.append(_literal(context, "DYN_KUBE_DISCOVERY_MODE", "container"))
    return tuple(entries)


def _namespace_prefix(context: Context, *, strict: bool = True) -> tuple[Entry, ...]:
    """Which Dynamo namespaces to look in: every worker generation's is the base, `-`, and its hash."""
    prefix = _literal(context, "DYN_NAMESPACE_PREFIX", context.dynamo_namespace)
    if not (strict and context.gate(gates.STRICT_NAMESPACE_PREFIX)):
        return (prefix,)
    why = context.why(gates.STRICT_NAMESPACE_PREFIX)
    return (prefix, _literal(context, "DYN_NAMESPACE_PREFIX_STRICT", "true", why))


def detail(context: Context, why: str = "") -> str:
    """`worker default, runtime 1.5.1 >= 1.5.0`: a type default in the words of provenance."""
    words = f"{context.type or 'base'} default"
    return f"{words}, {why}" if why else words


def _literal(context: Context, name: str, value: str, why: str = "") -> Entry:
    return Entry({"name": name, "value": value}, Setter("type-default", detail(context, why), None, value))


def _field(context: Context, name: str, path: str) -> Entry:
    body = {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
    return Entry(body, Setter("type-default", detail(context), None, shown(body)))


def _port(name: str, number: int) -> Json:
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def _http(path: str, port: str, *, period: int, timeout: int, failures: int, delay: int = 0) -> Json:
    """An HTTP GET probe; times in seconds, `port` is a port's name."""
    probe: Json = {"httpGet": {"path": path, "port": port}}
    if delay:
        probe["initialDelaySeconds"] = delay
    return {**probe, "periodSeconds": period, "timeoutSeconds": timeout, "failureThreshold": failures}
