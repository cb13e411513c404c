"""The formats: valid where nothing was found, where much was, and where little could be checked."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest
import xmlschema
import yaml
from graphs import frontend, graph, worker

from stator.check import CheckOptions, Ignore, Report, check, read
from stator.check.formats import FORMATS, write
from stator.compat import Finding
from stator.errors import Position, Problem

# The schema of the OASIS standard, as published with it (errata 01).
SARIF = json.loads((Path(__file__).parent / "data" / "sarif-schema-2.1.0.json").read_text())
# Its pattern of languages closes a bracket it never opened, which a strict reader of expressions refuses.
for holder in ("run", "toolComponent"):
    del SARIF["definitions"][holder]["properties"]["language"]["pattern"]

# What the xUnit plugin of Jenkins takes (jenkinsci/xunit-plugin), the strictest reader that publishes a schema.
JUNIT = xmlschema.XMLSchema(Path(__file__).parent / "data" / "junit-10.xsd")

NOTHING = Report(operator="1.6.1")


def _much() -> Report:
    made = graph(
        frontend("1.6.1"), worker("1.3.1", "--is-prefill-worker", "--odd=<&|,:%\n", env={"DYN_SYSTEM_PORT": "40000"})
    )
    other = graph(frontend("1.6.1"), worker("latest", env={"DYN_NAMESPACE": "mine"}), name="two")
    ignores = (Ignore(rule="DYN406", reason="tried | here"), Ignore(rule="DYN407", reason="unused"))
    text = yaml.safe_dump_all([made, other], sort_keys=False)
    return check(read(["-"], stdin=BytesIO(text.encode())), CheckOptions(ignores=ignores))


MUCH = _much()
BROKEN = Report(
    operator="1.6.1",
    problems=(Problem(what="cannot be read", position=Position("a b/ü.yaml", 3, 1), why="no\x00such", remedy="look"),),
    unread=("a b/ü.yaml",),
    unchecked=("DynamoGraphDeployment/default/x",),
)
REPORTS = pytest.mark.parametrize("report", [NOTHING, MUCH, BROKEN], ids=["nothing", "much", "broken"])


def test_the_reports_of_these_tests_hold_every_kind_of_entry() -> None:
    """What the formats are tried on has errors, warnings, ignored findings, unused ignores and unknown versions."""
    assert MUCH.count("error")
    assert MUCH.count("warning")
    assert MUCH.ignored
    assert MUCH.unused
    assert MUCH.unresolved


@REPORTS
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_names_each_finding_and_what_was_not_checked(name: str, report: Report) -> None:
    """No format leaves anything out: rules, reasons, problems and the place to read more."""
    text = write(name, report, "error")
    assert text.endswith("\n")
    for finding in report.findings:
        assert finding.rule in text
    for item in report.ignored:
        assert "tried" in text
        assert item.finding.rule in text
    for problem in report.problems:
        assert problem.what in text
    if report.findings and name != "concise":
        assert "docs/rules/DYN" in text or "stator explain DYN" in text or "(docs/rules" in text


@REPORTS
def test_sarif_is_valid_against_the_standard(report: Report) -> None:
    """Each log fits the published schema of SARIF 2.1.0, and every result leads to its rule."""
    log = json.loads(write("sarif", report, "error"))
    problems = [error.message for error in jsonschema_rs.validator_for(SARIF, validate_formats=True).iter_errors(log)]
    assert problems == []
    (run,) = log["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert len(run["results"]) == len(report.findings) + len(report.ignored)
    assert run["invocations"][0]["executionSuccessful"] is not report.undecided


def test_sarif_marks_ignored_findings_as_suppressed() -> None:
    """A code host hides a suppressed result, and shows why."""
    (run,) = json.loads(write("sarif", MUCH, "error"))["runs"]
    suppressed = [result for result in run["results"] if result.get("suppressions")]
    assert [result["ruleId"] for result in suppressed] == ["DYN406"]
    assert suppressed[0]["suppressions"][0]["justification"] == "tried | here"


@REPORTS
def test_junit_is_what_build_servers_take(report: Report) -> None:
    """Each file fits the schema by which they refuse one."""
    JUNIT.validate(write("junit", report, "error"))


@REPORTS
def test_junit_is_well_formed_and_counts_right(report: Report) -> None:
    """Build servers read the counts of the suite; a control character in a message does not break the file."""
    (suite,) = ET.fromstring(write("junit", report, "error"))  # noqa: S314 - written by the code under test
    cases = suite.findall("testcase")
    assert int(suite.get("tests", "")) == len(cases) > 0
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure")) == report.count("error")
    assert int(suite.get("errors", "")) == len(report.problems) + len(report.unresolved)
    assert int(suite.get("skipped", "")) == len(report.ignored)


def test_junit_fails_what_the_check_fails() -> None:
    """With --fail-on warning a warning is a failed test, with never nothing is."""
    (strict,) = ET.fromstring(write("junit", MUCH, "warning"))  # noqa: S314 - written by the code under test
    (lax,) = ET.fromstring(write("junit", MUCH, "never"))  # noqa: S314 - written by the code under test
    assert int(strict.get("failures", "")) == MUCH.count("error") + MUCH.count("warning")
    assert lax.get("failures") == "0"


@REPORTS
def test_json_has_a_schema_version_and_the_counts(report: Report) -> None:
    """Programs find the version of the layout first, and the same numbers as people."""
    document = json.loads(write("json", report, "error"))
    assert document["schema_version"] == 1
    assert document["exit_code"] == report.exit_code("error")
    assert document["summary"]["errors"] == report.count("error")
    assert [item["rule"] for item in document["findings"]] == [finding.rule for finding in report.findings]


@REPORTS
def test_jsonl_is_one_object_a_line_and_ends_with_the_summary(report: Report) -> None:
    """A reader of a stream knows when it is complete."""
    lines = [json.loads(line) for line in write("jsonl", report, "error").splitlines()]
    assert [line["type"] for line in lines].count("finding") == len(report.findings)
    assert lines[-1]["type"] == "summary"
    assert lines[-1]["schema_version"] == 1


def test_workflow_commands_are_escaped() -> None:
    """A line break or a colon in a message or a file name does not end the command."""
    odd = Finding(
        rule="DYN101", severity="warning", message="50% of\nthis", object="o", location=Position("a,b:c.yaml", 2, 3)
    )
    line = write("github", Report(operator="1.6.1", findings=(odd,)), "error").splitlines()[0]
    assert line.startswith("::warning title=DYN101 sglang-embedding-canary,file=a%2Cb%3Ac.yaml,line=2,col=3::")
    assert "50%25 of%0Athis" in line


def test_markdown_keeps_its_table_whole() -> None:
    """A bar or a line break in a message stays inside its cell."""
    odd: Any = Finding(rule="DYN101", severity="error", message="a | b\nc <img>", object="o")
    text = write("markdown", Report(operator="1.6.1", findings=(odd,)), "error")
    (row,) = [line for line in text.splitlines() if "DYN101" in line]
    assert "a \\| b c &lt;img>" in row


def test_concise_is_one_line_a_finding_that_editors_open() -> None:
    """`file:line:column: severity ID name: message`, and the counts last."""
    lines = write("concise", MUCH, "error").splitlines()
    assert lines[0].startswith("-:")
    assert " DYN" in lines[0]
    assert lines[-1] == MUCH.last_line


@pytest.mark.parametrize("name", ["text", "concise"])
def test_a_value_from_a_manifest_cannot_write_to_the_terminal(name: str) -> None:
    """Escape sequences and line breaks in a value are shown, not obeyed."""
    odd = Finding(rule="DYN101", severity="error", message="value \x1b[2J\n0 errors", object="o")
    text = write(name, Report(operator="1.6.1", findings=(odd,)), "error")
    assert "\\x1b[2J\\n0 errors" in text
    assert "\x1b" not in text
