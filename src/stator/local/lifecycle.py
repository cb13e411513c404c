"""Start, stop and look at graphs on this machine: what the command line calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from stator.local.plan import LocalPlan
from stator.local.settings import KUBELET, Settings
from stator.local.state import GraphDirectory, GraphStatus, StateDirectory


class LogLine(msgspec.Struct, frozen=True):
    """One line of a container's log, without its line end."""

    pod: str
    container: str
    text: str


def start(plan: LocalPlan, *, settings: Settings = KUBELET) -> GraphDirectory:
    """Start a planned graph under a supervisor of its own, and return as soon as its pods are being started.

    The supervisor is detached: it outlives this process. Raises StatorError, with nothing left running, if the graph
    is already running, a port was taken since planning, or the disk refuses.
    """
    raise NotImplementedError


def stop(graph: GraphDirectory) -> GraphStatus | None:
    """Stop a graph and return when nothing of it runs any more; its logs stay.

    Waits for the pods' own grace. Returns the last status, None if the graph was never started.
    """
    raise NotImplementedError


def is_running(graph: GraphDirectory) -> bool:
    """Whether a supervisor looks after this graph now."""
    raise NotImplementedError


def list_graphs(state: StateDirectory) -> tuple[GraphStatus, ...]:
    """The status of every graph that was ever started here, by id; `phase` tells which ones run."""
    raise NotImplementedError


def clean_up_dead(state: StateDirectory) -> tuple[str, ...]:
    """End what supervisors left behind that were killed, and return the ids of those graphs.

    Every command calls this first.
    """
    raise NotImplementedError


def watch(graph: GraphDirectory, *, timeout: float | None = None, interval: float = 0.2) -> Iterator[GraphStatus]:
    """The current status, then each newer one, until the graph is `Stopped` or `timeout` seconds have passed.

    Costs one `stat` per `interval` seconds. A supervisor that dies is seen: the graph is cleaned up, and its last
    status is `Stopped`.
    """
    raise NotImplementedError


def follow_logs(
    graph: GraphDirectory,
    *,
    select: Sequence[str] = (),
    follow: bool = False,
    lines: int | None = None,
) -> Iterator[LogLine]:
    """Log lines of the containers, each file in its order.

    `select` are names of components or pods (empty: all); `lines` is how many of the last lines of each container to
    begin with (None: all that are kept). `follow` goes on until the graph is stopped.
    """
    raise NotImplementedError
