"""What a matrix run has seen, as values and as one file that grows by a cell at a time.

The file is the JSON report, and also what an interrupted run goes on from. A cell without a result is *no evidence*:
nothing here turns what was not run into a pass.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from stator.errors import InvalidInputError, Problem
from stator.local.state import write_atomically
from stator.matrix.canary import Contract
from stator.matrix.cells import Cell
from stator.matrix.checks import CheckResult

SCHEMA_VERSION = 1

Outcome = Literal["pass", "fail", "no evidence"]
Verdict = Literal["pass", "known bad", "fail", "unexpected pass", "no evidence"]
"""`known bad`: failed, as the rule says whose repair it went without. `unexpected pass`: the same, but it passed."""


class Moment(msgspec.Struct, frozen=True):
    """A change of a pod's readiness, in seconds since the start of the cell's graph; `reason` is empty for Ready."""

    after: float
    ready: bool
    reason: str


class PodTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """How a pod's readiness went."""

    name: str
    component: str
    version: str
    restarts: int
    transitions: tuple[Moment, ...]
    message: str = ""


class LogTail(msgspec.Struct, frozen=True, kw_only=True):
    """The last lines of a container; kept where a cell did not pass."""

    pod: str
    container: str
    lines: tuple[str, ...]


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one cell.

    `why` says it in words where it did not pass. `broken_by` are the rules that say it must fail. `seconds` is the
    whole cell, `ready_after` its start-up; `memory` is the proportional set size of all its processes in bytes, at
    the end. `at` is Unix time. `runtimes` maps a component to what stood for its image.
    """

    cell: Cell
    outcome: Outcome
    why: str = ""
    broken_by: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    contracts: tuple[Contract, ...] = ()
    pods: tuple[PodTimeline, ...] = ()
    logs: tuple[LogTail, ...] = ()
    runtimes: Mapping[str, str] = {}
    seconds: float = 0
    ready_after: float | None = None
    memory: int = 0
    at: float = 0
    directory: str = ""

    @property
    def verdict(self) -> Verdict:
        """The outcome, measured by what was to be expected."""
        if self.outcome == "no evidence" or not self.broken_by:
            return self.outcome
        return "unexpected pass" if self.outcome == "pass" else "known bad"

    @property
    def failed_checks(self) -> tuple[str, ...]:
        """The names of the checks with a violation."""
        return tuple(check.name for check in self.checks if not check.passed)


class MachineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Where it ran."""

    system: str
    cpus: int
    memory: int
    python: str


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster it ran on: the server's release, what the user's kubeconfig calls it, and what tells it apart.

    `uid` is that of its namespace `kube-system`, which is as old as the cluster.
    """

    kubernetes: str
    context: str
    uid: str = ""

    def __str__(self) -> str:
        """As a message names it."""
        return f"context {self.context} (Kubernetes {self.kubernetes}, uid of kube-system {self.uid or 'not known'})"


class MatrixRun(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run: what was planned, and the results so far by cell id. Times are Unix time, 0: not yet.

    `machine` is where the command ran, and its cells too unless there is a `cluster`.
    """

    stator: str
    operator: str
    window: tuple[str, ...]
    plan: tuple[Cell, ...]
    digest: str
    machine: MachineFacts
    started_at: float
    finished_at: float = 0
    results: dict[str, CellResult] = {}
    engines: Mapping[str, str] = {}
    cluster: ClusterFacts | None = None
    schema_version: int = SCHEMA_VERSION

    def result(self, cell: Cell) -> CellResult:
        """What is known of a planned cell; a cell that was not run is no evidence."""
        return self.results.get(cell.id) or CellResult(cell=cell, outcome="no evidence", why="it was not run")

    def with_result(self, result: CellResult) -> MatrixRun:
        """The run with one more result."""
        return msgspec.structs.replace(self, results={**self.results, result.cell.id: result})

    def count(self) -> dict[Verdict, int]:
        """How many planned cells have each verdict; a verdict nothing has is not listed."""
        verdicts = [self.result(cell).verdict for cell in self.plan]
        return {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}

    def to_do(self, *, failed: bool) -> tuple[Cell, ...]:
        """The planned cells without a result; with `failed` also those that failed or gave no evidence."""
        again = {"fail", "unexpected pass", "no evidence"} if failed else set[str]()
        return tuple(
            cell for cell in self.plan if cell.id not in self.results or self.results[cell.id].verdict in again
        )


def blame(run: MatrixRun, cell: Cell) -> str:
    """Whether the mix of releases is what made a failed cell fail, in words; empty for a cell that did not fail."""
    result = run.result(cell)
    if result.verdict != "fail":
        return ""
    if not cell.controls:
        return f"{cell.pair.frontend} alone, no mix"
    controls = [run.result(control) for control in cell.controls]
    missing = [str(control.cell.pair) for control in controls if control.outcome == "no evidence"]
    if missing:
        return f"cannot be told: no evidence for the control {', '.join(missing)}"
    failed = [control for control in controls if control.outcome == "fail"]
    alike = [str(control.cell.pair.worker) for control in failed if _alike(result, control)]
    if alike:
        return f"not the mix: {' and '.join(alike)} alone {'fails' if len(alike) == 1 else 'fail'} in the same way"
    if failed:
        others = " and ".join(str(control.cell.pair.worker) for control in failed)
        return f"cannot be told: {others} alone {'fails' if len(failed) == 1 else 'fail'} in another way"
    return "the mix: both releases pass alone"


def _alike(result: CellResult, control: CellResult) -> bool:
    """Whether all that failed in a mix failed in the control, or both did not get as far as being asked."""
    failed = set(result.failed_checks)
    return failed <= set(control.failed_checks) if failed else not control.failed_checks


def now() -> float:
    """Unix time, to the millisecond."""
    return round(time.time(), 3)


def digest_of(texts: Sequence[str]) -> str:
    """What makes results comparable: the sources, the plan, the renderer."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def write(path: Path, run: MatrixRun) -> None:
    """Replace the file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(run), indent=1))


def read(path: Path) -> MatrixRun | None:
    """The run in a file, None without one. Raises InvalidInputError for a file that is something else."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=MatrixRun)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise InvalidInputError(
            Problem(
                what=f"{path} holds no results of a matrix",
                why=str(error),
                remedy="name another file with --results, or remove this one",
            )
        ) from error
