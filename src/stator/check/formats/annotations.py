"""Workflow commands, which GitHub Actions turns into annotations beside the changed lines."""

from __future__ import annotations

from stator.check.formats.lines import name_of, unused_line
from stator.check.report import FailOn, Report
from stator.compat import Severity, rules
from stator.errors import Position

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}


def to_github(report: Report, fail_on: FailOn) -> str:
    """One command a finding and a problem, then the counts as plain text."""
    del fail_on
    pages = {rule.id: rule.page_path for rule in rules()}
    lines = []
    for finding in report.findings:
        part = f"{finding.object} {finding.component}".rstrip()
        do = f"\ndo: {finding.remedy}" if finding.remedy else ""
        text = f"{part}: {finding.message}{do}\nsee: {pages.get(finding.rule, '')}, stator explain {finding.rule}"
        title = f"{finding.rule} {name_of(finding.rule)}"
        lines.append(_command(_COMMANDS[finding.severity], title, finding.location, text))
    lines += [_command("notice", ignore.rule, ignore.position, unused_line(ignore)) for ignore in report.unused]
    for problem in report.problems:
        text = "\n".join(filter(None, (problem.what, problem.why, problem.remedy)))
        lines.append(_command("error", "not checked", problem.position, text))
    lines += [_command("warning", "version not known", None, part) for part in report.unresolved]
    # An ignored finding is no annotation beside the line: it would draw the eye to what was settled.
    lines += [f"ignored {item.finding.rule}: {' '.join(item.ignore.reason.split())}" for item in report.ignored]
    return "".join(f"{line}\n" for line in (*lines, report.last_line))


def _command(kind: str, title: str, position: Position | None, text: str) -> str:
    properties = {"title": title}
    if position is not None and position.file != "-":
        properties["file"] = position.file
        if position.line:
            properties |= {"line": str(position.line), "col": str(position.column or 1)}
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {given}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
