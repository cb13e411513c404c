"""SARIF 2.1.0 (OASIS standard), which code hosts show beside the line.

Each rule that found something is listed with its page as help. Ignored findings are results with a suppression; what
could not be checked are notifications of the invocation, and then the execution was not successful.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec

from stator import __version__
from stator.check.formats.lines import unused_line
from stator.check.report import FailOn, Report
from stator.compat import Finding, Rule, Severity, rules
from stator.compat.page import rule_page
from stator.errors import Position, Problem

SCHEMA = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}

Json = dict[str, Any]


def to_sarif(report: Report, fail_on: FailOn) -> str:
    """One log with one run."""
    shown = {finding.rule for finding in (*report.findings, *(item.finding for item in report.ignored))}
    known = [rule for rule in rules() if rule.id in shown]
    results = [_result(finding, known) for finding in report.findings]
    results += [
        {
            **_result(item.finding, known),
            "suppressions": [
                {
                    "kind": "inSource" if item.ignore.object else "external",
                    "justification": item.ignore.reason,
                }
            ],
        }
        for item in report.ignored
    ]
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "stator",
                        "semanticVersion": __version__,
                        "rules": [_rule(rule) for rule in known],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [_invocation(report, fail_on)],
                "results": results,
            }
        ],
    }
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "help": {"text": f"{rule.page_path}, or: stator explain {rule.id}", "markdown": rule_page(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, known: list[Rule]) -> Json:
    subject = f"{finding.object} {finding.component}".rstrip()
    text = f"{subject}: {finding.message}." + (f" To do: {finding.remedy}." if finding.remedy else "")
    return {
        "ruleId": finding.rule,
        "ruleIndex": next(index for index, rule in enumerate(known) if rule.id == finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": _locations(finding.location, subject),
        "properties": {"versions": finding.versions, "fix": finding.fix, "repair": finding.repair},
    }


def _locations(position: Position | None, subject: str = "") -> list[Json]:
    if position is None:
        return []
    physical: Json = {"artifactLocation": {"uri": quote("stdin" if position.file == "-" else position.file)}}
    if position.line:
        physical["region"] = {
            "startLine": position.line,
            **({"startColumn": position.column} if position.column else {}),
        }
    logical = [{"fullyQualifiedName": subject}] if subject else []
    return [{"physicalLocation": physical, **({"logicalLocations": logical} if logical else {})}]


def _invocation(report: Report, fail_on: FailOn) -> Json:
    notes = [_notification("error", _sentence(problem), problem.position) for problem in report.problems]
    notes += [_notification("warning", f"the runtime version of {part} is not known") for part in report.unresolved]
    notes += [_notification("note", unused_line(ignore), ignore.position) for ignore in report.unused]
    notes.append(_notification("note", report.last_line))
    return {
        "executionSuccessful": not report.undecided,
        "exitCode": int(report.exit_code(fail_on)),
        "toolExecutionNotifications": notes,
    }


def _sentence(problem: Problem) -> str:
    return ": ".join(filter(None, (problem.what, problem.why, problem.remedy)))


def _notification(level: str, text: str, position: Position | None = None) -> Json:
    return {"level": level, "message": {"text": text}, "locations": _locations(position)}
