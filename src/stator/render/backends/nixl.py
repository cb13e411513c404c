"""The NIXL telemetry exporter's ports of an SGLang worker: one per GPU, since every rank binds its own.

The port list has to be known when the pod is made, so what decides it must be literal, or is assumed on. The
spellings and limits are the upstream operator's: only `y` opens the ranks' ports, the other spellings of "yes" keep
the single port that older releases declared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from stator.errors import Problem
from stator.render.context import Context
from stator.render.environment import Entry
from stator.render.resources import gpu_count

Json = dict[str, Any]

ENABLE = "NIXL_TELEMETRY_ENABLE"
EXPORTER = "NIXL_TELEMETRY_EXPORTER"
PORT = "NIXL_TELEMETRY_PROMETHEUS_PORT"

_PORT_NAME = "nixl"
_MAX_RANKS = 8
_MAX_PORT = 65535
_SINGLE_PORT = frozenset({"1", "yes", "on", "true", "enable"})
_OFF = frozenset({"n", "0", "no", "off", "false", "disable"})
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")


def exporter_ports(
    context: Context, body: Mapping[str, Any], env: Sequence[Entry], problems: list[Problem]
) -> list[Json]:
    """The container's ports, with `nixl` … `nixl-7` for the ranks' exporters where they are on.

    `body` is the main container, `env` its merged environment. Adds to `problems` what makes the ports undecidable.
    """
    ports = list(body.get("ports") or ())
    if context.backend != "sglang" or all(port.get("name") != _PORT_NAME for port in ports):
        return ports
    entries = {entry.name: entry for entry in env}
    state = _state(context, entries, problems)
    if state == "off" or (base := _base(context, entries.get(PORT), problems)) is None:
        return ports
    ranks = max(1, gpu_count(body.get("resources") or {}))
    if ranks > _MAX_RANKS and state == "on":
        why = f"{ranks} GPUs need {ranks} exporter ports, at most {_MAX_RANKS} can be declared"
        problems.append(_problem(context, entries[ENABLE], why, f'set {ENABLE} to "n"'))
        return ports
    ranks = min(ranks, _MAX_RANKS)
    if base + ranks - 1 > _MAX_PORT:
        why = f"{ranks} ports from {base} on go past {_MAX_PORT}"
        problems.append(_problem(context, entries[PORT], why, "start lower"))
        return ports
    return _declared(ports, base, ranks)


def _state(
    context: Context, entries: Mapping[str, Entry], problems: list[Problem]
) -> Literal["off", "on", "possibly on"]:
    """Whether the ranks export; "possibly on" if only the running pod knows."""
    enable, exporter = entries.get(ENABLE), entries.get(EXPORTER)
    if enable is None or exporter is None:
        return "off"
    if not _sourced(enable):
        switch = _literal(enable).lower()
        if switch != "y":
            if switch not in _OFF | _SINGLE_PORT:
                why = f'"{_literal(enable)}" is not a switch'
                problems.append(_problem(context, enable, why, 'use "y" or "n"'))
            return "off"
    if not _sourced(exporter) and _literal(exporter) != "prometheus":
        return "off"
    return "possibly on" if _sourced(enable) or _sourced(exporter) else "on"


def _declared(ports: Sequence[Json], base: int, ranks: int) -> list[Json]:
    """The ports with `nixl` at `base` and the other ranks' right behind it; a name that is taken stays."""
    taken = {port.get("name") for port in ports}
    declared: list[Json] = []
    for port in ports:
        if port.get("name") != _PORT_NAME:
            declared.append(port)
            continue
        declared.append({**port, "containerPort": base})
        declared.extend(
            {"name": name, "containerPort": base + rank, "protocol": "TCP"}
            for rank in range(1, ranks)
            if (name := f"{_PORT_NAME}-{rank}") not in taken
        )
    return declared


def _base(context: Context, entry: Entry | None, problems: list[Problem]) -> int | None:
    """The first rank's port; None if there is none, which is a problem when the variable is there but unusable."""
    if entry is None:
        return None
    remedy = f"set {PORT} to a number from 1 to {_MAX_PORT}"
    if _sourced(entry):
        problems.append(_problem(context, entry, "it is only known when the pod starts", remedy))
        return None
    text = _literal(entry)
    number = int(text, 16 if text[:2].lower() == "0x" else 10) if _NUMBER.fullmatch(text) else 0
    if not 1 <= number <= _MAX_PORT:
        problems.append(_problem(context, entry, f'"{text}" is not a port', remedy))
        return None
    return number


def _sourced(entry: Entry) -> bool:
    return bool(entry.body.get("valueFrom"))


def _literal(entry: Entry) -> str:
    return str(entry.body.get("value") or "")


def _problem(context: Context, entry: Entry, why: str, remedy: str) -> Problem:
    return Problem(
        what=f"component {context.component.name}: {entry.name} does not give the exporter's ports",
        position=entry.setter.position,
        why=why,
        remedy=remedy,
    )
