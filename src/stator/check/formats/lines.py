"""For terminals: `text` with what to do below each finding, `concise` with one line each."""

from __future__ import annotations

from collections.abc import Iterator

from stator.check.ignores import Ignore
from stator.check.report import FailOn, Report
from stator.compat import Finding, rules


def to_text(report: Report, fail_on: FailOn) -> str:
    """Findings in full, then what could not be checked, then the counts."""
    del fail_on
    return _lines(line for part in (_findings(report), _rest(report)) for line in part)


def to_concise(report: Report, fail_on: FailOn) -> str:
    """`file:line:column: severity ID name: message`, one line a finding, and the counts."""
    del fail_on
    found = (
        f"{place(finding)}{finding.severity} {finding.rule} {name_of(finding.rule)}: {plain(finding.message)}"
        for finding in report.findings
    )
    return _lines(line for part in (found, _rest(report)) for line in part)


def place(finding: Finding) -> str:
    """`file:line:column: `, as far as it is known."""
    where = finding.location
    if where is None:
        return ""
    return f"{where}:{where.column}: " if where.line and where.column else f"{where}: "


def plain(text: str) -> str:
    """The text on one line, with what would move a terminal's cursor or change its colours written out."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def name_of(rule: str) -> str:
    """The kebab name of a rule."""
    return next((known.name for known in rules() if known.id == rule), "")


def unused_line(ignore: Ignore) -> str:
    """What there is to say about an ignore that fits nothing."""
    where = f"{ignore.position}: " if ignore.position else "--ignore: "
    return f"{where}{ignore.rule} is ignored here ({plain(ignore.reason)}), and nothing is found: remove it"


def _findings(report: Report) -> Iterator[str]:
    for finding in report.findings:
        part = f"{finding.object} {finding.component}".rstrip()
        yield f"{place(finding)}{finding.severity} {finding.rule} {name_of(finding.rule)}"
        yield f"  {part}: {plain(finding.message)}"
        if finding.repair:
            yield f"  repaired: {plain(finding.repair)}"
        if finding.remedy:
            yield f"  do: {plain(finding.remedy)}"
    shown = list(dict.fromkeys(finding.rule for finding in report.findings))
    if shown:
        yield from _can_fix(report)
        yield f"see: {', '.join(f'stator explain {rule}' for rule in shown)}"


def _can_fix(report: Report) -> Iterator[str]:
    """What fixing would do, if anything."""
    safe = sum(finding.edit is not None and finding.safe for finding in report.findings)
    unsafe = sum(finding.edit is not None and not finding.safe for finding in report.findings)
    if safe or unsafe:
        more = f"{unsafe} more with --unsafe-fixes" if unsafe else ""
        yield "fixable: " + ", ".join(filter(None, (f"{safe} with --fix" if safe else "", more)))


def _rest(report: Report) -> Iterator[str]:
    for ignored in report.ignored:
        finding = ignored.finding
        yield f"{place(finding)}ignored {finding.rule} {name_of(finding.rule)}: {plain(ignored.ignore.reason)}"
    yield from map(unused_line, report.unused)
    for problem in report.problems:
        yield f"not checked: {problem}"
    for part in report.unresolved:
        yield f"not known: the runtime version of {part}"
    yield report.last_line


def _lines(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
