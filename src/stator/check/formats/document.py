"""For programs: one JSON document, or one JSON object a line. `schema_version` changes when a reader could break."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from stator import __version__
from stator.check.ignores import Ignore
from stator.check.report import FailOn, Report
from stator.compat import Finding, rules
from stator.errors import Position, Problem

SCHEMA_VERSION = 1

Json = dict[str, Any]


def to_json(report: Report, fail_on: FailOn) -> str:
    """The whole report."""
    document = {
        **_head(report, fail_on),
        "findings": [_finding(finding) for finding in report.findings],
        "ignored": [
            {**_finding(item.finding), "reason": item.ignore.reason, "ignored_at": _position(item.ignore.position)}
            for item in report.ignored
        ],
        "unused_ignores": [_ignore(ignore) for ignore in report.unused],
        "problems": [_problem(problem) for problem in report.problems],
        "unread": list(report.unread),
        "unchecked": list(report.unchecked),
        "unresolved": list(report.unresolved),
        "summary": _summary(report),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def to_jsonl(report: Report, fail_on: FailOn) -> str:
    """One object a line: findings, ignored findings, unused ignores and problems, and the summary last."""
    return "".join(msgspec.json.encode(item).decode() + "\n" for item in _items(report, fail_on))


def _items(report: Report, fail_on: FailOn) -> Iterator[Json]:
    for finding in report.findings:
        yield {"type": "finding", **_finding(finding)}
    for item in report.ignored:
        yield {"type": "ignored", **_finding(item.finding), "reason": item.ignore.reason}
    for ignore in report.unused:
        yield {"type": "unused-ignore", **_ignore(ignore)}
    for problem in report.problems:
        yield {"type": "problem", **_problem(problem)}
    yield {"type": "summary", **_head(report, fail_on), **_summary(report)}


def _head(report: Report, fail_on: FailOn) -> Json:
    return {
        "schema_version": SCHEMA_VERSION,
        "stator": __version__,
        "operator": report.operator,
        "fail_on": fail_on,
        "exit_code": int(report.exit_code(fail_on)),
    }


def _summary(report: Report) -> Json:
    return {
        "errors": report.count("error"),
        "warnings": report.count("warning"),
        "infos": report.count("info"),
        "ignored": len(report.ignored),
        "graphs": report.graphs,
        "components": report.components,
        "unresolved": len(report.unresolved),
        "unread": len(report.unread),
        "unchecked": len(report.unchecked),
        "others": report.others,
    }


def _finding(finding: Finding) -> Json:
    rule = next((rule for rule in rules() if rule.id == finding.rule), None)
    return {
        "rule": finding.rule,
        "name": rule.name if rule else "",
        "severity": finding.severity,
        "message": finding.message,
        "object": finding.object,
        "component": finding.component,
        "location": _position(finding.location),
        "versions": finding.versions,
        "remedy": finding.remedy,
        "fix": finding.fix,
        "fixable": fixable(finding),
        "repair": finding.repair,
        "page": rule.page_path if rule else "",
    }


def fixable(finding: Finding) -> str | None:
    """Whether `--fix` can try to mend it: `safe`, `unsafe`, or not at all."""
    return None if finding.edit is None else "safe" if finding.safe else "unsafe"


def _ignore(ignore: Ignore) -> Json:
    return {"rule": ignore.rule, "reason": ignore.reason, "location": _position(ignore.position)}


def _problem(problem: Problem) -> Json:
    return {
        "what": problem.what,
        "location": _position(problem.position),
        "why": problem.why,
        "remedy": problem.remedy,
    }


def _position(position: Position | None) -> Json | None:
    return (
        None
        if position is None
        else {
            "file": position.file,
            "line": position.line,
            "column": position.column,
            "field": position.field,
        }
    )
