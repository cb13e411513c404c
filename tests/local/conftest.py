"""Fixtures of the tests that run real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Graphs

from stator.local import lifecycle, processes
from stator.local.state import StateDirectory


@pytest.fixture
def graphs(tmp_path: Path) -> Iterator[Graphs]:
    """Graphs that are gone when the test ends, with every process of theirs."""
    made = Graphs(StateDirectory(tmp_path / "state"))
    yield made
    for graph in made.started:
        record = graph.read_supervisor()
        lifecycle.stop(graph)
        if record:
            assert processes.members(record.marker) == ()
