"""Rendered Services as local addresses, and their names in texts as those addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from stator.local.kubelet.environment import ServiceAddress
from stator.local.plan import ServicePlan
from stator.local.planning.notes import Notes
from stator.local.planning.ports import PortAllocator


def allocate_services(
    services: Sequence[Mapping[str, Any]], frontends: frozenset[str], ports: PortAllocator, notes: Notes
) -> tuple[ServicePlan, ...]:
    """An address for each port of each Service, without targets yet.

    A frontend's is the one people type, so it keeps its declared port if that is free; the others get any.
    """
    planned = []
    for service in services:
        name = service["metadata"]["name"]
        for port in service["spec"].get("ports") or ():
            declared = int(port["port"])
            local = ports.prefer(declared) if name in frontends else ports.allocate()
            planned.append(
                ServicePlan(
                    name=name,
                    port_name=port.get("name") or "",
                    cluster_port=declared,
                    port=local,
                    targets=(),
                    frontend=name in frontends,
                )
            )
            cluster, here = f"{name}:{declared}", planned[-1].address
            why = "a service is a TCP proxy to its ready pods"
            if name in frontends and local != declared:
                why += f"; port {declared} is taken on this machine"
            notes.adapt("", f"service {name}", cluster=cluster, local=here, why=why)
    return tuple(planned)


def addresses(services: Sequence[ServicePlan]) -> tuple[ServiceAddress, ...]:
    """What containers are told about the services."""
    return tuple(
        ServiceAddress(name=service.name, port_name=service.port_name, host="127.0.0.1", port=service.port)
        for service in services
    )


class ServiceNames:
    """Replaces `name:port` of the graph's services, in every form DNS accepts, by the local address."""

    def __init__(self, services: Sequence[ServicePlan], namespace: str) -> None:
        self._addresses = {(service.name, service.cluster_port): service.address for service in services}
        names = "|".join(sorted({re.escape(service.name) for service in services}, key=len, reverse=True))
        domain = rf"(?:\.{re.escape(namespace)}(?:\.svc(?:\.cluster\.local)?)?)?\.?"
        self._pattern = re.compile(rf"(?<![\w.-])({names}){domain}:(\d+)(?!\d)") if services else None

    def localise(self, text: str) -> str:
        """`text` with the addresses of services replaced; an unknown port stays as it is."""

        def replacement(found: re.Match[str]) -> str:
            return self._addresses.get((found[1], int(found[2])), found[0])

        return self._pattern.sub(replacement, text) if self._pattern else text
