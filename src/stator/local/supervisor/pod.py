"""One pod: its init containers one after the other, then its containers side by side."""

from __future__ import annotations

import asyncio

from stator.local.plan import PodPlan
from stator.local.state import PodStatus, Transition
from stator.local.supervisor.container import ContainerRunner, Surroundings
from stator.local.supervisor.reasons import explain

# Enough to see a pod flapping; the status must not grow without bound.
_KEPT_TRANSITIONS = 50


class PodRunner:
    """Runs one pod."""

    def __init__(self, plan: PodPlan, surroundings: Surroundings) -> None:
        self.plan = plan
        self._stopping = False
        self._init = [
            ContainerRunner(container, _log_name(plan, container.name), plan.grace, surroundings)
            for container in plan.init_containers
        ]
        self._containers = [
            ContainerRunner(container, _log_name(plan, container.name), plan.grace, surroundings)
            for container in plan.containers
        ]
        self._transitions: tuple[Transition, ...] = ()

    async def run(self) -> None:
        """Run until stopped; returns when no process of the pod is left."""
        for container in self._init:
            await container.run(to_completion=True)
        await asyncio.gather(*(container.run() for container in self._containers))

    def stop(self) -> None:
        """Ask every container to end, all at once and within the pod's grace."""
        self._stopping = True
        for container in (*self._init, *self._containers):
            container.stop()

    def status(self, *, after: float, at: float) -> PodStatus:
        """The pod's status now: `after` seconds from the supervisor's start, at Unix time `at`."""
        init = [container.status for container in self._init]
        running = [container.status for container in self._containers]
        verdict = explain(self.plan, init, running, stopping=self._stopping)
        ready = verdict.reason == ""
        last = self._transitions[-1] if self._transitions else None
        if last is None or (last.ready, last.reason) != (ready, verdict.reason):
            transition = Transition(after=round(after, 3), at=round(at, 3), ready=ready, reason=verdict.reason)
            self._transitions = (*self._transitions[-_KEPT_TRANSITIONS + 1 :], transition)
        return PodStatus(
            name=self.plan.name,
            component=self.plan.component,
            type=self.plan.type,
            version=self.plan.version,
            replica=self.plan.replica,
            ready=ready,
            reason=verdict.reason,
            message=verdict.message,
            rule=verdict.rule,
            restarts=sum(container.restarts for container in (*init, *running)),
            containers=(*init, *running),
            transitions=self._transitions,
        )


def _log_name(pod: PodPlan, container: str) -> str:
    return f"logs/{pod.name}.{container}.log"
