"""Probes: the fields a container has them in, how they are written, and how they are told in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
HANDLERS = ("httpGet", "tcpSocket", "grpc", "exec")
_TIMINGS = (
    ("initialDelaySeconds", "delay"),
    ("periodSeconds", "period"),
    ("timeoutSeconds", "timeout"),
    ("failureThreshold", "failures"),
)


def http(path: str, port: str, *, period: int, timeout: int, failures: int, delay: int = 0) -> Json:
    """An HTTP GET probe; times in seconds, `port` is a port's name."""
    probe: Json = {"httpGet": {"path": path, "port": port}}
    if delay:
        probe["initialDelaySeconds"] = delay
    return {**probe, "periodSeconds": period, "timeoutSeconds": timeout, "failureThreshold": failures}


def probe_text(probe: Mapping[str, Any]) -> str:
    """A probe in one line; an `exec` command is not repeated, it may carry a credential."""
    kind = next((handler for handler in HANDLERS if probe.get(handler)), "")
    target = probe.get(kind) or {}
    what = {
        "httpGet": f"GET {target.get('path', '/')} port {target.get('port')}",
        "tcpSocket": f"TCP port {target.get('port')}",
        "grpc": f"gRPC port {target.get('port')}",
        "exec": "exec",
    }.get(kind, "no handler")
    return ", ".join([what, *(f"{word} {probe[field]}" for field, word in _TIMINGS if field in probe)])
