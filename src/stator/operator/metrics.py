"""What the operator tells Prometheus about itself, and about the graphs it keeps.

Label values are kinds, verbs, rules and results: bounded sets, never names of objects. Findings and repairs are
counted over the components that exist; what is remembered of a component goes when the component goes.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Literal

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

Result = Literal["unchanged", "changed", "refused", "retried", "failed"]

# A pass that changes nothing takes below a millisecond, one that waits for a slow API server half a minute.
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Judgement(msgspec.Struct, frozen=True):
    """What the rules say about one component: `(rule, severity)` per finding, and the repairs in force."""

    findings: frozenset[tuple[str, str]] = frozenset()
    repairs: frozenset[str] = frozenset()


class Metrics:
    """All series of one operator, in a registry of their own."""

    def __init__(self) -> None:
        """Register the series; those that nothing has happened for yet are absent."""
        self.registry = CollectorRegistry()
        self._duration = Histogram(
            "stator_reconcile_duration_seconds",
            "Time one pass over one object took.",
            ["kind"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._results = Counter(
            "stator_reconcile_total", "Passes by what came of them.", ["kind", "result"], registry=self.registry
        )
        self._requests = Counter(
            "stator_api_requests_total", "Requests to the API server.", ["verb", "code"], registry=self.registry
        )
        self._leader = Gauge("stator_leader", "1 in the instance that leads, else 0.", registry=self.registry)
        self._others = Gauge(
            "stator_other_operators", "Other operators at work that may keep the same graphs.", registry=self.registry
        )
        self._judged: dict[Hashable, Judgement] = {}
        self._live = _Live(self._judged)
        self.registry.register(self._live)

    def reconciled(self, kind: str, result: Result, seconds: float) -> None:
        """One pass is over."""
        self._duration.labels(kind).observe(seconds)
        self._results.labels(kind, result).inc()

    def requested(self, verb: str, code: int | str) -> None:
        """One request was answered with an HTTP status, or failed (`error`)."""
        self._requests.labels(verb, str(code)).inc()

    def leads(self, *, leader: bool) -> None:
        """Whether this instance leads."""
        self._leader.set(leader)

    def others(self, count: int) -> None:
        """How many other operators there are that may keep the same graphs."""
        self._others.set(count)

    def judged(self, key: Hashable, judgement: Judgement | None) -> None:
        """What the rules say about a component now; None when it is gone."""
        if judgement is None or judgement == Judgement():
            self._judged.pop(key, None)
        else:
            self._judged[key] = judgement

    def watch(
        self, kind: str, *, depth: Callable[[], int] | None = None, lag: Callable[[], float] | None = None
    ) -> None:
        """Read a queue's depth, or the seconds since an informer's watch was last known alive, at each scrape."""
        if depth:
            self._live.depths[kind] = depth
        if lag:
            self._live.lags[kind] = lag

    def text(self) -> bytes:
        """The exposition."""
        return generate_latest(self.registry)


class _Live(Collector):
    """Series whose value is only known when somebody asks."""

    def __init__(self, judged: Mapping[Hashable, Judgement]) -> None:
        self.judged = judged
        self.depths: dict[str, Callable[[], int]] = {}
        self.lags: dict[str, Callable[[], float]] = {}

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The series, as Prometheus scrapes them."""
        yield _family("stator_queue_depth", "Objects that wait for a pass.", ("kind",), _called(self.depths))
        text = "Seconds since the watch was known to be alive."
        yield _family("stator_informer_lag_seconds", text, ("kind",), _called(self.lags))
        judged = self.judged.values()
        findings: Tally[tuple[str, ...]] = Tally(finding for item in judged for finding in item.findings)
        yield _family("stator_findings", "Components a rule has a finding about.", ("rule", "severity"), findings)
        repairs: Tally[tuple[str, ...]] = Tally((rule,) for item in judged for rule in item.repairs)
        yield _family("stator_repairs", "Components in whose pods a rule's repair is.", ("rule",), repairs)


def _called(sources: Mapping[str, Callable[[], float]]) -> dict[tuple[str, ...], float]:
    return {(kind,): read() for kind, read in sources.items()}


def _family(
    name: str, text: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family
