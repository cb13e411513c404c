"""What an operator tells about itself."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import aiohttp
import pytest
import structlog

from stator.operator.endpoints import endpoints
from stator.operator.log import bound, configure, logger
from stator.operator.metrics import Judgement, Metrics


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    """The value of a series; None if it is absent."""
    return metrics.registry.get_sample_value(name, labels)


def test_passes_and_requests_are_counted_by_what_they_were() -> None:
    """A dashboard tells kinds, results and verbs apart."""
    metrics = Metrics()
    metrics.reconciled("DynamoGraphDeployment", "unchanged", 0.002)
    metrics.reconciled("DynamoGraphDeployment", "changed", 0.2)
    metrics.requested("apply", 200)
    metrics.requested("apply", 200)
    metrics.requested("list", 429)
    assert value(metrics, "stator_reconcile_total", kind="DynamoGraphDeployment", result="changed") == 1
    assert value(metrics, "stator_reconcile_duration_seconds_count", kind="DynamoGraphDeployment") == 2
    assert value(metrics, "stator_api_requests_total", verb="apply", code="200") == 2
    assert value(metrics, "stator_api_requests_total", verb="list", code="429") == 1


def test_findings_and_repairs_count_the_components_that_exist() -> None:
    """A component that was repaired, then judged anew, then deleted is never counted twice, and not after."""
    metrics = Metrics()
    canary = Judgement(frozenset({("DYN101", "info")}), frozenset({"DYN101"}))
    for name in ("a", "b"):
        metrics.judged(("ns", name), canary)
    assert value(metrics, "stator_repairs", rule="DYN101") == 2
    assert value(metrics, "stator_findings", rule="DYN101", severity="info") == 2
    metrics.judged(("ns", "a"), Judgement(frozenset({("DYN101", "error")})))
    metrics.judged(("ns", "b"), None)
    assert value(metrics, "stator_repairs", rule="DYN101") is None
    assert value(metrics, "stator_findings", rule="DYN101", severity="error") == 1


def test_queues_and_watches_are_read_when_somebody_asks() -> None:
    """Depth and lag are those of the scrape, not of the last change."""
    metrics = Metrics()
    depth = [3]
    metrics.watch("DynamoGraphDeployment", depth=lambda: depth[0], lag=lambda: 1.5)
    assert value(metrics, "stator_queue_depth", kind="DynamoGraphDeployment") == 3
    depth[0] = 0
    assert value(metrics, "stator_queue_depth", kind="DynamoGraphDeployment") == 0
    assert value(metrics, "stator_informer_lag_seconds", kind="DynamoGraphDeployment") == 1.5


async def test_a_kubelet_and_prometheus_are_answered() -> None:
    """Probes fail with the reason, and the metrics are an exposition that names the leader."""
    metrics = Metrics()
    metrics.leads(leader=True)
    state = {"ready": "caches are not in sync: Deployment"}
    async with (
        endpoints(metrics, healthy=lambda: "", ready=lambda: state["ready"], host="127.0.0.1", port=0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client,
    ):

        async def get(path: str) -> tuple[int, str]:
            async with client.get(path) as response:
                return response.status, await response.text()

        assert await get("/healthz") == (200, "ok\n")
        assert await get("/readyz") == (503, "caches are not in sync: Deployment\n")
        state["ready"] = ""
        assert await get("/readyz") == (200, "ok\n")
        status, text = await get("/metrics")
        assert (status, "stator_leader 1.0" in text) == (200, True)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Logs as JSON lines in a buffer; the process's logging is as before afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure(stream=stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_text_in_a_file_has_no_colours(log: io.StringIO) -> None:
    """A log that is piped or kept is read without a terminal."""
    configure("text", stream=log)
    logger("stator.test").info("leading", lease="default/stator")
    assert "lease=default/stator" in log.getvalue()
    assert "\x1b" not in log.getvalue()


def test_each_line_names_the_object_and_the_pass(log: io.StringIO) -> None:
    """Everything logged in a pass carries its object and id, also by functions that know neither."""
    with bound(kind="DynamoGraphDeployment", object="ns/chat", reconcile="r-1"):
        logger("stator.operator").info("applied", target="Deployment/chat")
    logger("stator.operator").info("idle")
    logging.getLogger("aiohttp").warning("connection %s", "lost")
    logging.getLogger("aiohttp").info("chatter")
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    first, second, foreign = lines
    assert (first["object"], first["reconcile"], first["target"]) == ("ns/chat", "r-1", "Deployment/chat")
    assert "object" not in second
    assert (foreign["event"], foreign["level"]) == ("connection lost", "warning")
    assert all(line["time"].endswith("Z") for line in lines)


def test_a_failure_is_one_line(log: io.StringIO) -> None:
    """A traceback is a field of one JSON object, so that log collectors keep it together."""
    try:
        raise RuntimeError("boom")  # noqa: TRY301 (an exception to log)
    except RuntimeError:
        logger("stator.operator").exception("pass failed")
    [line] = log.getvalue().splitlines()
    assert "RuntimeError: boom" in json.loads(line)["exception"]
