"""Pods that start and stop one by one: each is a graph of one pod, under a supervisor of its own.

A *generation* is the graph at one set of releases, planned as a whole, so that its workers carry the hash of their
generation and old and new find each other exactly as in a cluster. All generations share one discovery directory.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from stator.local import lifecycle
from stator.local.plan import LocalPlan, PodPlan, ServicePlan, Target
from stator.local.preparation import Preparation, prepare
from stator.local.settings import Settings
from stator.local.state import GraphDirectory, StateDirectory
from stator.matrix.exchange import Request, send
from stator.matrix.running.cell import release_of
from stator.matrix.running.settling import settle
from stator.matrix.scenarios import MOCKER
from stator.model import Graph, Inventory

_POLL = 0.05
_METRICS_TIMEOUT = 5.0
_SERVED = re.compile(
    r'^dynamo_component_request_duration_seconds_count\{[^}]*dynamo_endpoint="generate"[^}]*\} (\d+)', re.MULTILINE
)


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One planned pod of one generation."""

    generation: int
    plan: LocalPlan

    @property
    def pod(self) -> PodPlan:
        """The only one."""
        return self.plan.pods[0]

    @property
    def directory(self) -> GraphDirectory:
        """Where its state is."""
        return GraphDirectory(Path(self.plan.directory))

    @property
    def version(self) -> str:
        """The release, without its source."""
        return release_of(self.pod)

    @property
    def mocker(self) -> bool:
        """Whether it runs the mocker, in the place of an engine or because the graph says so."""
        return any(MOCKER in container.argv for container in self.pod.containers)

    def start(self, settings: Settings) -> None:
        """Start it; it ends with this process. Raises StatorError if it cannot be."""
        lifecycle.start(self.plan, settings=settings, bound=True)

    def stop(self) -> None:
        """End it with its own grace."""
        lifecycle.stop(self.directory)

    def wait(self, *, timeout: float) -> str:
        """Wait until it is Ready, at most `timeout` seconds; why it is not, or an empty text."""
        began = time.monotonic()
        while True:
            if status := self.directory.read_status():
                settlement = settle(status, waited=time.monotonic() - began, timeout=timeout)
                if settlement.state:
                    return settlement.why
            time.sleep(_POLL)

    def served(self) -> int | None:
        """How many requests its worker has completed, as its own metrics say; None if they do not say it."""
        container = self.pod.containers[0]
        port = container.env.get("DYN_SYSTEM_PORT")
        if not isinstance(port, str) or not port.isdecimal():
            return None
        exchange = send(f"127.0.0.1:{port}", Request("/metrics"), timeout=_METRICS_TIMEOUT)
        counts = _SERVED.findall(exchange.body)
        return sum(map(int, counts)) if counts else None


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """A planned graph as units, and the frontend's Service with the targets in this generation."""

    number: int
    units: tuple[Unit, ...]
    service: ServicePlan | None

    def of(self, components: tuple[str, ...]) -> tuple[Unit, ...]:
        """The units of these components."""
        return tuple(unit for unit in self.units if unit.pod.component in components)

    def targets(self, units: tuple[Unit, ...]) -> tuple[Target, ...]:
        """Where the Service leads, of these units."""
        names = {unit.pod.name for unit in units if unit.generation == self.number}
        return tuple(
            # Pods of two generations may have one name.
            Target(f"{self.number}/{target.pod}", target.port)
            for target in (self.service.targets if self.service else ())
            if target.pod in names
        )


def plan_generation(
    graph: Graph,
    inventory: Inventory,
    how: Preparation,
    *,
    number: int,
    taken: frozenset[int],
    say: Callable[[str], None],
) -> Generation:
    """Plan the graph at one set of releases. `taken` are the ports of other generations.

    Raises StatorError as `prepare` does.
    """
    root = how.state.path
    own = msgspec.structs.replace(
        how,
        state=StateDirectory(root / "generations" / str(number)),
        discovery=root / "kv",
        taken=taken,
    )
    ((_, plan),) = prepare(msgspec.structs.replace(inventory, graphs=(graph,)), own, progress=say)
    return Generation(
        number=number,
        units=tuple(_unit(plan, pod, number, how.state) for pod in plan.pods),
        service=next((service for service in plan.services if service.frontend), None),
    )


def _unit(plan: LocalPlan, pod: PodPlan, number: int, state: StateDirectory) -> Unit:
    name = f"{pod.name}-{number}"
    directory = state.graph(plan.namespace, name).path
    own = msgspec.structs.replace(plan, name=name, directory=str(directory), pods=(pod,), services=())
    return Unit(generation=number, plan=own)


def last_lines(unit: Unit, lines: int = 20) -> tuple[str, ...]:
    """The end of a unit's logs, for a report."""
    with suppress(OSError):
        return tuple(line.text for line in lifecycle.follow_logs(unit.directory, lines=lines))
    return ()
