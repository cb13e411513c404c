"""Conducts a rehearsal: traffic on, one pod at a time new before old, traffic off, nothing left.

As a rolling update with one pod of surge and none unavailable: the new pod becomes Ready, both serve for a while,
then the old one is taken out of the Service and asked to end. A new pod that does not become Ready stops the upgrade;
the old ones serve on, as they would.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from stator.errors import InvalidInputError, Problem, StatorError
from stator.local.preparation import Preparation, requirements, unavailable
from stator.local.runtimes import RuntimeRequest, RuntimeUnavailableError
from stator.local.settings import KUBELET, UNHURRIED, Settings
from stator.local.supervisor.files import remove
from stator.matrix.checks.service import MODELS, served_models
from stator.matrix.exchange import Request, send
from stator.matrix.rehearsal.entrance import Entrance
from stator.matrix.rehearsal.moves import Move
from stator.matrix.rehearsal.report import Budget, Phase, PhaseKind, Rehearsal, Stop, count
from stator.matrix.rehearsal.traffic import Pacing, Sent, Traffic
from stator.matrix.rehearsal.units import Generation, Unit, last_lines, plan_generation
from stator.matrix.scenarios import Scenario
from stator.model import Graph

_POLL = 0.05
_LISTED_PATIENCE = 30.0


class Tempo(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: `hold` for which old and new serve at once, and before and after; `timeout` of a start."""

    hold: float = 5
    timeout: float = 300


class _StoppedError(Exception):
    """The upgrade cannot go on; the text says why. `log` are the last lines of the pod that is to blame."""

    def __init__(self, why: str, log: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.log = tuple(log)


def rehearse(
    scenario: Scenario,
    moves: Sequence[Move],
    how: Preparation,
    *,
    order: str,
    pacing: Pacing,
    tempo: Tempo,
    budget: Budget,
    say: Callable[[str], None],
) -> Rehearsal:
    """Rehearse the moves one after the other. `say` hears a line for each phase.

    Raises StatorError if a release cannot be had or the graph as it is cannot be started: then nothing was rehearsed.
    Whatever ends it, nothing runs afterwards; `say` hears what had to be stopped for that.
    """
    _make_environments(scenario, moves, how, say)
    stage = _Stage(scenario, how, pacing, tempo, say)
    try:
        stage.open(moves[0])
        stopped = ""
        log: tuple[str, ...] = ()
        try:
            for move in moves:
                stage.move(move)
            stage.phase("after", "after", tempo.hold)
        except _StoppedError as error:
            stopped, log = str(error), error.log
        phases = stage.end_traffic()
    finally:
        stage.clear()
    sent = stage.sent()
    return Rehearsal(
        graph=scenario.graph.ref,
        order=order,
        moves=tuple(move.title for move in moves),
        budget=budget,
        phases=phases,
        counts=count(phases, sent, budget, stage.mocker_stops),
        failures=tuple(each for each in sent if each.exchange is not None),
        stopped=stopped,
        log=log,
        notes=_notes(phases),
    )


def _make_environments(scenario: Scenario, moves: Sequence[Move], how: Preparation, say: Callable[[str], None]) -> None:
    """Make what some move needs before any traffic: a release nobody published is no upgrade that failed.

    Nor does the making of an environment fall into a phase, whose traffic it would disturb. Raises
    RuntimeUnavailableError with the problems of all of them.
    """
    needed: dict[RuntimeRequest, None] = {}
    for graph in (graph for move in moves for graph in (move.before, move.after)):
        inventory = msgspec.structs.replace(scenario.inventory, graphs=(graph,))
        needed.update(dict.fromkeys(requirements(inventory, how)))
    if failed := unavailable(needed, how, progress=say):
        raise RuntimeUnavailableError(*(problem for problems in failed.values() for problem in problems))


class _Stage:
    """What runs: units of one or two generations, the Service, the traffic."""

    def __init__(
        self, scenario: Scenario, how: Preparation, pacing: Pacing, tempo: Tempo, say: Callable[[str], None]
    ) -> None:
        self._scenario, self._how, self._pacing, self._tempo, self._say = scenario, how, pacing, tempo, say
        self._running: list[Unit] = []
        self._leaving: set[str] = set()
        self._generations: list[Generation] = []
        self._entrance: Entrance | None = None
        self._traffic: Traffic | None = None
        self._phases: list[Phase] = []
        self.mocker_stops: list[Stop] = []
        # By unit: its release and how many requests it has completed, and how many of them are in earlier phases.
        self._served: dict[str, tuple[str, int]] = {}
        self._counted: dict[str, int] = {}

    def open(self, first: Move) -> None:
        """Start the graph as it is, and the traffic once it is being answered."""
        self._remove_files()
        (self._how.state.path / "kv").mkdir(mode=0o700, parents=True)
        generation = self._plan(first.before)
        if generation.service is None:
            raise InvalidInputError(
                Problem(what=f"{self._scenario.graph.ref} has no frontend that users reach through a Service")
            )
        self._say(f"starting {self._scenario.graph.ref} as it is")
        for unit in generation.units:
            self._start(unit, KUBELET)
        for unit in generation.units:
            if why := unit.wait(timeout=self._tempo.timeout):
                last = "\n".join(last_lines(unit))
                raise StatorError(
                    Problem(what=f"{self._scenario.graph.ref} does not become Ready as it is", why=f"{why}\n{last}")
                )
        self._entrance = Entrance(generation.service)
        self._entrance.open()
        self._route()
        self._await_model(self._entrance.address)
        self._traffic = Traffic(self._entrance.address, self._scenario.kind, self._scenario.model, self._pacing)
        self._begin("before", "before")
        self._traffic.start()
        time.sleep(self._tempo.hold)

    def move(self, move: Move) -> None:
        """Replace the units of a group pod by pod. Raises _StoppedError."""
        try:
            generation = self._plan(move.after)
        except StatorError as error:
            raise _StoppedError("; ".join(str(problem) for problem in error.problems)) from error
        old = [unit for unit in self._running if unit.pod.component in move.components]
        for new_units, old_units in _rounds(generation.of(move.components), old):
            self._begin(f"{move.title}: new starts", "starting")
            self._bring_up(new_units, move)
            if new_units and old_units:
                self.phase(f"{move.title}: both serve", "both", self._tempo.hold)
            self._leaving |= {unit.plan.id for unit in old_units}
            self._begin(f"{move.title}: old stops", "stopping")
            self._take_down(old_units)

    def phase(self, title: str, kind: PhaseKind, seconds: float) -> None:
        """Let the traffic go on for a while under a title of its own."""
        self._begin(title, kind)
        time.sleep(seconds)

    def end_traffic(self) -> tuple[Phase, ...]:
        """Wait for the last answers; the phases as they were."""
        if self._traffic:
            self._traffic.end()
        self._close_phase()
        return tuple(self._phases)

    def sent(self) -> tuple[Sent, ...]:
        """Every request."""
        return self._traffic.sent() if self._traffic else ()

    def clear(self) -> None:
        """Stop everything and remove every file but the logs."""
        if self._traffic:
            self._traffic.halt()
        if self._running:
            # Pods of two generations may have one name.
            pods = (f"{unit.pod.name} at {unit.version}" for unit in self._running)
            self._say(f"stopping {', '.join(pods)}")
        for unit in self._running:
            unit.stop()
        if self._entrance:
            self._entrance.close()
        self._remove_files()

    def _remove_files(self) -> None:
        for name in ("kv", "generations"):
            remove(self._how.state.path / name)

    def _plan(self, graph: Graph) -> Generation:
        taken = frozenset(port for unit in self._running for port in unit.plan.ports)
        if self._generations and (service := self._generations[0].service):
            taken |= {service.port}
        generation = plan_generation(
            graph,
            self._scenario.inventory,
            self._how,
            number=len(self._generations),
            taken=taken,
            say=self._say,
        )
        self._generations.append(generation)
        return generation

    def _start(self, unit: Unit, settings: Settings) -> None:
        unit.start(settings)
        self._running.append(unit)

    def _bring_up(self, units: Sequence[Unit], move: Move) -> None:
        try:
            for unit in units:
                # A frontend says that it is healthy before it knows a model; in a cluster the delay of its readiness
                # probe hides that, so a pod that users wait for is probed at the kubelet's times.
                self._start(unit, UNHURRIED)
        except StatorError as error:
            raise _StoppedError("; ".join(str(problem) for problem in error.problems)) from error
        for unit in units:
            if why := unit.wait(timeout=self._tempo.timeout):
                # Before it is told to end: what it says then hides why it was not Ready.
                log = last_lines(unit)
                self._take_down(units)
                raise _StoppedError(f"{move.title}: the new pod is not Ready: {why}", log)
        self._route()

    def _take_down(self, units: Sequence[Unit]) -> None:
        """Out of the Service first, then the request to end, as a pod that is deleted."""
        self._leaving |= {unit.plan.id for unit in units}
        self._route()
        for unit in units:
            self._note_served()
            began = time.time()
            unit.stop()
            if unit.mocker:
                self.mocker_stops.append(Stop(began=began, ended=time.time()))
            self._running.remove(unit)

    def _route(self) -> None:
        if self._entrance:
            staying = tuple(unit for unit in self._running if unit.plan.id not in self._leaving)
            self._entrance.route([target for generation in self._generations for target in generation.targets(staying)])

    def _await_model(self, address: str) -> None:
        """A frontend is Ready before it knows a model."""
        deadline = time.monotonic() + _LISTED_PATIENCE
        while self._scenario.model not in served_models(send(address, Request(MODELS))):
            if time.monotonic() >= deadline:
                raise StatorError(
                    Problem(what=f"{self._scenario.graph.ref} is Ready and does not list {self._scenario.model!r}")
                )
            time.sleep(_POLL)

    def _begin(self, title: str, kind: PhaseKind) -> None:
        self._close_phase()
        self._say(title)
        serving: dict[str, dict[str, None]] = {}
        for unit in self._running:
            if unit.plan.id not in self._leaving:
                serving.setdefault(unit.pod.component, {})[unit.version] = None
        self._phases.append(
            Phase(
                title=title,
                kind=kind,
                serving={name: tuple(versions) for name, versions in serving.items()},
                began=round(time.time(), 3),
            )
        )
        if self._traffic:
            self._traffic.phase = len(self._phases) - 1

    def _close_phase(self) -> None:
        if not self._phases:
            return
        self._note_served()
        served: dict[str, int] = {}
        for unit, (version, number) in self._served.items():
            served[version] = served.get(version, 0) + number - self._counted.get(unit, 0)
        self._counted = {unit: number for unit, (_, number) in self._served.items()}
        served = {version: number for version, number in served.items() if number}
        self._phases[-1] = msgspec.structs.replace(self._phases[-1], ended=round(time.time(), 3), served=served)

    def _note_served(self) -> None:
        for unit in self._running:
            if unit.pod.type != "frontend" and (number := unit.served()) is not None:
                self._served[unit.plan.id] = (unit.version, number)


def _rounds(new: Sequence[Unit], old: Sequence[Unit]) -> list[tuple[list[Unit], list[Unit]]]:
    """One pod of each component at a time: with several components (prefill and decode) one of each together."""
    by_replica: dict[int, tuple[list[Unit], list[Unit]]] = {}
    for position, units in enumerate((new, old)):
        for unit in units:
            by_replica.setdefault(unit.pod.replica, ([], []))[position].append(unit)
    return [by_replica[replica] for replica in sorted(by_replica)]


def _notes(phases: Sequence[Phase]) -> tuple[str, ...]:
    """What the metrics show of phases in which old and new served at once."""
    notes = []
    for phase in phases:
        both = {version for versions in phase.serving.values() if len(versions) > 1 for version in versions}
        if phase.kind == "both" and phase.title.startswith("worker") and (idle := both - set(phase.served)):
            notes.append(f"{phase.title!r}: workers at {', '.join(sorted(idle))} completed no request")
    return tuple(notes)
