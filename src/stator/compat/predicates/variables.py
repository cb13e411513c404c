"""Variables whose literal text the runtime refuses at start, or reads as something else."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from stator.compat.environment import setting
from stator.compat.facts import ContainerFacts
from stator.compat.outcome import Outcome
from stator.compat.rule import Rule

PAYLOAD = "DYN_HEALTH_CHECK_PAYLOAD"


def refused_text(facts: ContainerFacts, rule: Rule) -> Sequence[Outcome]:
    """Literal texts of variables that do not fit: outcome `text`.

    `looks_for`: `variables`; `fits`, an expression the whole text has to match. White space around it is no part of it.
    A rule for a range of releases says nothing about an unknown one.
    """
    if facts.version.core is None and rule.affected.clauses:
        return ()
    fits = re.compile(rule.looks_for["fits"])
    found = []
    for name in rule.looks_for["variables"]:
        text = setting(facts, name).text
        if text is not None and not fits.fullmatch(text.strip()):
            values = {"variable": name, "value": text}
            found.append(Outcome(key="text", where=("env", name), values=values))
    return found


def port_range(facts: ContainerFacts, rule: Rule) -> Sequence[Outcome]:
    """Ports the runtime cannot hold: outcome `range`. `looks_for`: `variables`, `least` and `most`."""
    found = []
    for name in rule.looks_for["variables"]:
        text = setting(facts, name).text
        number = _number(text or "")
        if number is not None and not rule.looks_for["least"] <= number <= rule.looks_for["most"]:
            values = {"variable": name, "value": text, "most": str(rule.looks_for["most"])}
            found.append(Outcome(key="range", where=("env", name), values=values))
    return found


def _number(text: str) -> int | None:
    """The integer a text is, cut to ten digits, which is more than any port has; None for any other text."""
    found = re.fullmatch(r"\s*([+-]?\d{1,10})\d*\s*", text, re.ASCII)
    return int(found[1]) if found else None


def discarded_payload(facts: ContainerFacts, rule: Rule) -> Sequence[Outcome]:
    """A health check payload that is silently replaced by the worker's default: outcome `discarded`.

    The content of a file (`@/path`) is not judged.
    """
    del rule
    text = setting(facts, PAYLOAD).text
    if not text or text.startswith("@"):
        return ()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and value:
        return ()
    why = "it is empty" if isinstance(value, dict) else "it is not a JSON object"
    return (Outcome(key="discarded", where=("env", PAYLOAD), values={"why": why}),)


def canary_without_payload(facts: ContainerFacts, rule: Rule) -> Sequence[Outcome]:
    """Active checks on a worker that registers no payload: outcome `mocker`. `looks_for`: `modules`."""
    names = rule.looks_for["modules"]
    run = next((run for run in facts.command_line.invocations if run.module in names), None)
    checks = setting(facts, "DYN_HEALTH_CHECK_ENABLED").text
    payload = setting(facts, PAYLOAD).origin
    if facts.version.core is None or run is None or payload != "absent" or (checks or "").strip() != "true":
        return ()
    where = ("env", "DYN_HEALTH_CHECK_ENABLED")
    return (Outcome(key="no-payload", where=where, values={"module": run.module}),)
