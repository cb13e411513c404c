"""The gates: what is injected only from some runtime release on, and since which operator release.

What is injected for a released runtime never changes in a later operator (the frozen-injection contract), so a row
is added when a default changes and is never edited afterwards. An unresolved runtime version turns every gate off:
a default that an old runtime cannot take breaks it, one that a new runtime misses does not.
"""

from __future__ import annotations

import msgspec

from stator.versions import Version


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """One gate: on if the runtime is at least `runtime` and the operator at least `operator`.

    `operator` is the release that brought the gate: an older one renders as if it were off.
    """

    name: str
    runtime: Version
    operator: Version
    effect: str
    evidence: str

    def on(self, runtime: Version | None, operator: Version) -> bool:
        """Whether the gate is on for a runtime (None: of an unresolved version) under this operator."""
        return runtime is not None and runtime >= self.runtime and operator >= self.operator

    def reason(self, runtime: Version | None, operator: Version) -> str:
        """Why the gate is on or off, in words for provenance."""
        if operator < self.operator:
            return f"operator {operator} < {self.operator}"
        if runtime is None:
            return "runtime version unresolved"
        return f"runtime {runtime} {'>=' if runtime >= self.runtime else '<'} {self.runtime}"


CANARY_HEALTH_CHECKS = Gate(
    name="canary-health-checks",
    runtime=Version(1, 5, 0),
    operator=Version(1, 5, 0),
    effect="DYN_HEALTH_CHECK_ENABLED is true, else false",
    evidence="ai-dynamo/dynamo#11083",
)
WORKER_FAILURE_THRESHOLD = Gate(
    name="increased-worker-failure-threshold",
    runtime=Version(1, 5, 0),
    operator=Version(1, 5, 0),
    effect="a worker's liveness probe fails after 3 misses, else after 1",
    evidence="ai-dynamo/dynamo#13512",
)
FRONTEND_STARTUP_PROBE = Gate(
    name="frontend-startup-probe",
    runtime=Version(1, 6, 0),
    operator=Version(1, 6, 0),
    effect="a frontend has a startup probe",
    evidence="runtime gate FrontendStartupProbe of the upstream operator",
)
STRICT_NAMESPACE_PREFIX = Gate(
    name="strict-namespace-prefix",
    runtime=Version(1, 6, 0),
    operator=Version(1, 6, 0),
    effect="DYN_NAMESPACE_PREFIX_STRICT is true on frontends and on endpoint pickers without eppConfig",
    evidence="ai-dynamo/dynamo#10998",
)

GATES = (CANARY_HEALTH_CHECKS, WORKER_FAILURE_THRESHOLD, FRONTEND_STARTUP_PROBE, STRICT_NAMESPACE_PREFIX)
