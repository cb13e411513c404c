"""What a check found, what it left out on request, and what it could not decide."""

from __future__ import annotations

from typing import Literal

import msgspec

from stator.check.ignores import Ignore
from stator.compat import Finding, Severity
from stator.compat.rule import SEVERITIES
from stator.errors import ExitCode, Problem

FailOn = Literal["error", "warning", "info", "never"]


class Ignored(msgspec.Struct, frozen=True):
    """A finding that somebody decided to live with, and why."""

    finding: Finding
    ignore: Ignore


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check, by file and line.

    `problems` is what was wrong with the input that could not be checked; `unread` names its files, `unchecked` its
    graphs. `unresolved` are `object component` of the components whose release is not known. `others` counts documents
    of kinds that are not checked. `unused` are ignores that fitted no finding.
    """

    operator: str
    findings: tuple[Finding, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    unused: tuple[Ignore, ...] = ()
    problems: tuple[Problem, ...] = ()
    unread: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    graphs: int = 0
    components: int = 0
    others: int = 0

    def count(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def undecided(self) -> bool:
        """Whether something could not be checked to its end."""
        hidden = any(finding.undecided for finding in self.findings)
        return hidden or bool(self.problems or self.unread or self.unchecked or self.unresolved)

    def exit_code(self, fail_on: FailOn) -> ExitCode:
        """1 for findings of at least this severity, else 3 for anything undecided, else 0."""
        if any(fails(finding.severity, fail_on) for finding in self.findings):
            return ExitCode.FINDINGS
        return ExitCode.UNDECIDED if self.undecided else ExitCode.OK

    @property
    def last_line(self) -> str:
        """Everything counted, also what is nought: a reader need not guess what was looked at."""
        return ", ".join(
            [
                *(_count(self.count(severity), severity) for severity in reversed(SEVERITIES) if severity != "info"),
                f"{self.count('info')} info",
                f"{len(self.ignored)} ignored",
                _count(self.graphs, "graph"),
                _count(self.components, "component"),
                _count(len(self.unresolved), "unresolved version"),
                f"{_count(len(self.unread), 'file')} unread",
                f"{_count(len(self.unchecked), 'graph')} unchecked",
                f"{_count(self.others, 'document')} of other kinds",
            ]
        )


def fails(severity: Severity, fail_on: FailOn) -> bool:
    """Whether a finding of this severity makes the check fail."""
    return fail_on != "never" and SEVERITIES.index(severity) >= SEVERITIES.index(fail_on)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
