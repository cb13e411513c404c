"""Why a pod is not Ready: the most specific reason, from what is known of its containers."""

from __future__ import annotations

import msgspec
import pytest

from stator.local.plan import PodPlan
from stator.local.state import ContainerStatus, ProbeFailure
from stator.local.supervisor.reasons import Verdict, canary_essence, explain

POD = PodPlan(
    name="worker-0",
    uid="",
    component="Worker",
    type="worker",
    backend="sglang",
    version="1.5.1 (tag)",
    replica=0,
    containers=(),
)
STARTING = ContainerStatus(name="main", image="", runtime="", log="", state="Running")
READY = msgspec.structs.replace(STARTING, ready=True)
PROBED = msgspec.structs.replace(STARTING, probe_failure=ProbeFailure("readiness", "no", "body"))
REJECTED = msgspec.structs.replace(PROBED, canary="Health check error response from generate: EmbeddingRequest")
CRASHED = msgspec.structs.replace(
    STARTING, state="Waiting", reason="CrashLoopBackOff", message="back-off 10s", exit_code=-9, canary=REJECTED.canary
)


@pytest.mark.parametrize(
    ("containers", "reason", "rule"),
    [
        ((READY,), "", ""),
        ((READY, STARTING), "Starting", ""),
        ((STARTING, PROBED), "Probe", ""),
        ((REJECTED,), "Canary", "DYN101"),
        ((READY, CRASHED), "CrashLoopBackOff", "DYN101"),
    ],
)
def test_the_container_with_something_to_say_decides(
    containers: tuple[ContainerStatus, ...], reason: str, rule: str
) -> None:
    """A pod is Ready when all of its containers are; otherwise the first known cause is its reason."""
    verdict = explain(POD, (), containers, stopping=False)
    assert (verdict.reason, verdict.rule) == (reason, rule)


def test_a_crash_tells_its_signal_and_its_cause() -> None:
    """Both are needed to know what to do."""
    verdict = explain(POD, (), (CRASHED,), stopping=False)
    assert verdict.message.startswith("back-off 10s; the last run ended by signal 9; the runtime's own health check")


def test_a_stopping_pod_is_terminating_until_all_its_containers_have_ended() -> None:
    """Whatever else is wrong with it."""
    ended = msgspec.structs.replace(STARTING, state="Terminated")
    assert explain(POD, (), (ended, REJECTED), stopping=True) == Verdict("Terminating")
    assert explain(POD, (), (ended, ended), stopping=True) == Verdict("Stopped")


def test_only_an_sglang_embedding_worker_is_told_of_its_rule() -> None:
    """Another backend's canary is no matter of DYN101; what planning found applies in any case."""
    other = msgspec.structs.replace(POD, backend="vllm")
    assert explain(other, (), (REJECTED,), stopping=False).rule == ""
    planned = msgspec.structs.replace(other, canary_rule="DYN999")
    assert explain(planned, (), (REJECTED,), stopping=False).rule == "DYN999"


@pytest.mark.parametrize(
    ("line", "essence"),
    [
        (
            b'\x1b[33mWARN\x1b[0m health_check: Health check error response from generate: DynamoError { "a\\nb" }',
            'Health check error response from generate: DynamoError { "a b" }',
        ),
        (b"WARN dynamo_runtime::health_check: Health check timeout for generate", "Health check timeout for generate"),
        (b"INFO Health check manager started", ""),
        (b"\xff\xfe", ""),
    ],
)
def test_the_log_line_of_a_failed_canary(line: bytes, essence: str) -> None:
    """Rejections and timeouts count; other lines about health checks do not."""
    assert canary_essence(line) == essence
