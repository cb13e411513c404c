"""The command line as a user types it, with a state directory of its own and the user's cache of environments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

# Far more than a start takes, also where every file is read for the first time: it turns a hang into a failure.
DEADLINE = 420.0


class Stator:
    """Runs `stator` in a state directory that no other test sees."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environ = {**os.environ, "STATOR_STATE_DIR": str(directory)}

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One command, to its end."""
        return subprocess.run(
            [sys.executable, "-m", "stator", *arguments],
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * DEADLINE,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A command that goes on, with its output in pipes."""
        return subprocess.Popen(
            [sys.executable, "-m", "stator", *arguments],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def graphs(self) -> list[dict[str, Any]]:
        """What `stator status -o json` says."""
        graphs: list[dict[str, Any]] = json.loads(self("status", "--all", "-o", "json").stdout)["graphs"]
        return graphs

    def wait_for(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first status of the only graph that fulfils the condition."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            for graph in self.graphs():
                if condition(graph):
                    return graph
        pytest.fail(f"never came: {self('status').stdout}\n{self('logs', '-n', '20').stdout}")

    def processes(self) -> list[int]:
        """Every process that carries this state directory in its environment, supervisors and containers alike."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                try:
                    environ = (entry / "environ").read_bytes()
                except OSError:
                    continue
                if b"STATOR_GRAPH=" in environ and self.environ["STATOR_STATE_DIR"].encode() in environ:
                    found.append(int(entry.name))
        return found
