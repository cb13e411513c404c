"""Fixtures of the tests that run the published runtimes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Stator

from stator.local.runtimes import default_cache


@pytest.fixture
def stator(tmp_path: Path) -> Iterator[Stator]:
    """The command line; whatever a test leaves running is stopped."""
    command = Stator(tmp_path / "state")
    yield command
    command("down")
    assert command.processes() == []


@pytest.fixture(scope="session")
def sglang() -> None:
    """The real SGLang engine: fetched in CI, taken on a laptop if it is there (2.3 GB are not fetched unasked)."""
    if not os.environ.get("CI") and not list(default_cache().glob("sglang-cpu-1.5.1-*/stator-runtime.json")):
        pytest.skip("the SGLang environment is missing: run `stator up examples/embedding.yaml` once, or set CI=true")
