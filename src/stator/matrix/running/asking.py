"""What a started graph is asked, wherever it runs, and what a cell's outcome is after that."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from stator.matrix.canary import Handler, Observation
from stator.matrix.checks import CheckResult, Kind, Promise, run_suite
from stator.matrix.checks.service import MODELS, served_models
from stator.matrix.checks.suite import Ask, probe
from stator.matrix.exchange import Request
from stator.matrix.results import Outcome
from stator.matrix.scenarios import ENGINES, Scenario
from stator.model.commandline import read_command_line

# How long a frontend may take to list the model after every pod is Ready (measured: below 2 s on all pairs).
_LISTED_PATIENCE = 30.0
_POLL = 0.05

REQUEST_TIMEOUT = 60.0


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking. `served` is whether users' requests got right answers, None if none was sent."""

    outcome: Outcome
    why: str
    checks: tuple[CheckResult, ...] = ()
    served: bool | None = None


def ask_all(
    state: Literal["ready", "canary", "failed"],
    why: str,
    scenario: Scenario,
    ask: Ask,
    promise: Callable[[], Promise],
    say: Callable[[str], None],
) -> Answers:
    """Everything a Ready graph is asked; one request to a graph whose own check failed; nothing of any other.

    `why` is why it is not Ready.
    """
    if state == "ready":
        if unlisted := _unlisted(scenario, ask):
            return Answers(outcome="fail", why=unlisted)
        say("asking")
        checks = run_suite(scenario.kind, scenario.model, ask, promise())
        served = all(check.passed for check in checks)
        return Answers(outcome="pass" if served else "fail", why=_wrong(checks), checks=checks, served=served)
    if state == "canary":
        # Only now: a user's request that succeeds would make the worker Ready until its next own check.
        say("asking a worker that is not Ready")
        checks = (probe(scenario.kind, scenario.model, ask),)
        told = "; ".join(filter(None, (why, _wrong(checks))))
        return Answers(outcome="fail", why=told, checks=checks, served=checks[0].passed)
    return Answers(outcome="fail", why=why)


def _wrong(checks: Sequence[CheckResult]) -> str:
    return "; ".join(f"{check.name}: {violation}" for check in checks for violation in check.violations)


def _unlisted(scenario: Scenario, ask: Ask) -> str:
    """Wait until the frontend lists the model; why it does not."""
    deadline = time.monotonic() + _LISTED_PATIENCE
    while True:
        exchange = ask(Request(MODELS))
        if scenario.model in served_models(exchange):
            return ""
        if time.monotonic() >= deadline:
            return f"all Ready, but the frontend does not list {scenario.model!r}: {exchange.body[:200]}"
        time.sleep(_POLL)


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that is no frontend: what is known of it without asking it. `type` is its component's."""

    pod: str
    component: str
    type: str
    version: str
    argv: Sequence[str]
    env: Mapping[str, str]


def observed(worker: Worker, kind: Kind, *, ready: bool, rejection: str, served: bool | None) -> Observation:
    """A worker and what was seen of it, for the judgement of its own check."""
    runs = read_command_line(worker.argv, ()).invocations
    handler: Handler = kind
    if worker.type == "prefill":
        handler = "prefill"
    elif worker.type == "decode":
        handler = "decode"
    return Observation(
        pod=worker.pod,
        component=worker.component,
        version=worker.version,
        engine=next((run.module for run in runs if run.module in ENGINES), ""),
        handler=handler,
        env=worker.env,
        ready=ready,
        rejection=rejection,
        served=served,
    )
