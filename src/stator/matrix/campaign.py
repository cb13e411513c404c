"""A whole run: planned, checked for what cannot be run, gone through cell by cell, kept on disk as it grows."""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stator import __version__
from stator.errors import InvalidInputError, Problem
from stator.local import lifecycle
from stator.local.preparation import Preparation, requirements, unavailable
from stator.local.runtimes import RuntimeRequest
from stator.local.state import StateDirectory
from stator.matrix.cells import Canary, Cell, plan_cells
from stator.matrix.results import CellResult, MachineFacts, MatrixRun, digest_of, now, read, write
from stator.matrix.running.place import Place
from stator.matrix.running.pool import Watcher, run_all
from stator.matrix.scenarios import MOCKER, Scenario, check_names, inventory_of, variants
from stator.render import RenderOptions
from stator.versions import Version


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to run. `window` is newest first; `every` adds the pairs of older releases."""

    scenarios: tuple[Scenario, ...]
    window: tuple[Version, ...]
    canaries: tuple[Canary, ...] = ("default",)
    repairs: tuple[bool, ...] = (True,)
    every: bool = False


def plan_run(wanted: Wanted, options: RenderOptions, *, mocker: bool = False, cluster: bool = False) -> MatrixRun:
    """The run before its first cell: in a `cluster`, or on this machine, where the `mocker` may stand for engines."""
    cells = plan_cells(
        [
            (
                scenario.name,
                variants(scenario, wanted.window, canaries=wanted.canaries, repairs=wanted.repairs, options=options),
            )
            for scenario in wanted.scenarios
        ],
        wanted.window,
        every=wanted.every,
    )
    check_names(cells)
    sources = [repr(scenario.graph.origin.document.value) for scenario in wanted.scenarios]
    about = [__version__, str(options), str(mocker), *(["cluster"] if cluster else [])]
    return MatrixRun(
        stator=__version__,
        operator=str(options.operator),
        window=tuple(str(version) for version in wanted.window),
        plan=cells,
        digest=digest_of([*about, *sources, *(cell.id for cell in cells)]),
        machine=MachineFacts(
            system=f"{platform.system()} {platform.machine()}",
            cpus=os.cpu_count() or 1,
            memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            python=platform.python_version(),
        ),
        started_at=now(),
        engines={scenario.name: MOCKER if mocker else scenario.engine for scenario in wanted.scenarios},
    )


def check_runnable(run: MatrixRun, wanted: Wanted, how: Preparation) -> None:
    """Raise InvalidInputError with every reason why a graph of the run cannot run on this machine.

    One cell of each scenario stands for all: what cannot run here cannot at any release.
    """
    scenarios = {scenario.name: scenario for scenario in wanted.scenarios}
    firsts = {cell.scenario: cell for cell in reversed(run.plan)}
    problems: list[Problem] = []
    for name, cell in firsts.items():
        try:
            requirements(inventory_of(scenarios[name], cell), how)
        except InvalidInputError as error:
            problems += error.problems
    if problems:
        raise InvalidInputError(*dict.fromkeys(problems))


def make_runtimes(
    wanted: Wanted, cells: Sequence[Cell], how: Preparation, *, progress: Callable[[str], None]
) -> dict[str, str]:
    """Make every environment the cells need, each once; why a cell cannot run, by its id.

    A release that is not published, or a disk that is full, costs the cells that need it and no other.
    """
    scenarios = {scenario.name: scenario for scenario in wanted.scenarios}
    missing: dict[str, str] = {}
    needed: dict[str, tuple[RuntimeRequest, ...]] = {}
    for cell in cells:
        try:
            needed[cell.id] = requirements(inventory_of(scenarios[cell.scenario], cell), how)
        except InvalidInputError as error:
            missing[cell.id] = "; ".join(str(problem) for problem in error.problems)
    failed = unavailable((request for requests in needed.values() for request in requests), how, progress=progress)
    for cell_id, requests in needed.items():
        if whys := [str(problem) for request in requests for problem in failed.get(request, ())]:
            missing[cell_id] = "; ".join(dict.fromkeys(whys))
    return missing


def carry_on(planned: MatrixRun, results: Path) -> MatrixRun:
    """The earlier run in the file `results`, if it is one of the same plan.

    Raises InvalidInputError if there is none, or it is of another plan: results of two plans are not mixed.
    """
    earlier = read(results)
    if earlier is None:
        raise InvalidInputError(Problem(what=f"there are no results in {results}", remedy="run without --resume"))
    if earlier.digest != planned.digest:
        raise InvalidInputError(
            Problem(
                what=f"the results in {results} are of another run",
                why="graphs, releases, options or stator differ",
                remedy="give the same graphs and options, or run without --resume",
            )
        )
    return msgspec.structs.replace(earlier, finished_at=0)


class Conduct(msgspec.Struct, frozen=True, kw_only=True):
    """How to go through the cells. `results` is the file that grows; at most `jobs` cells run at once."""

    results: Path
    jobs: int
    failed: bool = False


def conduct(
    run: MatrixRun, wanted: Wanted, place: Place, conduct_: Conduct, watcher: Watcher, missing: Mapping[str, str]
) -> MatrixRun:
    """Run what is to be done and return the run with its results; the file holds them after each cell.

    `missing` says why a cell cannot run. Raises what ends a run early; everything so far is in the file.
    """
    keeper = _Keeper(run, conduct_.results, watcher)
    cells = run.to_do(failed=conduct_.failed)
    for cell in cells:
        if cell.id in missing:
            keeper.finished(CellResult(cell=cell, outcome="no evidence", why=missing[cell.id], at=now()))
    scenarios = {scenario.name: scenario for scenario in wanted.scenarios}
    room = place.room(run)
    run_all(
        [cell for cell in cells if cell.id not in missing],
        lambda cell: place.run(scenarios[cell.scenario], cell, say=lambda what: watcher.doing(cell, what)),
        watcher=keeper,
        sizes=room.sizes,
        available=room.available,
        jobs=conduct_.jobs,
        interrupt=place.interrupt,
    )
    return keeper.finish()


class _Keeper:
    """Passes on what happens, and writes each result before anybody hears of it."""

    def __init__(self, run: MatrixRun, file: Path, watcher: Watcher) -> None:
        self._run, self._file, self._watcher = run, file, watcher
        write(file, run)

    def started(self, cell: Cell) -> None:
        self._watcher.started(cell)

    def doing(self, cell: Cell, what: str) -> None:
        self._watcher.doing(cell, what)

    def finished(self, result: CellResult) -> None:
        self._run = self._run.with_result(result)
        write(self._file, self._run)
        self._watcher.finished(result)

    def finish(self) -> MatrixRun:
        self._run = msgspec.structs.replace(self._run, finished_at=now())
        write(self._file, self._run)
        return self._run


@contextmanager
def sole_run(state: StateDirectory, purpose: str) -> Iterator[None]:
    """Hold this state directory alone, and first end what an earlier run was killed from.

    Raises InvalidInputError if another run is under way.
    """
    state.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(state.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidInputError(
                Problem(
                    what=f"another {purpose} is under way",
                    why=f"it holds {state.path / 'lock'}",
                    remedy="wait for it, or set STATOR_STATE_DIR to another directory",
                )
            ) from None
        # What an earlier run left is on its way out, or its supervisor was killed as well.
        for graph in state.graphs():
            if lifecycle.is_running(graph):
                lifecycle.stop(graph)
        lifecycle.clean_up_dead(state)
        yield
    finally:
        os.close(descriptor)
