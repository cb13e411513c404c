"""Markdown, for a comment on a change or a job's summary."""

from __future__ import annotations

from stator.check.formats.lines import place, unused_line
from stator.check.report import FailOn, Report
from stator.compat import rules

_HEAD = "| where | severity | rule | what | to do |\n| --- | --- | --- | --- | --- |"


def to_markdown(report: Report, fail_on: FailOn) -> str:
    """A table of the findings, lists of the rest, and the counts; a heading and the counts if there is nothing."""
    del fail_on
    pages = {rule.id: rule.page_path for rule in rules()}
    parts = ["## stator check"]
    if report.findings:
        rows = [
            _row(
                place(finding).removesuffix(": "),
                finding.severity,
                f"[{finding.rule}]({pages.get(finding.rule, '')})",
                f"{finding.object} {finding.component}".rstrip() + f": {finding.message}",
                finding.remedy,
            )
            for finding in report.findings
        ]
        parts.append("\n".join([_HEAD, *rows]))
    rest = [f"* ignored {item.finding.rule}: {_text(item.ignore.reason)}" for item in report.ignored]
    rest += [f"* {_text(unused_line(ignore))}" for ignore in report.unused]
    rest += [f"* not checked: {_text(str(problem))}" for problem in report.problems]
    rest += [f"* not known: the runtime version of {_text(part)}" for part in report.unresolved]
    if rest:
        parts.append("\n".join(rest))
    return "\n\n".join([*parts, report.last_line]) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(map(_text, cells)) + " |"


def _text(text: str) -> str:
    """On one line, without what would end a cell or begin a tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
