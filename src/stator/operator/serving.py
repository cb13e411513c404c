"""What a component says about itself that clients read from its status: names, Dynamo namespace, GPUs, version.

The planner finds a worker's endpoint and model, and sizes engines, by these alone. What a command line does not
plainly say is left out: a wrong name is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stator.compat import Finding
from stator.model import Component, Graph
from stator.render import RenderedComponent, names
from stator.render.backends.parallelism import option
from stator.render.resources import gpu_count

Json = dict[str, Any]

_POWER_LIMIT = "dynamo.nvidia.com/gpu-power-limit"
_MODEL_FLAGS = ("--served-model-name", "--model-name", "--model", "--model-path")
_ENDPOINT_PARTS = 3
# A status is no report: the rules say more with `stator check`.
_MOST_FINDINGS = 20


def serving(graph: Graph, component: Component, rendered: RenderedComponent, generation: str) -> Json:
    """The fields of a component's status that follow from its spec (API reference, ComponentReplicaStatus).

    `generation` is the worker hash, `""` if the component has none.
    """
    base = names.dynamo_namespace(graph, component)
    argv = _argv(rendered)
    per_pod = [(pod.count, sum(_gpus(pod.template["spec"]))) for pod in rendered.pods]
    engine = [(pod.count, _main_gpus(pod.template["spec"])) for pod in rendered.pods]
    fields: Json = {
        "runtimeNamespace": f"{base}-{generation}" if generation and component.type in names.WORKER_TYPES else base,
        "runtimeComponentName": _endpoint_component(option(argv, ("--endpoint",))),
        "servedModelName": next((name for flag in _MODEL_FLAGS if (name := _literal(option(argv, (flag,))))), ""),
        "gpuPowerLimitWatts": _power_limit(rendered),
        "gpusPerEngine": sum(count * gpus for count, gpus in engine),
        "gpusPerReplica": sum(count * gpus for count, gpus in per_pod),
    }
    return {key: value for key, value in fields.items() if value not in ("", None)}


def judged(rendered: RenderedComponent, findings: Sequence[Finding], repairs: Iterable[str]) -> Json:
    """What this operator adds to a component's status: its version, what the rules say, the repairs in force."""
    version = rendered.version
    fields: Json = {
        "version": str(version.core) if version.core else "",
        "versionSource": version.source,
        "findings": [_finding(item) for item in findings[:_MOST_FINDINGS]],
        "repairs": list(repairs),
    }
    return {key: value for key, value in fields.items() if value not in ("", [])}


def _finding(finding: Finding) -> Json:
    fields = {
        "rule": finding.rule,
        "severity": finding.severity,
        "message": finding.message,
        "remedy": finding.remedy,
    }
    return {key: value for key, value in fields.items() if value}


def _argv(rendered: RenderedComponent) -> tuple[str, ...]:
    """The arguments of the first Dynamo process of the main container."""
    invocations = rendered.facts.command_line.invocations if rendered.facts else ()
    return next((found.argv for found in invocations if found.module.partition(".")[0] == "dynamo"), ())


def _literal(value: str | None) -> str:
    return value if value and "$" not in value and "`" not in value else ""


def _endpoint_component(endpoint: str | None) -> str:
    """The component in `dyn://namespace.component.endpoint`."""
    parts = _literal(endpoint).removeprefix("dyn://").split(".")
    return parts[1] if len(parts) == _ENDPOINT_PARTS else ""


def _gpus(spec: Json) -> Iterable[int]:
    return (gpu_count(container.get("resources") or {}) for container in spec.get("containers") or ())


def _main_gpus(spec: Json) -> int:
    return next(iter(_gpus(spec)), 0)


def _power_limit(rendered: RenderedComponent) -> int | None:
    for pod in rendered.pods:
        text = (pod.template["metadata"].get("annotations") or {}).get(_POWER_LIMIT, "")
        if text.isdecimal() and int(text):
            return int(text)
    return None
