"""The kubelet's probe rules, without clock or network.

A `ProbeSet` belongs to one run of one container. Ask it what is due, tell it what came out, read what follows:
whether the container has started, is ready, or must be restarted (Kubernetes documentation, Configure Liveness,
Readiness and Startup Probes). Times are seconds on any monotonic clock.

One thing is added, because a person waits here: until startup and readiness have succeeded for the first time, they
are also asked between the times of their grid, at first every `early` seconds, later whenever a tenth of the time so
far has passed. Such an early question can only succeed. Its failure counts for nothing, so a container gets exactly
the time and the attempts that it would get in a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import msgspec

from stator.local.plan import ContainerPlan, Probe, ProbeKind

# A start is seen at most this share late, and a worker that is not Ready for long is not asked ten times a second.
_LATENESS = 0.1


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """One probe of a running container.

    `result` changes only after `success_threshold` or `failure_threshold` equal outcomes in a row, counted in `run`.
    `due_at` is when to probe next on the grid of probe times, which begins at `first_at`; `early_at` is when to ask
    before that, infinity if not at all.
    """

    probe: Probe
    first_at: float
    due_at: float
    result: bool
    early_at: float = math.inf
    last: bool | None = None
    run: int = 0


class ProbeSet(msgspec.Struct, frozen=True, kw_only=True):
    """The probes of one run. `failed` is the probe because of which the container must be restarted, or None.

    `early` is the shortest pause between questions off the grid, in seconds; infinity: there are none.
    """

    startup: Watch | None = None
    liveness: Watch | None = None
    readiness: Watch | None = None
    failed: ProbeKind | None = None
    early: float = math.inf

    @property
    def started(self) -> bool:
        """Whether the startup probe has succeeded; true without one."""
        return self.startup is None or self.startup.result

    @property
    def ready(self) -> bool:
        """Whether the container takes traffic: started, and the readiness probe (if any) says yes."""
        return self.started and self.failed is None and (self.readiness is None or self.readiness.result)

    def next_due(self, running: Collection[ProbeKind] = ()) -> float:
        """When the next probe is due, other than those that are `running`; infinity if there is none."""
        return min((_next(watch) for kind, watch in _active(self) if kind not in running), default=math.inf)

    def due(self, now: float) -> tuple[ProbeKind, ...]:
        """The probes to run now."""
        return tuple(kind for kind, watch in _active(self) if _next(watch) <= now)


def begin(container: ContainerPlan, now: float, *, early: float = math.inf) -> ProbeSet:
    """The probes of a container that was started at `now`; `early` as in `ProbeSet`.

    Before their first outcome, startup and readiness count as failed and liveness as succeeded.
    """
    return ProbeSet(
        startup=_watch(container.startup, now, result=False, early=early),
        liveness=_watch(container.liveness, now, result=True),
        readiness=_watch(container.readiness, now, result=False, early=early),
        early=early,
    )


def record(probes: ProbeSet, kind: ProbeKind, *, success: bool, now: float, asked: float | None = None) -> ProbeSet:
    """What follows from an outcome at `now` of a probe that was asked at `asked` (None: at once)."""
    watch: Watch | None = getattr(probes, kind)
    if watch is None or probes.failed:
        return probes
    hurried = not math.isinf(watch.early_at)
    if hurried and not success and (now if asked is None else asked) < watch.due_at:
        return msgspec.structs.replace(
            probes, **{kind: msgspec.structs.replace(watch, early_at=_early(watch, now, probes.early))}
        )
    run = watch.run + 1 if watch.last == success else 1
    threshold = watch.probe.success_threshold if success else watch.probe.failure_threshold
    settled = run >= threshold
    watch = msgspec.structs.replace(
        watch,
        last=success,
        run=run,
        result=success if settled else watch.result,
        due_at=_after(watch, now),
        early_at=_early(watch, now, probes.early) if hurried and not success else math.inf,
    )
    probes = msgspec.structs.replace(probes, **{kind: watch})
    if settled and not success and kind != "readiness":
        return msgspec.structs.replace(probes, failed=kind)
    if settled and success and kind == "startup":
        return _open_gate(probes, now)
    return probes


def _watch(probe: Probe | None, now: float, *, result: bool, early: float = math.inf) -> Watch | None:
    if probe is None:
        return None
    first = now + probe.initial_delay
    # Several successes in a row are wanted for the time between them: no early one may count.
    hurried = probe.success_threshold == 1 and not math.isinf(early)
    return Watch(probe=probe, first_at=first, due_at=first, result=result, early_at=now if hurried else math.inf)


def _early(watch: Watch, now: float, pause: float) -> float:
    begun = watch.first_at - watch.probe.initial_delay
    return now + max(pause, (now - begun) * _LATENESS)


def _next(watch: Watch) -> float:
    return min(watch.due_at, watch.early_at)


def _active(probes: ProbeSet) -> Iterator[tuple[ProbeKind, Watch]]:
    """Startup alone until it has succeeded, then the other two; nothing once the container is to be restarted."""
    if probes.failed:
        return
    if not probes.started and probes.startup:
        yield "startup", probes.startup
        return
    if probes.liveness:
        yield "liveness", probes.liveness
    if probes.readiness:
        yield "readiness", probes.readiness


def _open_gate(probes: ProbeSet, now: float) -> ProbeSet:
    """The startup probe succeeded: readiness is asked at once (as the kubelet does), liveness on its own grid."""
    liveness, readiness = probes.liveness, probes.readiness
    if liveness:
        liveness = msgspec.structs.replace(liveness, due_at=max(liveness.first_at, _after(liveness, now)))
    if readiness:
        readiness = msgspec.structs.replace(readiness, due_at=max(readiness.first_at, now))
    return msgspec.structs.replace(probes, liveness=liveness, readiness=readiness)


def _after(watch: Watch, now: float) -> float:
    """The first time of the probe's grid after `now`: a slow probe skips times, it never runs twice at once."""
    periods = math.floor((now - watch.first_at) / watch.probe.period) + 1
    return watch.first_at + max(periods, 0) * watch.probe.period
