"""Variables whose literal text the runtime refuses at start, or reads as something else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stator.compat import sglang
from stator.compat.edits import InsertEnv, RemoveEnv, SetEnv
from stator.compat.environment import setting
from stator.compat.facts import ContainerFacts
from stator.compat.outcome import Outcome
from stator.compat.rule import Rule

PAYLOAD = "DYN_HEALTH_CHECK_PAYLOAD"
PAYLOAD_FLAG = "health-check-payload"
_NUMBER = re.compile(r"\s*([+-]?\d{1,10})\d*\s*", re.ASCII)


def refused_text(facts: ContainerFacts, rule: Rule) -> Sequence[Outcome]:
    """Literal texts of variables that do not fit: outcome `text`.

    `looks_for`: `variables`; `fits`, an expression the whole text has to match; `meant`, expressions whose first group,
    or whose value, is what was meant. White space around the text is no part of it.
    A rule for a range of releases says nothing about an unknown one.
    """
    if facts.version.core is None and rule.affected.clauses:
        return ()
    found = []
    for name in rule.looks_for["variables"]:
        text = setting(facts, name).text
        if text is not None and not re.fullmatch(rule.looks_for["fits"], text.strip()):
            values = {"variable": name, "value": text}
            meant = _meant(text.strip(), rule.looks_for.get("meant", {}))
            edit = SetEnv(name=name, value=meant) if meant else None
            found.append(Outcome(key="text", where=("env", name), values=values, edit=edit))
    return found


def _meant(text: str, table: Mapping[str, str | None]) -> str:
    """What the text plainly means, empty if it does not say."""
    for expression, meant in table.items():
        if fitting := re.fullmatch(expression, text, re.IGNORECASE | re.ASCII):
            return meant or fitting[1]
    return ""


def port_range(facts: ContainerFacts, rule: Rule) -> Sequence[Outcome]:
    """Ports the runtime cannot hold: outcome `range`. `looks_for`: `variables`, `least`, `most`, `instead`."""
    found = []
    for name in rule.looks_for["variables"]:
        text = setting(facts, name).text
        number = _number(text or "")
        if number is not None and not rule.looks_for["least"] <= number <= rule.looks_for["most"]:
            values = {"variable": name, "value": text, "most": str(rule.looks_for["most"])}
            edit = SetEnv(name=name, value=rule.looks_for["instead"])
            found.append(Outcome(key="range", where=("env", name), values=values, edit=edit))
    return found


def _number(text: str) -> int | None:
    """The integer a text is, cut to ten digits, which is more than any port has; None for any other text."""
    found = _NUMBER.fullmatch(text)
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
    return (Outcome(key="discarded", where=("env", PAYLOAD), values={"why": why}, edit=RemoveEnv(name=PAYLOAD)),)


def canary_without_payload(facts: ContainerFacts, rule: Rule) -> Sequence[Outcome]:
    """Active checks on a worker that registers no payload: outcome `mocker`. `looks_for`: `modules`."""
    names = rule.looks_for["modules"]
    run = next((run for run in facts.command_line.invocations if run.module in names), None)
    checks = setting(facts, "DYN_HEALTH_CHECK_ENABLED").text
    payload = setting(facts, PAYLOAD).origin
    if facts.version.core is None or run is None or payload != "absent" or (checks or "").strip() != "true":
        return ()
    where = ("env", "DYN_HEALTH_CHECK_ENABLED")
    edit = SetEnv(name="DYN_HEALTH_CHECK_ENABLED", value="false")
    return (Outcome(key="no-payload", where=where, values={"module": run.module}, edit=edit),)


def probed_elsewhere(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """Health probes that ask another port than the one the status server was moved to: outcome `elsewhere`.

    `looks_for`: `variable`, and `paths`, what the status server answers. A script may still change the variable.
    """
    name = rule.looks_for["variable"]
    moved = _number(setting(facts, name).text or "")
    if moved is None:
        return
    for field in ("startupProbe", "livenessProbe", "readinessProbe"):
        get = (facts.body.get(field) or {}).get("httpGet") or {}
        port = _port(facts, get.get("port"))
        if port is not None and port != moved and get.get("path") in rule.looks_for["paths"]:
            yield Outcome(
                key="elsewhere",
                certainty="possible" if facts.command_line.opaque else "certain",
                where=("env", name),
                values={"variable": name, "value": str(moved), "probe": field, "port": str(port)},
                edit=SetEnv(name=name, value=str(port)),
            )
            return


def _port(facts: ContainerFacts, port: Any) -> int | None:
    """The number a probe's port stands for, None if it names none of the container's."""
    if isinstance(port, int):
        return port
    named = (item.get("containerPort") for item in facts.body.get("ports") or () if item.get("name") == port)
    return next((number for number in named if isinstance(number, int)), None)


def text_mode_canary(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """SGLang chat workers in text mode whose own health check asks for an answer of any length: outcome `unbounded`.

    Only where the switch is plainly on, active checks are too, and no payload can come from anywhere.
    """
    checks = (setting(facts, "DYN_HEALTH_CHECK_ENABLED").text or "").strip()
    if facts.version.core is None or checks != "true" or setting(facts, PAYLOAD).origin != "absent":
        return
    if not sglang.may_be_on(facts, sglang.TEXT):
        return
    for worker in sglang.workers(facts):
        text = sglang.switch(facts, worker, sglang.TEXT)
        if not text.on:
            continue
        plain = not sglang.special(facts, worker) and not sglang.hidden(facts, worker)
        if plain and sglang.embedding(facts, worker).on is False and PAYLOAD_FLAG not in worker.values:
            value = rule.payloads["text"]
            edit = InsertEnv(name=PAYLOAD, value=value)
            yield Outcome(key="unbounded", where=text.where, values={"payload": value}, edit=edit)
            return
