"""Fields of a graph that no API knows. They survive loading, but an API server drops them without a word.

Our own kinds are known completely, so every other field counts. Pods are Kubernetes' own and grow with its releases,
so there only a field that looks like a misspelt one counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from stator.model.documents import Document, Path
from stator.model.schema import properties

# core/v1 Container and PodSpec, Kubernetes 1.34.
_CONTAINER = frozenset(
    [
        "args",
        "command",
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "lifecycle",
        "livenessProbe",
        "name",
        "ports",
        "readinessProbe",
        "resizePolicy",
        "resources",
        "restartPolicy",
        "restartPolicyRules",
        "securityContext",
        "startupProbe",
        "stdin",
        "stdinOnce",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "tty",
        "volumeDevices",
        "volumeMounts",
        "workingDir",
    ]
)
_POD = frozenset(
    [
        "activeDeadlineSeconds",
        "affinity",
        "automountServiceAccountToken",
        "containers",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "ephemeralContainers",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "hostname",
        "hostnameOverride",
        "imagePullSecrets",
        "initContainers",
        "nodeName",
        "nodeSelector",
        "os",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "readinessGates",
        "resourceClaims",
        "resources",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
    ]
)
# v1alpha1 puts its main container into an inline PodSpec.
_ALPHA_POD = _POD | {"mainContainer"}


class UnknownField(msgspec.Struct, frozen=True):
    """A field nobody knows: its path in the submitted document, and the known field it resembles (or `""`)."""

    path: Path
    meant: str


def unknown_fields(document: Document, *, pods: bool = True) -> tuple[UnknownField, ...]:
    """The unknown fields of a graph's document, in the order of the file's structure; `pods` off leaves theirs out."""
    return tuple(_unknown(document.value, pods=pods))


def _unknown(value: Mapping[str, Any], *, pods: bool) -> Iterator[UnknownField]:
    version, kind, spec = value["apiVersion"].rpartition("/")[2], value["kind"], value["spec"]
    part = "Component" if version == "v1beta1" else "Service"
    yield from _among(spec, properties(version, kind), ("spec",))
    if kind == "DynamoComponentDeployment":
        yield from _pods(spec, ("spec",)) if pods else ()
        return
    parts = spec.get("components") or spec.get("services") or ()
    for key, item in parts.items() if isinstance(parts, Mapping) else enumerate(parts):
        path: Path = ("spec", "components" if version == "v1beta1" else "services", key)
        yield from _among(item, properties(version, part), path)
        yield from _pods(item, path) if pods else ()


def _pods(component: Any, path: Path) -> Iterator[UnknownField]:
    """Misspelt fields of a component's pod template, in either API version."""
    if not isinstance(component, Mapping):
        return
    template = component.get("podTemplate") or {}
    pods = [(template.get("spec"), (*path, "podTemplate", "spec"), _POD)]
    pods.append((component.get("extraPodSpec"), (*path, "extraPodSpec"), _ALPHA_POD))
    for spec, where, known in pods:
        if not isinstance(spec, Mapping):
            continue
        yield from _among(spec, known, where, misspelt=True)
        yield from _among(spec.get("mainContainer"), _CONTAINER, (*where, "mainContainer"), misspelt=True)
        for kind in ("initContainers", "containers"):
            for index, container in enumerate(spec.get(kind) or ()):
                yield from _among(container, _CONTAINER, (*where, kind, index), misspelt=True)


def _among(value: Any, known: Collection[str], path: Path, *, misspelt: bool = False) -> Iterator[UnknownField]:
    """The fields of `value` that are not `known`; with `misspelt` only those that resemble one that is."""
    for field in value if isinstance(value, Mapping) else ():
        if field in known:
            continue
        meant = next(iter(get_close_matches(field, known, n=1, cutoff=0.8)), "")
        if meant or not misspelt:
            yield UnknownField((*path, field), meant)
