"""The one exception root, the exit codes, and the shape every problem report has.

A problem says what is wrong, where (file and line), why, and what to do. Library exceptions are translated to
these where the library is used, so that nothing above has to know the library.

Plain dataclasses, not msgspec structs: `stator --help` imports this module and nothing that costs more.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command; `UNDECIDED` wins over `OK`, never over `FINDINGS`."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    UNDECIDED = 3


@dataclass(frozen=True, order=True, slots=True)
class Position:
    """A place in a source: file name (`-` for standard input), 1-based line and column (0: unknown).

    An object that came from an API server has no lines: `file` is then `Kind/namespace/name`, and `field` the path of
    the value in the version it was submitted in.
    """

    file: str
    line: int = 0
    column: int = 0
    field: str = ""

    def __str__(self) -> str:
        """`file:line`, the form editors and terminals turn into a link; `object field` where there is no file."""
        if self.field:
            return f"{self.file} {self.field}"
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that is wrong with the input."""

    what: str
    position: Position | None = None
    why: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        """One paragraph: `where: what: why`, then the remedy on its own line."""
        where = f"{self.position}: " if self.position else ""
        why = f": {self.why}" if self.why else ""
        remedy = f"\n  do: {self.remedy}" if self.remedy else ""
        return f"{where}{self.what}{why}{remedy}"


class StatorError(Exception):
    """Root of all errors this package raises on purpose; carries one or more problems."""

    exit_code = ExitCode.USAGE

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class InvalidInputError(StatorError):
    """The sources cannot be used as they are. Carries every problem found, not only the first."""
