"""JUnit XML: one suite a scenario and variant, one test case a cell.

A cell that fails as a rule says it must is a passed test, with that in its output; one without evidence is an error, so
that no build server shows it as a pass.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from stator.matrix.reports.grid import Grid, grids, mark, summary
from stator.matrix.results import CellResult, MatrixRun, blame

# Characters XML 1.0 cannot hold, not even escaped (section 2.2).
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(run: MatrixRun) -> str:
    """One `testsuites` element."""
    suites = ET.Element("testsuites", name="stator matrix")
    for grid in grids(run):
        suites.append(_suite(run, grid))
    totals = {name: str(sum(int(suite.attrib[name]) for suite in suites)) for name in ("tests", "failures", "errors")}
    suites.attrib.update(totals)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _suite(run: MatrixRun, grid: Grid) -> ET.Element:
    suite = ET.Element("testsuite", name=_clean(f"stator matrix {grid.title}"))
    for cell in grid.cells.values():
        result = run.result(cell)
        case = ET.SubElement(
            suite, "testcase", classname=_clean(grid.title), name=str(cell.pair), time=f"{result.seconds:.3f}"
        )
        _verdict(case, run, result)
    counts = {
        "tests": len(suite),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
    }
    suite.attrib.update({name: str(number) for name, number in counts.items()})
    ET.SubElement(suite, "system-out").text = summary(run)
    return suite


def _verdict(case: ET.Element, run: MatrixRun, result: CellResult) -> None:
    whose = blame(run, result.cell)
    text = _clean("\n".join(filter(None, (result.why, whose))))
    if result.verdict in {"fail", "unexpected pass"}:
        ET.SubElement(case, "failure", message=_clean(mark(result))).text = text
    elif result.verdict == "no evidence":
        ET.SubElement(case, "error", message="no evidence").text = text
    elif result.verdict == "known bad":
        ET.SubElement(case, "system-out").text = f"{mark(result)}: {text}"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
