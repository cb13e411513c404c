"""What a pod can ask for and one machine cannot give: named, never dropped in silence.

Everything a pod or container says is either acted on by planning or listed here as ignored, with the reason; a
field nobody has thought of gets the general one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stator.local.planning.notes import Notes

_GENERAL = "has no counterpart on one machine"

_POD_ACTED_ON = frozenset(
    {"containers", "initContainers", "volumes", "terminationGracePeriodSeconds", "enableServiceLinks"},
)
_POD_REASONS = {
    "nodeSelector": "there is one machine",
    "tolerations": "there is one machine",
    "affinity": "there is one machine",
    "topologySpreadConstraints": "there is one machine",
    "securityContext": "processes run as you",
    "serviceAccountName": "there is no Kubernetes API here",
    "imagePullSecrets": "no image is pulled",
    "restartPolicy": "a Deployment's pods are always restarted",
}

_CONTAINER_ACTED_ON = frozenset(
    {
        "name", "image", "command", "args", "env", "envFrom", "ports", "volumeMounts",
        "startupProbe", "livenessProbe", "readinessProbe",
    },
)  # fmt: skip
_CONTAINER_REASONS = {
    "resources": "limits are not enforced here",
    "securityContext": "processes run as you",
    "imagePullPolicy": "no image is pulled",
    "lifecycle": "hooks are not run here",
    "workingDir": "a process starts in its pod's own directory",
    "restartPolicy": "the container is started together with the others",
}

_OBJECT_REASON = "there is no Kubernetes API here"
_OBJECTS_ACTED_ON = frozenset({"Deployment", "Service", "ConfigMap"})


def note_pod(notes: Notes, component: str, spec: Mapping[str, Any]) -> None:
    """List what a pod's spec asks for in vain."""
    for field in sorted(spec.keys() - _POD_ACTED_ON):
        if field == "restartPolicy" and spec[field] == "Always":
            continue
        if spec[field] not in (None, {}, [], ""):
            notes.ignore(component, field, _POD_REASONS.get(field, _GENERAL))


def note_container(notes: Notes, component: str, container: Mapping[str, Any]) -> None:
    """List what a container asks for in vain; GPUs by their own name."""
    name = container["name"]
    for field in sorted(container.keys() - _CONTAINER_ACTED_ON):
        if container[field] in (None, {}, [], ""):
            continue
        what = f"container {name}: {field}"
        if field == "lifecycle":
            what = f"container {name}: {', '.join(sorted(container[field]))} hook"
        notes.ignore(component, what, _CONTAINER_REASONS.get(field, _GENERAL))
    resources = container.get("resources") or {}
    asked = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
    for resource, amount in sorted(asked.items()):
        if "/" in resource:
            notes.ignore(
                component, f"container {name}: {amount} {resource}", "this machine's devices are not handed out"
            )


def note_objects(notes: Notes, objects: tuple[Mapping[str, Any], ...]) -> None:
    """List the kinds of objects that are only meaningful to a cluster."""
    for item in objects:
        if item["kind"] not in _OBJECTS_ACTED_ON:
            notes.ignore("", f"{item['kind']} {item['metadata']['name']}", _OBJECT_REASON)
