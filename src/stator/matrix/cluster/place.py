"""One cell in a cluster from beginning to end: namespace, graph, watched, asked, kept, and the namespace gone again.

A cell ends with a result whatever happens in it. What ends the whole run is what every other cell would meet too: a
namespace that does not go away, and a cluster in which no operator looks at graphs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stator.errors import StatorError
from stator.kube.errors import ApiError
from stator.kube.resources import NAMESPACE
from stator.local.supervisor.concealing import Concealer
from stator.matrix.cells import Cell
from stator.matrix.cluster import objects
from stator.matrix.cluster.attending import Attended, NoOperatorError
from stator.matrix.cluster.connection import Connection
from stator.matrix.cluster.diagnostics import keep
from stator.matrix.cluster.isolation import GONE_WITHIN, LeftNamespaceError, remove
from stator.matrix.results import CellResult, MatrixRun
from stator.matrix.running.cell import InterruptedRunError
from stator.matrix.running.place import Room
from stator.matrix.scenarios import Scenario, broken_by, graph_of
from stator.render import RenderOptions

# The API server's default (core/v1 PodSpec).
_GRACE = 30


class InCluster:
    """Where cells run if an operator runs them. `state` holds what is kept of each cell, in `cells/`.

    `timeout` is how long a graph may take to be Ready, in seconds. `left` are namespaces that could not be removed.
    """

    def __init__(
        self,
        connection: Connection,
        options: RenderOptions,
        state: Path,
        *,
        timeout: float,
        gone_within: float = GONE_WITHIN,
    ) -> None:
        self.connection, self.options, self.timeout = connection, options, timeout
        self.left: list[str] = []
        self._state, self._owner, self._gone_within = state, objects.holder(state), gone_within
        self._interrupted = threading.Event()

    def interrupt(self) -> None:
        """Let every cell end without a result; each removes its namespace before it does."""
        self._interrupted.set()

    def check(self) -> None:
        """Raise InterruptedRunError if the run is being ended."""
        if self._interrupted.is_set():
            raise InterruptedRunError

    def room(self, run: MatrixRun) -> Room:
        """The cluster's scheduler knows what fits; only `--jobs` bounds how many cells there are at once."""
        return Room(0, dict.fromkeys((cell.scenario for cell in run.plan), 0))

    def run(self, scenario: Scenario, cell: Cell, *, say: Callable[[str], None]) -> CellResult:
        """Run one cell.

        Raises InterruptedRunError, LeftNamespaceError and NoOperatorError; whatever else keeps a cell from running
        makes it no evidence.
        """
        began, at = time.monotonic(), time.time()
        directory = self._state / "cells" / cell.id
        say("starting")
        try:
            with self._namespace(scenario, cell, say) as name:
                result = self._attended(scenario, cell, name, directory, say)
        except (LeftNamespaceError, NoOperatorError):
            raise
        except StatorError as error:
            self.check()
            why = "; ".join(str(problem) for problem in error.problems)
            result = CellResult(cell=cell, outcome="no evidence", why=why, directory=str(directory))
        except OSError as error:
            why = f"{error.filename or directory}: {(error.strerror or str(error)).lower()}"
            result = CellResult(cell=cell, outcome="no evidence", why=why, directory=str(directory))
        return msgspec.structs.replace(
            result,
            broken_by=broken_by(scenario, cell, self.options),
            seconds=round(time.monotonic() - began, 2),
            at=round(at, 3),
        )

    def _attended(
        self, scenario: Scenario, cell: Cell, name: str, directory: Path, say: Callable[[str], None]
    ) -> CellResult:
        concealer = Concealer(objects.secret_values(scenario))
        attended = Attended(scenario, cell, name, self, say)
        try:
            result = attended.result()
        except StatorError:
            self.connection.run(keep(self.connection.client, name, directory, concealer), check=self.check)
            raise
        say("keeping what it left")
        kept = self.connection.run(keep(self.connection.client, name, directory, concealer), check=self.check)
        return msgspec.structs.replace(
            result, logs=() if result.outcome == "pass" else kept.logs, directory=str(directory)
        )

    @contextmanager
    def _namespace(self, scenario: Scenario, cell: Cell, say: Callable[[str], None]) -> Iterator[str]:
        """A namespace of the cell's own, and seen to be gone when the block is left."""
        self.check()
        wanted = objects.namespace(cell, self._owner)
        name = wanted["metadata"]["name"]
        client = self.connection.client
        try:
            uid = self.connection.run(client.create(NAMESPACE, wanted))["metadata"]["uid"]
        except ApiError as error:
            if error.status:
                raise
            # Nobody knows whether it was made. One of this name is nobody else's.
            self._remove(name, "", self._gone_within)
            raise
        try:
            yield name
        finally:
            say("removing its namespace")
            grace = max(
                (int(part.pod_spec.get("terminationGracePeriodSeconds") or _GRACE))
                for part in graph_of(scenario, cell).components
            )
            self._remove(name, uid, self._gone_within + grace)

    def _remove(self, name: str, uid: str, within: float) -> None:
        try:
            self.connection.run(remove(self.connection.client, name, uid, within=within))
        except LeftNamespaceError:
            self.left.append(name)
            raise
