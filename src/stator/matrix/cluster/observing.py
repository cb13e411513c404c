"""What is seen of a cell's pods, from their objects: Ready or why not, in the kubelet's own words, and since when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from stator.matrix.results import Moment, PodTimeline
from stator.render.names import COMPONENT

Json = dict[str, Any]

# A container that waits for one of these is on its way (k8s.io/kubernetes, pkg/kubelet/kubelet_pods.go).
_ON_ITS_WAY = frozenset({"", "ContainerCreating", "PodInitializing"})
_LONGEST_MESSAGE = 300


class PodView(msgspec.Struct, frozen=True, kw_only=True):
    """One pod now. `reason` is empty for a Ready one, else the most specific word for why it is not.

    That is the waiting reason of a container (`ImagePullBackOff`, `CrashLoopBackOff`, ...), or `Unschedulable`, `Init`,
    `Starting`, `Probe` (runs, and its readiness probe fails), `Canary` (and its own health check is rejected:
    `rejection` has the words), `Error`, `Terminating`. `since` is in seconds since the graph was applied.
    """

    name: str
    component: str
    ready: bool
    reason: str
    message: str = ""
    restarts: int = 0
    rejection: str = ""
    since: float = 0


def view(pod: Json, rejection: str = "") -> PodView:
    """What a pod's object says; `rejection` is what the runtime's log says of its own health check, if it does."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    conditions = {item["type"]: item for item in status.get("conditions") or ()}
    ready = conditions.get("Ready", {}).get("status") == "True" and not metadata.get("deletionTimestamp")
    reason, message = ("", "") if ready else _why(pod, conditions, containers, rejection)
    return PodView(
        name=metadata["name"],
        component=(metadata.get("labels") or {}).get(COMPONENT, ""),
        ready=ready,
        reason=reason,
        message=" ".join(message.split())[:_LONGEST_MESSAGE],
        restarts=sum(int(item.get("restartCount") or 0) for item in containers),
        rejection="" if ready else rejection,
    )


def _why(pod: Json, conditions: Mapping[str, Json], containers: list[Json], rejection: str) -> tuple[str, str]:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating", ""
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        return str(scheduled.get("reason") or "Unschedulable"), str(scheduled.get("message") or "")
    if said := next(_stopped(containers), None):
        return said
    if rejection:
        return "Canary", f"the runtime's own health check fails: {rejection}"
    if (pod.get("status") or {}).get("phase") != "Running":
        return ("Init" if conditions.get("Initialized", {}).get("status") == "False" else "Starting"), ""
    ready = conditions.get("Ready", {})
    return "Probe", str(ready.get("message") or "its containers run and are not Ready")


def _stopped(containers: list[Json]) -> Iterator[tuple[str, str]]:
    """Reason and message of each container that waits for something special, or that ended with an error."""
    for item in containers:
        state = item.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        if (reason := str(waiting.get("reason") or "")) not in _ON_ITS_WAY:
            yield reason, f"container {item.get('name')}: {waiting.get('message') or reason}"
        elif ended.get("exitCode"):
            yield "Error", f"container {item.get('name')} ended with exit code {ended['exitCode']}"


class Timelines:
    """Every pod that was ever seen of a cell, with the moments at which its readiness changed."""

    def __init__(self, versions: Mapping[str, str]) -> None:
        self._versions = versions
        self._seen: dict[str, PodView] = {}
        self._moments: dict[str, list[Moment]] = {}

    def saw(self, views: list[PodView], after: float) -> list[PodView]:
        """Note what is seen now, `after` seconds; the same views, each with the time since which it is so."""
        known = {each.name: each for each in views}
        for name, old in self._seen.items():
            if name not in known and old.reason != "Gone":
                known[name] = msgspec.structs.replace(old, ready=False, reason="Gone", message="")
        for name, new in known.items():
            moments = self._moments.setdefault(name, [])
            if not moments or (moments[-1].ready, moments[-1].reason) != (new.ready, new.reason):
                moments.append(Moment(after=round(after, 2), ready=new.ready, reason=new.reason))
            self._seen[name] = msgspec.structs.replace(new, since=moments[-1].after)
        return [self._seen[each.name] for each in views]

    def told(self) -> tuple[PodTimeline, ...]:
        """All of it, for a report."""
        return tuple(
            PodTimeline(
                name=name,
                component=seen.component,
                version=self._versions.get(seen.component, ""),
                restarts=seen.restarts,
                transitions=tuple(self._moments[name]),
                message=seen.message,
            )
            for name, seen in sorted(self._seen.items())
        )
