"""When is a start decided? A pure judgement of a graph's status over time.

A graph is Ready, or it is waited for, or waiting has become pointless: a process that dies at start will die again,
and a health check that the runtime rejected twice is rejected for ever.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from stator.local.state import GraphStatus, PodStatus

Settled = Literal["ready", "canary", "failed", ""]

# The runtimes ask themselves every 10 s when idle (DYN_CANARY_WAIT_TIME): so the second rejection has been seen too.
CANARY_PATIENCE = 15.0


class Settlement(msgspec.Struct, frozen=True):
    """`state` is empty while waiting goes on. `why` names every pod that is not Ready."""

    state: Settled
    why: str = ""


def settle(status: GraphStatus, *, waited: float, timeout: float) -> Settlement:
    """What to make of a status `waited` seconds after the start."""
    if status.phase == "Ready":
        return Settlement("ready")
    if status.phase == "Stopped":
        return Settlement("failed", status.message or "it was stopped")
    late = [pod for pod in status.pods if not pod.ready]
    why = "; ".join(f"{pod.name} ({pod.version}): {pod.reason}{_message(pod)}" for pod in late)
    if any(pod.reason == "RuntimeMissing" or (pod.reason == "CrashLoopBackOff" and pod.restarts) for pod in late):
        return Settlement("failed", why)
    if late and all(pod.reason == "Canary" and waited - _since(pod) >= CANARY_PATIENCE for pod in late):
        return Settlement("canary", why)
    if waited >= timeout:
        return Settlement("failed", f"not Ready after {timeout:g} s: {why or status.phase}")
    return Settlement("")


def _since(pod: PodStatus) -> float:
    return pod.transitions[-1].after if pod.transitions else 0


def _message(pod: PodStatus) -> str:
    return f": {pod.message}" if pod.message else ""
