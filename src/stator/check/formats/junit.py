"""JUnit XML, which build servers show as tests: one suite, one test case a finding, one that passes if there is none.

A finding that makes the check fail is a failure, any other a passed test with its text as output. An ignored finding
is a skipped test, and what could not be checked is an error.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from stator.check.formats.lines import name_of, place
from stator.check.report import FailOn, Report, fails
from stator.compat import Finding, rules

# Characters XML 1.0 cannot hold, not even escaped (section 2.2).
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(report: Report, fail_on: FailOn) -> str:
    """One `testsuites` element."""
    suite = ET.Element("testsuite", name="stator check")
    for finding in report.findings:
        _finding(suite, finding, fail_on)
    for item in report.ignored:
        case = _case(suite, item.finding)
        ET.SubElement(case, "skipped", message=_clean(item.ignore.reason))
    for problem in report.problems:
        where = str(problem.position or "input")
        case = ET.SubElement(suite, "testcase", classname="input", name=_clean(f"{where} {problem.what}"))
        ET.SubElement(case, "error", message=_clean(problem.what)).text = _clean(str(problem))
    for part in report.unresolved:
        case = ET.SubElement(suite, "testcase", classname="input", name=_clean(f"{part} version"))
        ET.SubElement(case, "error", message="the runtime version is not known")
    if not len(suite):
        ET.SubElement(suite, "testcase", classname="stator", name="no findings")
    counts = {
        "tests": len(suite),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": len(suite.findall("testcase/skipped")),
    }
    suite.attrib.update({name: str(number) for name, number in counts.items()})
    ET.SubElement(suite, "system-out").text = report.last_line
    # Of all suites together build servers read no number of skipped tests (schema of jenkinsci/xunit-plugin).
    whole = {name: str(number) for name, number in counts.items() if name != "skipped"}
    suites = ET.Element("testsuites", {"name": "stator", **whole})
    suites.append(suite)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _finding(suite: ET.Element, finding: Finding, fail_on: FailOn) -> None:
    case = _case(suite, finding)
    page = next((rule.page_path for rule in rules() if rule.id == finding.rule), "")
    lines = [f"{place(finding)}{finding.message}", *([f"do: {finding.remedy}"] if finding.remedy else [])]
    text = _clean("\n".join([*lines, f"see: {page}, stator explain {finding.rule}"]))
    if fails(finding.severity, fail_on):
        ET.SubElement(case, "failure", type=finding.severity, message=_clean(finding.message)).text = text
    else:
        ET.SubElement(case, "system-out").text = f"{finding.severity}: {text}"


def _case(suite: ET.Element, finding: Finding) -> ET.Element:
    name = f"{finding.rule} {name_of(finding.rule)} {finding.component}".rstrip()
    return ET.SubElement(suite, "testcase", classname=_clean(finding.object), name=_clean(name))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
