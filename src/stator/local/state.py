"""The state of graphs on this machine: where it is kept, and what it says.

One directory per graph, below `$STATOR_STATE_DIR`, else `$XDG_STATE_HOME/stator`, else `~/.local/state/stator`:

    graphs/<namespace>.<name>/
        lock              held by the supervisor as long as it lives
        supervisor.json   who supervises (pid and start time), and the marker its processes carry
        plan.json         what was started, without secret values
        status.json       `GraphStatus`, replaced atomically on change only
        supervisor.log    the supervisor's own output
        logs/<pod>.<container>.log
        kv/               the runtimes' file discovery
        pods/<pod>/       volumes and working directory

Everything is readable by its owner only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from stator.errors import Problem, StatorError
from stator.local.plan import Adaptation, ComponentSummary, Ignored, LocalPlan, ProbeKind, redacted

SCHEMA_VERSION = 1

Content = TypeVar("Content")

Phase = Literal["Starting", "Ready", "Degraded", "Stopping", "Stopped"]
"""Of a graph. `Starting`: never all Ready so far; `Degraded`: was Ready, is not; `Stopped`: nothing runs."""

Reason = Literal[
    "", "Starting", "Init", "Probe", "Canary", "CrashLoopBackOff", "RuntimeMissing", "Terminating", "Stopped"
]
"""Why a pod is not Ready, from a closed list; empty: it is. The kubelet's `CreateContainerConfigError` is found when
planning, so it stops a start and is never a state."""

ContainerState = Literal["Waiting", "Running", "Terminated"]


class ProcessIdentity(msgspec.Struct, frozen=True):
    """A process that cannot be confused with a later one of the same pid.

    `started` is field 22 of `/proc/<pid>/stat`: clock ticks since boot.
    """

    pid: int
    started: int


class ProbeFailure(msgspec.Struct, frozen=True):
    """The last failure of one probe, in the kubelet's words. `detail` is the beginning of the response body."""

    probe: ProbeKind
    message: str
    detail: str = ""


class Transition(msgspec.Struct, frozen=True):
    """A change of readiness: seconds since the supervisor started, and Unix time."""

    after: float
    at: float
    ready: bool
    reason: Reason


class ContainerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One container. `exit_code` is that of the last run (negative: ended by that signal), None before the first end.

    `started_at` is Unix time of the current run. `log` is relative to the graph's directory.
    """

    name: str
    image: str
    runtime: str
    log: str
    state: ContainerState = "Waiting"
    reason: str = ""
    message: str = ""
    process: ProcessIdentity | None = None
    started_at: float | None = None
    ready: bool = False
    restarts: int = 0
    exit_code: int | None = None
    probe_failure: ProbeFailure | None = None
    canary: str = ""


class PodStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One pod. `message` says why it is not Ready; `rule` is the compatibility rule that explains it, or empty."""

    name: str
    component: str
    type: str
    version: str
    replica: int
    ready: bool = False
    reason: Reason = "Starting"
    message: str = ""
    rule: str = ""
    restarts: int = 0
    containers: tuple[ContainerStatus, ...] = ()
    transitions: tuple[Transition, ...] = ()


class ServiceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One service port: its local address, and how many of its pods take traffic."""

    name: str
    port_name: str
    address: str
    frontend: bool
    ready: int
    total: int


class GraphStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What `status.json` holds. `revision` grows by one with each change and starts anew with each start.

    `started_at` and `ready_at` are Unix time; `ready_at` is when the graph was Ready for the first time.
    """

    name: str
    namespace: str
    phase: Phase
    revision: int
    started_at: float
    schema_version: int = SCHEMA_VERSION
    ready_at: float | None = None
    message: str = ""
    pods: tuple[PodStatus, ...] = ()
    services: tuple[ServiceStatus, ...] = ()
    components: tuple[ComponentSummary, ...] = ()
    adaptations: tuple[Adaptation, ...] = ()
    ignored: tuple[Ignored, ...] = ()

    @property
    def id(self) -> str:
        """`<namespace>.<name>`."""
        return f"{self.namespace}.{self.name}"

    @property
    def frontend(self) -> ServiceStatus | None:
        """The service users talk to, if the graph has one."""
        return next((service for service in self.services if service.frontend), None)


class SupervisorRecord(msgspec.Struct, frozen=True):
    """What `supervisor.json` holds. `marker` is the value of `STATOR_GRAPH` in all processes of this start."""

    process: ProcessIdentity
    marker: str
    started_at: float


class GraphDirectory(msgspec.Struct, frozen=True):
    """The directory of one graph; knows the file names, reads and writes them."""

    path: Path

    @property
    def id(self) -> str:
        """`<namespace>.<name>`."""
        return self.path.name

    @property
    def lock(self) -> Path:
        """Held with `flock` while a supervisor lives."""
        return self.path / "lock"

    @property
    def logs(self) -> Path:
        """Container logs."""
        return self.path / "logs"

    @property
    def kv(self) -> Path:
        """File discovery of this graph's runtimes."""
        return self.path / "kv"

    @property
    def pods(self) -> Path:
        """Volumes and working directories; removed when the graph stops."""
        return self.path / "pods"

    @property
    def supervisor_log(self) -> Path:
        """Standard error of the supervisor."""
        return self.path / "supervisor.log"

    def log_name(self, pod: str, container: str) -> str:
        """A container's log, relative to the directory."""
        return f"logs/{pod}.{container}.log"

    def write_plan(self, plan: LocalPlan) -> None:
        """Record what is started, without secret values."""
        write_atomically(self.path / "plan.json", msgspec.json.encode(redacted(plan)))

    def read_plan(self) -> LocalPlan | None:
        """What was started last (without secret values), None if nothing was."""
        return _read(self.path / "plan.json", LocalPlan)

    def write_status(self, status: GraphStatus) -> None:
        """Replace the status in one step: a reader sees the old one or the new one."""
        write_atomically(self.path / "status.json", msgspec.json.encode(status))

    def read_status(self) -> GraphStatus | None:
        """The last status, None if the graph was never started."""
        return _read(self.path / "status.json", GraphStatus)

    def status_stamp(self) -> int:
        """A number that changes when the status does; costs one `stat` (0: no status)."""
        try:
            return (self.path / "status.json").stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def write_supervisor(self, record: SupervisorRecord) -> None:
        """Record who supervises."""
        write_atomically(self.path / "supervisor.json", msgspec.json.encode(record))

    def read_supervisor(self) -> SupervisorRecord | None:
        """Who supervises, or died doing so; None after an orderly stop."""
        return _read(self.path / "supervisor.json", SupervisorRecord)

    def forget_supervisor(self) -> None:
        """The last step of a stop: nothing of this start is left."""
        with suppress(FileNotFoundError):
            (self.path / "supervisor.json").unlink()


class StateDirectory(msgspec.Struct, frozen=True):
    """Where all graphs of this user keep their state."""

    path: Path

    @staticmethod
    def default(environ: Mapping[str, str] = os.environ) -> StateDirectory:
        """`$STATOR_STATE_DIR`, else `$XDG_STATE_HOME/stator`, else `~/.local/state/stator`."""
        if own := environ.get("STATOR_STATE_DIR"):
            return StateDirectory(Path(own).absolute())
        base = environ.get("XDG_STATE_HOME") or Path(environ.get("HOME") or Path.home(), ".local", "state")
        return StateDirectory(Path(base, "stator").absolute())

    def graph(self, namespace: str, name: str) -> GraphDirectory:
        """A graph's directory, whether it exists or not. Neither name can hold a `/` (RFC 1123 names)."""
        return GraphDirectory(self.path / "graphs" / f"{namespace}.{name}")

    def graphs(self) -> Iterator[GraphDirectory]:
        """Every graph that was ever started and not removed, by id."""
        with suppress(FileNotFoundError):
            for entry in sorted((self.path / "graphs").iterdir()):
                if entry.is_dir():
                    yield GraphDirectory(entry)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file readable by its owner only, by renaming a complete sibling over it."""
    sibling = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(sibling, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    sibling.replace(path)


def _read(path: Path, kind: type[Content]) -> Content | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise StatorError(
            Problem(
                what=f"{path} cannot be read",
                why=f"{error}; it was written by another version, or by something else",
                remedy=f"stop the graph with the version that started it, or remove {path.parent}",
            )
        ) from error
