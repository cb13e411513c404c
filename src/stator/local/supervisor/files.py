"""What a pod finds in place when it starts: its directories and the files of its volumes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from stator.errors import Problem, StatorError
from stator.local.plan import FilePlan, PodPlan


def materialise(pods: Sequence[PodPlan]) -> None:
    """Make directories (0700) and files. Raises StatorError, naming the path, if the disk refuses."""
    for pod in pods:
        for directory in pod.directories:
            _make(Path(directory))
        for file in pod.files:
            _make(Path(file.path).parent)
            _write(file)


def remove(directory: Path) -> None:
    """Remove what was made, secret files with it. Nothing there is fine."""
    shutil.rmtree(directory, ignore_errors=True)


def _make(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(directory, error) from error


def _write(file: FilePlan) -> None:
    try:
        # Created with its final mode: there is no moment at which others could read a secret.
        descriptor = os.open(file.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, file.mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(file.content)
    except OSError as error:
        raise _refused(Path(file.path), error) from error


def _refused(path: Path, error: OSError) -> StatorError:
    return StatorError(
        Problem(
            what=f"{path} cannot be written",
            why=(error.strerror or str(error)).lower(),
            remedy="free space, or set STATOR_STATE_DIR to a directory that can be written",
        )
    )
