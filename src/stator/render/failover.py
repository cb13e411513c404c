"""Failover inside a pod: a second engine stands by on the same GPUs, and takes over when the first one dies.

Both engines are the main container, told apart by `ENGINE_ID` and a port of their own; a lock file in the volume of
the GPU memory service says which one serves. A standing-by engine is not ready, and says so itself: the canary and
the health of single endpoints would call it broken.

Rendered for vLLM and SGLang on one node, as the published 1.6.1 runtime reads it; elsewhere it is named as missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stator.render.backends.injection import Argv, NoPlaceError, invocation_of, with_flags
from stator.render.backends.parallelism import option
from stator.render.backends.setters import literal, set_by
from stator.render.context import Context, copied
from stator.render.environment import Entry
from stator.render.manifest import NotRendered, Provenance
from stator.render.memory_service import DIRECTORY, memory_service
from stator.render.probes import PROBES

Json = dict[str, Any]

_PATH = ("experimental", "failover")
_ENGINES = 2
_SYSTEM_PORT = 9090
_SIDE_CHANNEL_PORT = 5600
_MASTER_PORT = 29500
# Far enough for the ports that an engine takes above its master port.
_STRIDE = 100
_MASTER_PORT_FLAG = "--master-port"
_SGLANG_FLAG = "--disable-piecewise-cuda-graph"
_FRAMEWORKS = ("sglang", "vllm")
_TAKEN_AWAY = frozenset({"DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", "DYN_HEALTH_CHECK_ENABLED"})
_DETAIL = "failover engine"


class Engines(msgspec.Struct, frozen=True):
    """Who set what in the engines, and what could not be made."""

    provenance: tuple[Provenance, ...] = ()
    missing: tuple[NotRendered, ...] = ()


def with_engines(context: Context, spec: Json, env: Sequence[Entry]) -> Engines:
    """Put the engines in the place of the pod's first container, whose environment's history is `env`."""
    wanted = (context.component.other.get("experimental") or {}).get("failover")
    if wanted is None or wanted.get("mode", "IntraPod") != "IntraPod":
        return Engines()
    if why := _why_not(context):
        path = (*context.component.path, *_PATH)
        return Engines(missing=(NotRendered(path, context.at(*_PATH), why),))
    main = spec["containers"][0]
    provenance: list[Provenance] = []
    missing: list[NotRendered] = []
    before = {entry.name: (*entry.replaced, entry.setter) for entry in env}
    engines = [_engine(context, main, number, provenance, missing) for number in range(_ENGINES)]
    provenance = [
        msgspec.structs.replace(item, replaced=before.get(item.name, ())) if item.subject == "env" else item
        for item in provenance
    ]
    spec["containers"] = [*engines, *spec["containers"][1:]]
    return Engines(tuple(provenance), tuple(missing))


def _why_not(context: Context) -> str:
    if memory_service(context) is None:
        return "no shadow engine is made: two engines share GPUs only through the GPU memory service inside the pod"
    if context.role.nodes > 1:
        return "no shadow engine is made for an engine that spans nodes"
    if context.backend not in _FRAMEWORKS:
        return f"no shadow engine is made for {context.backend}"
    return ""


def _engine(
    context: Context, main: Json, number: int, provenance: list[Provenance], missing: list[NotRendered]
) -> Json:
    engine: Json = copied(main)
    engine["name"] = name = f"engine-{number}"
    port = f"system-{number}"
    engine["ports"] = [{"name": port, "containerPort": _SYSTEM_PORT + number, "protocol": "TCP"}]
    added = _env(context, name, number)
    replaced = _TAKEN_AWAY | {entry.name for entry in added}
    engine["env"] = [
        *(entry for entry in engine.get("env") or () if entry["name"] not in replaced),
        *(entry.written() for entry in added),
    ]
    provenance.extend(entry.provenance(context.role.label(name)) for entry in added)
    for field in PROBES:
        if target := (engine.get(field) or {}).get("httpGet"):
            target["port"] = port
    try:
        placed, flags = _flags(context, engine, number)
    except NoPlaceError as error:
        why = f"engine {number} gets no flags of its own: {error}"
        missing.append(NotRendered((*context.component.path, *_PATH), context.at(*_PATH), why))
        return engine
    for field, words in (("command", placed.command), ("args", placed.args)):
        if words:
            engine[field] = list(words)
    own = msgspec.structs.replace(context, container=name)
    provenance.extend(set_by(own, _DETAIL, "flag", flag, value) for flag, value in flags)
    return engine


def _env(context: Context, name: str, number: int) -> Sequence[Entry]:
    values = {
        "ENGINE_ID": str(number),
        "CONTAINER_NAME": name,
        "FAILOVER_LOCK_PATH": f"{DIRECTORY}/failover.lock",
        "DYN_SYSTEM_STARTING_HEALTH_STATUS": "notready",
        "DYN_SYSTEM_PORT": str(_SYSTEM_PORT + number),
        "DYN_SYSTEM_ENABLED": "true",
    }
    if context.backend == "vllm":
        values["DYN_VLLM_GMS_SHADOW_MODE"] = "true"
        values["VLLM_NIXL_SIDE_CHANNEL_PORT"] = str(_SIDE_CHANNEL_PORT + number)
    return [literal(variable, value, _DETAIL) for variable, value in values.items()]


def _flags(context: Context, engine: Json, number: int) -> tuple[Argv, list[tuple[str, str]]]:
    """The engine's command line with what keeps it out of the other's way. Raises NoPlaceError."""
    argv = Argv(tuple(engine.get("command") or ()), tuple(engine.get("args") or ()))
    given = invocation_of(argv, context.backend).argv
    if context.backend == "sglang":
        if _SGLANG_FLAG in given:
            return argv, []
        return with_flags(argv, "sglang", [_SGLANG_FLAG]), [(_SGLANG_FLAG, "")]
    if number == 0:
        return argv, []
    own = option(given, (_MASTER_PORT_FLAG,))
    if own is None:
        port = str(_MASTER_PORT + number * _STRIDE)
        return with_flags(argv, "vllm", [_MASTER_PORT_FLAG, port]), [(_MASTER_PORT_FLAG, port)]
    if not own.isdecimal():
        raise NoPlaceError(f'{_MASTER_PORT_FLAG} is "{own}", which is no literal number')
    port = str(int(own) + number * _STRIDE)
    words = (_MASTER_PORT_FLAG, own), f"{_MASTER_PORT_FLAG}={own}"
    moved = Argv(_moved(argv.command, words, port), _moved(argv.args, words, port))
    if option(invocation_of(moved, "vllm").argv, (_MASTER_PORT_FLAG,)) != port:
        raise NoPlaceError(f"the place of {_MASTER_PORT_FLAG} is not clear")
    return moved, [(_MASTER_PORT_FLAG, port)]


def _moved(entries: Sequence[str], words: tuple[tuple[str, str], str], port: str) -> tuple[str, ...]:
    """The entries with another value of the flag, as two words, as one, or inside a script."""
    (flag, old), attached = words
    moved = list(entries)
    for index, entry in enumerate(moved):
        if entry == flag and moved[index + 1 : index + 2] == [old]:
            moved[index + 1] = port
        else:
            moved[index] = entry.replace(attached, f"{flag}={port}").replace(f"{flag} {old}", f"{flag} {port}")
    return tuple(moved)
