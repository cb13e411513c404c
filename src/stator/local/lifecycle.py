"""Start, stop and look at graphs on this machine: what the command line calls."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stator.errors import ExitCode, Problem, StatorError
from stator.local import processes
from stator.local.logs import LogLine, follow_logs
from stator.local.plan import LocalPlan
from stator.local.settings import KUBELET, Settings
from stator.local.state import GraphDirectory, GraphStatus, StateDirectory
from stator.local.supervisor.files import remove
from stator.local.supervisor.order import Answer, Order

__all__ = [
    "LocalRunError",
    "LogLine",
    "clean_up_dead",
    "follow_logs",
    "is_running",
    "list_graphs",
    "reserved_ports",
    "start",
    "stop",
    "watch",
]

# What an orphan gets to end by itself. Short, because whoever runs the next command waits for it.
_ORPHAN_GRACE = 5.0

# What ending takes beyond the pods' own grace before a supervisor is taken for hung.
_BEYOND_GRACE = 15.0

_LOCK_PATIENCE = 5.0

_POLL = 0.05


class LocalRunError(StatorError):
    """A graph could not be started or stopped on this machine."""

    exit_code = ExitCode.USAGE


def start(plan: LocalPlan, *, settings: Settings = KUBELET, bound: bool = False) -> GraphDirectory:
    """Start a planned graph under a supervisor of its own, and return as soon as its pods are being started.

    The supervisor is detached: it outlives this process, unless the graph is `bound` to it: then it is stopped in
    order when this process ends, however it ends. Raises StatorError, with nothing left running, if the graph is
    already running, a port was taken since planning, or the disk refuses.
    """
    if sys.platform != "linux":
        raise LocalRunError(Problem(what="a graph runs on Linux only", why="processes are watched through /proc"))
    graph = GraphDirectory(Path(plan.directory))
    try:
        graph.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(graph) as lock:
            if lock is None:
                raise already_running(graph)
            _clean_up(graph)
            _spawn(plan, settings, graph, lock, bound=bound)
    except OSError as error:
        raise LocalRunError(
            Problem(
                what=f"graph {graph.id} cannot be started",
                why=f"{error.filename or graph.path}: {(error.strerror or str(error)).lower()}",
                remedy="free space, or set STATOR_STATE_DIR to a directory that can be written",
            )
        ) from error
    return graph


def stop(graph: GraphDirectory) -> GraphStatus | None:
    """Stop a graph and return when nothing of it runs any more; its logs stay.

    Waits for the pods' own grace (terminationGracePeriodSeconds). Returns the last status, None if the graph was
    never started.
    """
    record = graph.read_supervisor()
    if record and processes.send(record.process, signal.SIGTERM):
        plan = graph.read_plan()
        grace = max((pod.grace for pod in plan.pods), default=0) if plan else 0
        deadline = time.monotonic() + grace + _BEYOND_GRACE
        while processes.is_alive(record.process) and time.monotonic() < deadline:
            time.sleep(_POLL)
        processes.send(record.process, signal.SIGKILL)
    _clean_up_if_dead(graph)
    return graph.read_status()


def is_running(graph: GraphDirectory) -> bool:
    """Whether a supervisor looks after this graph now."""
    record = graph.read_supervisor()
    return record is not None and processes.is_alive(record.process)


def list_graphs(state: StateDirectory) -> tuple[GraphStatus, ...]:
    """The status of every graph that was ever started here, by id; `phase` tells which ones run.

    One that cannot be read keeps nobody from the others: it counts as stopped, and its message says why.
    """
    return tuple(status for graph in state.graphs() if (status := _status(graph)) is not None)


def _status(graph: GraphDirectory) -> GraphStatus | None:
    try:
        return graph.read_status()
    except StatorError as error:
        namespace, _, name = graph.id.partition(".")
        message = error.problems[0].what
        return GraphStatus(name=name, namespace=namespace, phase="Stopped", revision=0, started_at=0, message=message)


def reserved_ports(state: StateDirectory) -> frozenset[int]:
    """The ports that running graphs were planned with, whether something listens there yet or not."""
    plans = (graph.read_plan() for graph in state.graphs() if is_running(graph))
    return frozenset(port for plan in plans if plan is not None for port in plan.ports)


def clean_up_dead(state: StateDirectory) -> tuple[str, ...]:
    """End what supervisors left behind that were killed, and return the ids of those graphs.

    Every command calls this first.
    """
    return _clean_up_all(state.graphs())


def watch(
    graphs: Sequence[GraphDirectory], *, timeout: float | None = None, interval: float = 0.2
) -> Iterator[tuple[GraphStatus, ...]]:
    """The current statuses, then all of them whenever one is newer, until every graph is `Stopped`.

    Ends earlier after `timeout` seconds. Costs one `stat` per graph and `interval` seconds. A supervisor that dies is
    seen: the graph is cleaned up, and its last status is `Stopped`.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    stamps: tuple[int, ...] = ()
    while True:
        if (newer := tuple(graph.status_stamp() for graph in graphs)) != stamps:
            stamps = newer
            statuses = tuple(status for graph in graphs if (status := graph.read_status()) is not None)
            yield statuses
            if all(status.phase == "Stopped" for status in statuses):
                return
        elif _clean_up_all(graphs):
            continue
        if deadline is not None and time.monotonic() >= deadline:
            return
        time.sleep(interval)


def _spawn(plan: LocalPlan, settings: Settings, graph: GraphDirectory, lock: int, *, bound: bool) -> None:
    """Hand the order to a new supervisor, and wait for its answer."""
    owner = processes.identify(os.getpid()) if bound else None
    order = msgspec.json.encode(Order(plan, uuid.uuid4().hex, settings, owner))
    # A graph may be started from a process of another graph; the supervisor is no member of that one.
    env = {name: value for name, value in os.environ.items() if name != processes.MARKER}
    descriptor = os.open(graph.supervisor_log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as log:
        supervisor = subprocess.Popen(
            # -P: what lies in the working directory is not to be imported.
            [sys.executable, "-P", "-m", "stator.local.supervisor"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=env,
            cwd=graph.path,
            start_new_session=True,
            pass_fds=(lock,),
        )
    try:
        # Ends as soon as the supervisor has answered: the process started here forks and is gone by then.
        text, _ = supervisor.communicate(order)
        answer = msgspec.json.decode(text, type=Answer)
    except msgspec.DecodeError as error:
        raise LocalRunError(
            Problem(
                what=f"the supervisor of graph {graph.id} did not start",
                why=_last_words(graph.supervisor_log),
                remedy=f"see {graph.supervisor_log}",
            )
        ) from error
    if answer.problems:
        raise LocalRunError(*answer.problems)


def _last_words(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it ended without a word"


def already_running(graph: GraphDirectory) -> LocalRunError:
    """The error of starting a graph that a supervisor looks after already."""
    record = graph.read_supervisor()
    return LocalRunError(
        Problem(
            what=f"graph {graph.id} is already running",
            why=f"process {record.process.pid} supervises it" if record else "another process is starting it now",
            remedy="stop it first, or start the graph under another name or namespace",
        )
    )


@contextmanager
def _locked(graph: GraphDirectory) -> Iterator[int | None]:
    """The graph's lock as a file descriptor, None if somebody else holds it.

    The lock belongs to the open file, not to a process: a supervisor that inherits the descriptor keeps it when
    this process closes its own, and the kernel lets go of it when the last one is closed.
    """
    descriptor = os.open(graph.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield None
    else:
        yield descriptor
    finally:
        os.close(descriptor)


def _clean_up_all(graphs: Iterable[GraphDirectory]) -> tuple[str, ...]:
    return tuple(graph.id for graph in graphs if _clean_up_if_dead(graph))


def _clean_up_if_dead(graph: GraphDirectory) -> bool:
    """Clean up after a supervisor that is dead; False if there is none, or somebody else does.

    A dying process keeps its lock until its last thread is gone, which may be a moment after it counts as dead.
    """
    deadline = time.monotonic() + _LOCK_PATIENCE
    while (record := graph.read_supervisor()) is not None and not processes.is_alive(record.process):
        with _locked(graph) as lock:
            if lock is not None:
                return _clean_up(graph)
        if time.monotonic() >= deadline:
            break
        time.sleep(_POLL)
    return False


def _clean_up(graph: GraphDirectory) -> bool:
    """End and remove what a dead supervisor left behind; to be called with the lock held. False: there is nothing."""
    record = graph.read_supervisor()
    if record is None:
        return False
    status = graph.read_status()
    leaders = [
        container.process
        for pod in (status.pods if status else ())
        for container in pod.containers
        if container.process is not None
    ]
    ended = processes.end(lambda: processes.members(record.marker, leaders), grace=_ORPHAN_GRACE)
    remove(graph.pods)
    remove(graph.kv)
    if status is not None:
        message = f"its supervisor was killed; {ended} processes it left behind were ended"
        graph.write_status(_stopped(status, message))
    graph.forget_supervisor()
    return True


def _stopped(status: GraphStatus, message: str) -> GraphStatus:
    pods = tuple(
        msgspec.structs.replace(
            pod,
            ready=False,
            reason="Stopped",
            message="",
            containers=tuple(
                msgspec.structs.replace(container, state="Terminated", ready=False, process=None)
                for container in pod.containers
            ),
        )
        for pod in status.pods
    )
    services = tuple(msgspec.structs.replace(service, ready=0) for service in status.services)
    return msgspec.structs.replace(
        status, phase="Stopped", revision=status.revision + 1, message=message, pods=pods, services=services
    )
