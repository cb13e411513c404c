"""Problems as a condition's message."""

from __future__ import annotations

from stator.errors import StatorError


def in_one_line(error: StatorError) -> str:
    """All problems on one line, each with its field."""
    lines = []
    for problem in error.problems:
        field = problem.position.field if problem.position else ""
        lines.append(": ".join(part for part in (field, problem.what, problem.why) if part))
    return "; ".join(lines)
