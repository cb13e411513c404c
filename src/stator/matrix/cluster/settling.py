"""When is a start in a cluster decided, and by what? A pure judgement of the graph's status and its pods over time.

What keeps a pod from running at all (its image, its node, its volumes) says nothing about the releases: such a cell
gives no evidence. Only a process that ran and did not become Ready has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from stator.matrix.cluster.observing import PodView
from stator.matrix.running.settling import CANARY_PATIENCE

Json = dict[str, Any]

Settled = Literal["ready", "canary", "failed", "not run", "no operator", ""]

# How long nobody may look at a new graph: an election of a leader takes less.
OPERATOR_PATIENCE = 60.0
# A registry that does not answer once may answer the next time; a kubelet backs off and asks again.
PULL_PATIENCE = 30.0
# What an operator says it cannot make may be a conflict that it gets over.
TROUBLE_PATIENCE = 10.0

# Waiting reasons of a container that has not run (k8s.io/kubernetes: pkg/kubelet/images/types.go, and
# pkg/kubelet/kuberuntime/kuberuntime_container.go).
_HOPELESS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_NOT_RUN = frozenset(
    {
        *_HOPELESS,
        "ErrImagePull",
        "ImagePullBackOff",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
        "CreateContainerConfigError",
        "CreateContainerError",
        "CreatePodSandboxError",
        "RunContainerError",
    }
)


class Settlement(msgspec.Struct, frozen=True):
    """`state` is empty while waiting goes on. `why` names every pod that is not Ready."""

    state: Settled
    why: str = ""


def settle(graph: Json, pods: Sequence[PodView], *, waited: float, timeout: float) -> Settlement:
    """What to make of a graph and its pods `waited` seconds after it was applied."""
    ready = ready_condition(graph)
    if ready.get("status") == "True":
        return Settlement("ready")
    if not ready and waited >= OPERATOR_PATIENCE:
        return Settlement("no operator", f"nothing wrote a status in {OPERATOR_PATIENCE:g} s")
    said = str(ready.get("message") or ready.get("reason") or "it has no status yet")
    if (graph.get("status") or {}).get("state") == "failed" and ready and waited >= TROUBLE_PATIENCE and not pods:
        return Settlement("not run", f"the operator cannot make it: {said}")
    return _of_pods(pods, said, waited=waited, timeout=timeout)


def _of_pods(pods: Sequence[PodView], said: str, *, waited: float, timeout: float) -> Settlement:
    late = [pod for pod in pods if not pod.ready]
    why = "; ".join(f"{pod.name}: {pod.reason}{f': {pod.message}' if pod.message else ''}" for pod in late)
    stuck = [pod for pod in late if pod.reason in _NOT_RUN]
    if any(pod.reason in _HOPELESS or waited - pod.since >= PULL_PATIENCE for pod in stuck):
        return Settlement("not run", why)
    if any(pod.reason == "CrashLoopBackOff" and pod.restarts for pod in late):
        return Settlement("failed", why)
    if late and all(pod.reason == "Canary" and waited - pod.since >= CANARY_PATIENCE for pod in late):
        return Settlement("canary", why)
    if waited < timeout:
        return Settlement("")
    ran = late and all(pod.reason in {"Probe", "Canary", "Error", "CrashLoopBackOff"} for pod in late)
    return Settlement("failed" if ran else "not run", f"not Ready after {timeout:g} s: {why or said}")


def ready_condition(graph: Json) -> Json:
    """The graph's Ready condition, empty if there is none for its newest generation."""
    status = graph.get("status") or {}
    if int(status.get("observedGeneration") or 0) < int(graph["metadata"].get("generation") or 0):
        return {}
    return next((item for item in status.get("conditions") or () if item.get("type") == "Ready"), {})


def repairs_in_force(graph: Json) -> frozenset[str] | None:
    """The rules whose repairs stand in the graph's pods, None as long as some component has no status."""
    status = graph.get("status") or {}
    parts = status.get("components") or {}
    names = {item["name"] for item in graph["spec"]["components"]}
    if not ready_condition(graph) or not names <= parts.keys():
        return None
    return frozenset(rule for part in parts.values() for rule in part.get("repairs") or ())
