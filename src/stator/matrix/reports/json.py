"""JSON for other programs: the run as it is kept on disk, and for each cell what follows from it."""

from __future__ import annotations

import msgspec

from stator.matrix.results import MatrixRun, blame


def to_json(run: MatrixRun) -> str:
    """One object. `verdicts` has every planned cell, one that was not run too; `counts` adds them up."""
    verdicts = {
        cell.id: {"verdict": run.result(cell).verdict, "why": run.result(cell).why, "blame": blame(run, cell)}
        for cell in run.plan
    }
    whole = {**msgspec.to_builtins(run), "counts": run.count(), "verdicts": verdicts}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"
