"""One cell from beginning to end: graph up, watched, asked, measured, down, and nothing of it left.

A cell ends with a result whatever happens in it; only a cell that cannot be taken down ends the whole run, because
the next one would not be alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec

from stator.errors import ExitCode, Problem, StatorError
from stator.local import lifecycle, processes
from stator.local.plan import LocalPlan, PodPlan
from stator.local.preparation import Preparation, prepare
from stator.local.runtimes import MODEL_FLAGS
from stator.local.state import GraphDirectory, GraphStatus, PodStatus
from stator.matrix.canary import Contract, judge
from stator.matrix.cells import Cell
from stator.matrix.checks import Promise
from stator.matrix.exchange import Exchange, Request, send
from stator.matrix.results import CellResult, LogTail, Moment, PodTimeline
from stator.matrix.running.asking import REQUEST_TIMEOUT, Worker, ask_all, observed
from stator.matrix.running.memory import proportional_size
from stator.matrix.running.settling import settle
from stator.matrix.scenarios import Scenario, broken_by, inventory_of

_POLL = 0.05
_LOG_LINES = 40
_ATTEMPTS = 2


class InterruptedRunError(Exception):
    """The run is being ended; the cell has no result."""


class IsolationLostError(StatorError):
    """Something of a cell is left: what runs after it would not run alone."""

    exit_code = ExitCode.UNDECIDED


class Rig:
    """What all cells of a run share.

    `how` is the preparation of each graph; `timeout` is how long a graph may take to be Ready, in seconds. Cells
    are planned one after the other, so that no two are given the same port; `interrupt` ends all of them.
    """

    def __init__(self, how: Preparation, *, timeout: float) -> None:
        self.how = how
        self.timeout = timeout
        self._starting = threading.Lock()
        self._interrupted = threading.Event()
        self._running: set[Path] = set()

    def interrupt(self) -> None:
        """Let every cell end without a result, and stop their graphs; returns when nothing runs."""
        self._interrupted.set()
        with self._starting:
            graphs = [GraphDirectory(path) for path in self._running]
        for graph in graphs:
            lifecycle.stop(graph)

    def check(self) -> None:
        """Raise InterruptedRunError if the run is being ended."""
        if self._interrupted.is_set():
            raise InterruptedRunError

    @contextmanager
    def running(self, scenario: Scenario, cell: Cell) -> Iterator[tuple[LocalPlan, GraphDirectory]]:
        """The cell's graph, started; stopped, and seen to be gone, when the block is left."""
        plan, graph = self._start(scenario, cell)
        record = graph.read_supervisor()
        try:
            yield plan, graph
        finally:
            lifecycle.stop(graph)
            with self._starting:
                self._running.discard(graph.path)
            left = processes.members(record.marker) if record else ()
            if left:
                raise IsolationLostError(
                    Problem(
                        what=f"{cell.id} could not be taken down",
                        why=f"process {', '.join(str(member.pid) for member in left)} is left",
                        remedy="end it, then go on with --resume",
                    )
                )

    def _start(self, scenario: Scenario, cell: Cell) -> tuple[LocalPlan, GraphDirectory]:
        how = msgspec.structs.replace(
            self.how, render=msgspec.structs.replace(self.how.render, repairs=cell.variant.repairs)
        )
        for attempt in range(_ATTEMPTS):
            with self._starting:
                self.check()
                ((_, plan),) = prepare(inventory_of(scenario, cell), how, progress=lambda _: None)
                try:
                    graph = lifecycle.start(plan, bound=True)
                except StatorError:
                    # Another program may have taken a port since: the next plan has other ones.
                    if attempt == _ATTEMPTS - 1:
                        raise
                    continue
                self._running.add(graph.path)
                return plan, graph
        raise AssertionError("a start that fails raises")


def run_cell(scenario: Scenario, cell: Cell, rig: Rig, *, say: Callable[[str], None]) -> CellResult:
    """Run one cell. `say` hears what it does now.

    Raises InterruptedRunError, and IsolationLostError; whatever else keeps a cell from running makes it no evidence.
    """
    began, at = time.monotonic(), time.time()
    broken = broken_by(scenario, cell, rig.how.render)
    say("starting")
    try:
        with rig.running(scenario, cell) as (plan, graph):
            result = _Attended(scenario, cell, plan, graph, rig, say).result()
    except IsolationLostError:
        raise
    except StatorError as error:
        rig.check()
        why = "; ".join(str(problem) for problem in error.problems)
        result = CellResult(cell=cell, outcome="no evidence", why=why)
    except OSError as error:
        why = f"{error.filename or 'this machine'}: {(error.strerror or str(error)).lower()}"
        result = CellResult(cell=cell, outcome="no evidence", why=why)
    return msgspec.structs.replace(
        result, broken_by=broken, seconds=round(time.monotonic() - began, 2), at=round(at, 3)
    )


class _Attended:
    """A started cell: what is asked of it, in order."""

    def __init__(
        self,
        scenario: Scenario,
        cell: Cell,
        plan: LocalPlan,
        graph: GraphDirectory,
        rig: Rig,
        say: Callable[[str], None],
    ) -> None:
        self.scenario, self.cell, self.plan, self.graph, self.rig, self.say = scenario, cell, plan, graph, rig, say
        frontend = next((service for service in plan.services if service.frontend), None)
        self.address = frontend.address if frontend else ""

    def result(self) -> CellResult:
        """Watch, ask, measure."""
        state, why, status = self._settled()
        answers = ask_all(state, why, self.scenario, self._ask, self._promise, self.say)
        after = self.graph.read_status() or status
        record = self.graph.read_supervisor()
        return CellResult(
            cell=self.cell,
            outcome=answers.outcome,
            why=answers.why,
            checks=answers.checks,
            contracts=self._contracts(status, served=answers.served),
            pods=tuple(_timeline(pod) for pod in after.pods),
            logs=() if answers.outcome == "pass" else self._logs(),
            runtimes=self._runtimes(),
            ready_after=round(status.ready_at - status.started_at, 2) if status.ready_at else None,
            memory=proportional_size(processes.members(record.marker)) if record else 0,
            directory=str(self.graph.path),
        )

    def _settled(self) -> tuple[Literal["ready", "canary", "failed"], str, GraphStatus]:
        """Wait until the start is decided: how, why, and the status then."""
        self.say("waiting for Ready")
        began, stamp = time.monotonic(), -1
        status: GraphStatus | None = None
        while True:
            self.rig.check()
            if (newer := self.graph.status_stamp()) != stamp:
                stamp, status = newer, self.graph.read_status()
            if status is not None:
                settlement = settle(status, waited=time.monotonic() - began, timeout=self.rig.timeout)
                if settlement.state:
                    return settlement.state, settlement.why, status
            time.sleep(_POLL)

    def _ask(self, request: Request) -> Exchange:
        self.rig.check()
        return send(self.address, request, timeout=REQUEST_TIMEOUT)

    def _promise(self) -> Promise:
        """What the model's own files promise (sentence-transformers' modules.json)."""
        for pod in self.plan.pods:
            for container in pod.containers:
                words = [word for word in container.argv if isinstance(word, str)]
                for flag, value in pairwise(words):
                    file = Path(value) / "modules.json"
                    if flag in MODEL_FLAGS and file.is_file():
                        return Promise(unit=".Normalize" in file.read_text(encoding="utf-8"))
        return Promise()

    def _contracts(self, status: GraphStatus, *, served: bool | None) -> tuple[Contract, ...]:
        seen = {pod.name: pod for pod in status.pods}
        return tuple(
            judge(
                observed(
                    _worker(pod),
                    self.scenario.kind,
                    ready=seen[pod.name].ready,
                    rejection=next((item.canary for item in seen[pod.name].containers if item.canary), ""),
                    served=served,
                )
            )
            for pod in self.plan.pods
            if pod.type != "frontend" and pod.name in seen
        )

    def _runtimes(self) -> dict[str, str]:
        return {
            f"{pod.component}/{container.name}": container.runtime
            for pod in self.plan.pods
            for container in pod.containers
        }

    def _logs(self) -> tuple[LogTail, ...]:
        tails: dict[tuple[str, str], list[str]] = {}
        for line in lifecycle.follow_logs(self.graph, lines=_LOG_LINES):
            tails.setdefault((line.pod, line.container), []).append(line.text)
        return tuple(
            LogTail(pod=pod, container=container, lines=tuple(lines)) for (pod, container), lines in tails.items()
        )


def _worker(pod: PodPlan) -> Worker:
    main = next((container for container in pod.containers if container.name == "main"), pod.containers[0])
    return Worker(
        pod=pod.name,
        component=pod.component,
        type=pod.type,
        version=release_of(pod),
        argv=[word for word in main.argv if isinstance(word, str)],
        env={name: value for name, value in main.env.items() if isinstance(value, str)},
    )


def release_of(pod: PodPlan | PodStatus) -> str:
    """The release of a pod, without the source of it: `1.5.1 (tag)` is 1.5.1."""
    return pod.version.partition(" ")[0]


def _timeline(pod: PodStatus) -> PodTimeline:
    return PodTimeline(
        name=pod.name,
        component=pod.component,
        version=release_of(pod),
        restarts=pod.restarts,
        transitions=tuple(Moment(each.after, each.ready, each.reason) for each in pod.transitions),
        message=pod.message,
    )
