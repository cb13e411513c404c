"""`stator matrix --cluster` as a user types it, beside an operator that shares the test's event loop."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from stator.kube.client import Client
from stator.kube.resources import NAMESPACE
from stator.matrix.cluster.objects import MANAGED_BY, MANAGER

Json = dict[str, Any]

EXAMPLES = Path(__file__).parents[2] / "examples"


class Matrix:
    """Commands of one user, with one state directory and one results file."""

    def __init__(self, kubeconfig: Path, directory: Path) -> None:
        """For a cluster."""
        self._kubeconfig, self._directory = kubeconfig, directory
        self.file = directory / "results.json"

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        """A command that goes on, with its output in one pipe."""
        options = ("--cluster", "--kubeconfig", str(self._kubeconfig), "--results", str(self.file))
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "stator",
            "matrix",
            *options,
            *arguments,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self._directory), "STATOR_STATE_DIR": str(self._directory / "s")},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    async def __call__(self, *arguments: str) -> tuple[int | None, str]:
        """Exit code and output."""
        return await self.ended(await self.start(*arguments))

    async def ended(self, process: asyncio.subprocess.Process) -> tuple[int | None, str]:
        """Exit code and the rest of the output, when it has come to its end."""
        output, _ = await process.communicate()
        return process.returncode, output.decode()

    def results(self) -> dict[str, Json]:
        """The results so far, by cell."""
        found: dict[str, Json] = json.loads(self.file.read_text())["results"] if self.file.exists() else {}
        return found

    def directory(self, cell: str) -> Path:
        """What was kept of a cell."""
        return self._directory / "s" / "matrix" / "cells" / cell


async def namespaces(client: Client) -> list[str]:
    """The namespaces of cells that exist."""
    found = await client.list(NAMESPACE, labels=f"{MANAGED_BY}={MANAGER}")
    return [item["metadata"]["name"] for item in found.items]


def failed_checks(result: Json) -> list[str]:
    """The names of the checks with a violation."""
    return [check["name"] for check in result["checks"] if check.get("violations")]
