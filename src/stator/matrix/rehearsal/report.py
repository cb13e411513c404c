"""What came of a rehearsal: requests by phase, who served them, what failed, and whether that is within budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Literal

import msgspec

from stator.matrix.rehearsal.traffic import Sent

SCHEMA_VERSION = 1

# What a frontend answers when the worker it chose takes no requests.
_REFUSALS = (500, 503)
# Seconds within which a frontend forgets a worker that has left discovery in order, on a machine with much to do.
_FORGOTTEN = 1.0

PhaseKind = Literal["before", "starting", "both", "stopping", "after"]


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How many requests may fail, and how many may take longer than `slow_after` seconds (None: any number)."""

    failed: int = 0
    slow: int | None = None
    slow_after: float = 2.0


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of the rehearsal: what happens, and the releases of the parts that serve in it, by component.

    `served` is how many requests workers of each release completed in it, by their own metrics. Times are Unix time.
    """

    title: str
    kind: PhaseKind
    serving: Mapping[str, tuple[str, ...]]
    began: float
    ended: float = 0
    served: Mapping[str, int] = {}


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """When a worker was asked to end, and when it was gone (Unix time).

    A mocker refuses requests from the first moment on, while the frontend still sends it some: it ends its runtime and
    leaves discovery at once (1.4.2, 1.5.1 and 1.6.1: dynamo/mocker/main.py; at 400 requests a second seen as 500 or 503
    of frontends of 1.4.2 and 1.6.1). The engines' workers leave discovery first and serve on for
    DYN_GRACEFUL_SHUTDOWN_GRACE_PERIOD_SECS (5 s).
    """

    began: float
    ended: float

    def refused(self, sent: Sent) -> bool:
        """Whether the frontend's refusal came in that time: an error, at once, while the worker ended."""
        answered = sent.at + sent.seconds
        return sent.status in _REFUSALS and self.began <= answered <= self.ended + _FORGOTTEN


class PhaseCount(msgspec.Struct, frozen=True, kw_only=True):
    """The requests that were sent in one phase. Latencies are seconds, of answers that were right.

    `refused` are those of the failed that met a mocker on its way out.
    """

    sent: int
    failed: int
    refused: int
    slow: int
    median: float
    p99: float


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. `stopped` says why the upgrade did not come to its end, `notes` what else is worth knowing."""

    graph: str
    order: str
    moves: tuple[str, ...]
    budget: Budget
    phases: tuple[Phase, ...]
    counts: tuple[PhaseCount, ...]
    failures: tuple[Sent, ...] = ()
    stopped: str = ""
    log: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def sent(self) -> int:
        """All requests."""
        return sum(count.sent for count in self.counts)

    @property
    def failed(self) -> int:
        """Those without a right answer."""
        return sum(count.failed for count in self.counts)

    @property
    def refused(self) -> int:
        """Those of the failed that met a mocker on its way out: of an engine's worker they say nothing."""
        return sum(count.refused for count in self.counts)

    @property
    def slow(self) -> int:
        """Those that took longer than the budget's limit."""
        return sum(count.slow for count in self.counts)

    @property
    def overspent(self) -> tuple[str, ...]:
        """Every way in which the rehearsal was not good enough, in words."""
        reasons = [self.stopped] if self.stopped else []
        if self.failed - self.refused > self.budget.failed:
            reasons.append(f"{self.failed - self.refused} requests failed, {self.budget.failed} may")
        if self.budget.slow is not None and self.slow > self.budget.slow:
            reasons.append(f"{self.slow} requests were slow, {self.budget.slow} may be")
        if not self.sent:
            reasons.append("no request was sent")
        reasons += [f"no request was sent in {title!r}" for title in self._idle()]
        return tuple(reasons)

    def _idle(self) -> tuple[str, ...]:
        """Phases in which old and new served at once, as far as anybody asked: without a request nothing is shown."""
        return tuple(
            phase.title
            for phase, count in zip(self.phases, self.counts, strict=True)
            if phase.kind == "both" and not count.sent
        )


def count(
    phases: Sequence[Phase], sent: Sequence[Sent], budget: Budget, stops: Sequence[Stop] = ()
) -> tuple[PhaseCount, ...]:
    """The requests of each phase. `stops` are those of mockers."""
    return tuple(
        _count([each for each in sent if each.phase == number], budget, stops) for number in range(len(phases))
    )


def _count(sent: Sequence[Sent], budget: Budget, stops: Sequence[Stop]) -> PhaseCount:
    good = sorted(each.seconds for each in sent if not each.violations)
    return PhaseCount(
        sent=len(sent),
        failed=len(sent) - len(good),
        refused=sum(any(stop.refused(each) for stop in stops) for each in sent if each.violations),
        slow=sum(seconds > budget.slow_after for seconds in good),
        median=round(quantile(good, 0.5), 4),
        p99=round(quantile(good, 0.99), 4),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest number that at least `share` of the ordered ones do not exceed (nearest rank); 0 of none."""
    return ordered[max(ceil(share * len(ordered)) - 1, 0)] if ordered else 0.0


def to_text(rehearsal: Rehearsal) -> str:
    """A table of phases, the failures, and the verdict."""
    head = ("phase", "serving", "sent", "failed", "slow", "p50 ms", "p99 ms", "completed by")
    rows = [head, *_rows(rehearsal)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", *_findings(rehearsal), verdict(rehearsal)]) + "\n"


def to_markdown(rehearsal: Rehearsal) -> str:
    """The same as Markdown."""
    head = ("phase", "serving", "sent", "failed", "slow", "p50 ms", "p99 ms", "completed by")
    rows = [head, ("---",) * len(head), *_rows(rehearsal)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    findings = "".join(f"* {line.strip()}\n" for line in _findings(rehearsal))
    return (
        f"## Rehearsal: {', '.join(rehearsal.moves)}\n\n{verdict(rehearsal)}\n\n{table}\n\n{findings}".rstrip() + "\n"
    )


def _rows(rehearsal: Rehearsal) -> list[tuple[str, ...]]:
    return [
        (
            phase.title,
            ", ".join(f"{name} {'+'.join(versions)}" for name, versions in phase.serving.items()),
            str(counted.sent),
            str(counted.failed),
            str(counted.slow),
            f"{counted.median * 1000:.0f}",
            f"{counted.p99 * 1000:.0f}",
            ", ".join(f"{version}: {number}" for version, number in phase.served.items()),
        )
        for phase, counted in zip(rehearsal.phases, rehearsal.counts, strict=True)
    ]


def _findings(rehearsal: Rehearsal) -> list[str]:
    lines = [
        f"failed in {rehearsal.phases[each.phase].title!r} after {each.seconds:.2f} s: {'; '.join(each.violations)}"
        for each in rehearsal.failures
    ]
    if rehearsal.refused:
        lines.append(
            f"{rehearsal.refused} of the failed met a mocker that was asked to end; they do not count. A mocker "
            "refuses requests from that moment on; an engine's worker leaves discovery first and serves for a while"
        )
    return [*lines, *rehearsal.notes, *(f"  {line}" for line in rehearsal.log)]


def verdict(rehearsal: Rehearsal) -> str:
    """One line."""
    refused = f" ({rehearsal.refused} at the end of a mocker)" if rehearsal.refused else ""
    counts = f"{rehearsal.sent} requests, {rehearsal.failed} failed{refused}, {rehearsal.slow} slow"
    reasons = rehearsal.overspent
    return f"{counts}: {'; '.join(reasons)}" if reasons else f"{counts}: within budget"
