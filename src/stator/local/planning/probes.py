"""A core/v1 Probe as a local one: concrete port, concrete address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stator.local.plan import ExecCommand, HttpGet, Probe, TcpSocket, Text

_LAST_PORT = 65535


class UnknownPortError(Exception):
    """A probe or a service names a port that the container does not have."""


class UnsupportedProbeError(Exception):
    """A probe of a kind that is not run here."""


def plan_probe(
    probe: Mapping[str, Any],
    port: Callable[[Any], int],
    command: Callable[[Sequence[str]], tuple[Text, ...]],
) -> Probe:
    """`probe` with `port` resolving a port number or name, and `command` an exec command to a local one.

    Raises UnknownPortError from `port`, UnsupportedProbeError for gRPC.
    """
    return Probe(
        handler=_handler(probe, port, command),
        initial_delay=probe.get("initialDelaySeconds") or 0,
        period=probe.get("periodSeconds") or 10,
        timeout=probe.get("timeoutSeconds") or 1,
        success_threshold=probe.get("successThreshold") or 1,
        failure_threshold=probe.get("failureThreshold") or 3,
        grace=probe.get("terminationGracePeriodSeconds"),
    )


def _handler(
    probe: Mapping[str, Any],
    port: Callable[[Any], int],
    command: Callable[[Sequence[str]], tuple[Text, ...]],
) -> HttpGet | TcpSocket | ExecCommand:
    if (get := probe.get("httpGet")) is not None:
        path = get.get("path") or "/"
        return HttpGet(
            port=port(get["port"]),
            path=path if path.startswith("/") else f"/{path}",
            host=get.get("host") or "127.0.0.1",
            scheme="https" if get.get("scheme") == "HTTPS" else "http",
            headers=tuple((header["name"], header["value"]) for header in get.get("httpHeaders") or ()),
        )
    if (tcp := probe.get("tcpSocket")) is not None:
        return TcpSocket(port=port(tcp["port"]), host=tcp.get("host") or "127.0.0.1")
    if (run := probe.get("exec")) is not None and not run.get("command"):
        raise UnsupportedProbeError("an exec probe needs a command")
    if run is not None:
        return ExecCommand(argv=command(run.get("command") or ()))
    raise UnsupportedProbeError("gRPC probes are not run here")


def find_port(containers: Sequence[Mapping[str, Any]], port: Any) -> int:
    """A port by number or by name in `containers`. Raises UnknownPortError in the kubelet's words."""
    if isinstance(port, int):
        if not 1 <= port <= _LAST_PORT:
            raise UnknownPortError(f"invalid port number: {port}")
        return port
    for container in containers:
        for declared in container.get("ports") or ():
            if declared.get("name") == port:
                return int(declared["containerPort"])
    if str(port).isdecimal():
        return int(port)
    raise UnknownPortError(f"port {port} not found")
