"""What a run has seen: nothing that was not run is a pass, and a failure is put down to what caused it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
import xmlschema
from answers import answer

from stator.cli.matrix import exit_code
from stator.errors import InvalidInputError
from stator.matrix.campaign import carry_on
from stator.matrix.canary import Contract
from stator.matrix.cells import Cell, Pair, Variant, plan_cells
from stator.matrix.checks import CheckResult
from stator.matrix.reports.grid import summary
from stator.matrix.reports.html import to_html
from stator.matrix.reports.json import to_json
from stator.matrix.reports.junit import to_junit
from stator.matrix.reports.markdown import to_markdown
from stator.matrix.reports.text import to_text
from stator.matrix.results import (
    CellResult,
    LogTail,
    MachineFacts,
    MatrixRun,
    Moment,
    PodTimeline,
    blame,
    read,
    write,
)
from stator.versions import Version

V16, V15 = Version(1, 6, 1), Version(1, 5, 1)
MIX = Cell("chat", Pair(V16, V15))
NEW, OLD = MIX.controls


def run(*results: CellResult, variants: tuple[Variant, ...] = (Variant(),)) -> MatrixRun:
    """A run of two releases with these results."""
    planned = MatrixRun(
        stator="0",
        operator="1.6.1",
        window=("1.6.1", "1.5.1"),
        plan=plan_cells([("chat", variants)], [V16, V15]),
        digest="d",
        machine=MachineFacts(system="Linux", cpus=2, memory=8_000_000_000, python="3.11"),
        started_at=1_796_206_000,
        engines={"chat": "dynamo.mocker"},
    )
    for result in results:
        planned = planned.with_result(result)
    return planned


def passed(cell: Cell, **more: Any) -> CellResult:
    """A cell that passed."""
    return CellResult(
        cell=cell, outcome="pass", checks=(CheckResult(name="unary"),), seconds=1, ready_after=0.5, **more
    )


def failed(cell: Cell, *names: str, **more: Any) -> CellResult:
    """A cell that failed these checks, with all the evidence a cell can have."""
    exchange = answer('<script>alert("x")</script> & so on', status=500)
    return CellResult(
        cell=cell,
        outcome="fail",
        why="; ".join(names) or "not Ready",
        checks=tuple(CheckResult(name=name, violations=("status 500",), exchange=exchange) for name in names),
        pods=(
            PodTimeline(
                name="worker-0",
                component="Worker",
                version="1.5.1",
                restarts=1,
                transitions=(Moment(0, False, "Starting"), Moment(2, True, "")),  # noqa: FBT003
            ),
        ),
        logs=(LogTail(pod="worker-0", container="main", lines=("\x1b[31mfatal\x1b[0m <b>",)),),
        contracts=(
            Contract(pod="worker-0", component="Worker", version="1.5.1", handler="chat", fit="fits", why="Ready"),
        ),
        seconds=3,
        **more,
    )


def test_what_was_not_run_is_no_evidence() -> None:
    """In the counts, in the exit code, and in every report."""
    half = run(passed(NEW), passed(OLD))
    assert half.result(MIX).verdict == "no evidence"
    assert summary(half) == "4 cells: 2 pass, 2 no evidence"
    assert exit_code(half) == 3
    assert "no evidence" in to_text(half)
    assert to_markdown(half).count("| no evidence |") == 2
    suite = ET.fromstring(to_junit(half))  # noqa: S314 - written by this program
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("4", "2", "0")
    assert "no evidence" in to_html(half)


@pytest.mark.parametrize(
    ("controls", "mix", "said"),
    [
        ([passed(NEW), passed(OLD)], failed(MIX, "stream"), "the mix: both releases pass alone"),
        ([passed(NEW), failed(OLD, "stream")], failed(MIX, "stream"), "not the mix: 1.5.1 alone fails in the same way"),
        ([failed(NEW, "stream"), failed(OLD, "stream")], failed(MIX, "stream"), "1.6.1 and 1.5.1 alone fail"),
        (
            [passed(NEW), failed(OLD, "unary")],
            failed(MIX, "stream"),
            "cannot be told: 1.5.1 alone fails in another way",
        ),
        ([passed(NEW)], failed(MIX, "stream"), "no evidence for the control frontend 1.5.1, worker 1.5.1"),
        ([passed(NEW), failed(OLD)], failed(MIX), "not the mix: 1.5.1 alone"),
        ([passed(NEW), failed(OLD, "unary")], failed(MIX), "in another way"),
    ],
)
def test_a_failed_mix_is_held_against_its_controls(controls: list[CellResult], mix: CellResult, said: str) -> None:
    """The mix is to blame only if both releases pass alone."""
    assert said in blame(run(*controls, mix), MIX)


def test_a_cell_without_its_repair_must_fail() -> None:
    """Then it counts as known; if it passes, the rule is wrong, and that is a failure."""
    raw = msgspec.structs.replace(OLD, variant=Variant(repairs=False))
    variants = (Variant(repairs=False),)
    known = run(failed(raw, broken_by=("DYN101",)), variants=variants)
    assert known.result(raw).verdict == "known bad"
    assert blame(known, raw) == ""
    assert "fails as known (DYN101)" in to_text(known)
    wrong = run(passed(raw, broken_by=("DYN101",)), variants=variants)
    assert wrong.result(raw).verdict == "unexpected pass"
    assert exit_code(wrong) == 1


def test_the_exit_code_is_that_of_the_worst() -> None:
    """A failure beats what is not known, and all passed is 0."""
    cells = run().plan
    assert exit_code(run(*(passed(cell) for cell in cells))) == 0
    assert exit_code(run(failed(cells[0], "unary"))) == 1


def test_a_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Only cells without a result, or again the ones that failed; a run of another plan is refused."""
    file = tmp_path / "deep" / "results.json"
    with pytest.raises(InvalidInputError, match="no results"):
        carry_on(run(), file)
    write(file, run(passed(NEW), failed(OLD, "unary")))
    earlier = carry_on(run(), file)
    assert earlier.results.keys() == {NEW.id, OLD.id}
    assert [cell.id for cell in earlier.to_do(failed=False)] == [cell.id for cell in run().plan[2:]]
    assert [cell.id for cell in earlier.to_do(failed=True)] == [cell.id for cell in run().plan[1:]]
    with pytest.raises(InvalidInputError, match="of another run"):
        carry_on(msgspec.structs.replace(run(), digest="other"), file)
    file.write_text("{}")
    with pytest.raises(InvalidInputError, match="holds no results"):
        read(file)


def test_results_come_back_from_the_file_as_they_were(tmp_path: Path) -> None:
    """With raw exchanges and timelines."""
    whole = run(passed(NEW), failed(OLD, "unary"))
    write(tmp_path / "r.json", whole)
    assert read(tmp_path / "r.json") == whole


class Page(HTMLParser):
    """Collects what a page refers to, and what is open at its end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.scripts = 0
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        named = dict(attrs)
        self.ids |= {named["id"] or ""} if "id" in named else set()
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]
        self.scripts += tag == "script"
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """It closes what was opened last."""
        assert self.open.pop() == tag


def test_the_page_is_self_contained_and_shows_the_evidence() -> None:
    """Links lead to sections of the page, nothing is fetched, and what a runtime answered is text, not markup."""
    text = to_html(run(passed(NEW), failed(OLD, "unary"), failed(MIX, "unary")))
    assert "<pre>fatal &lt;b&gt;</pre>" in text  # without the colours of a terminal
    page = Page(text)
    assert page.open == []
    assert page.scripts == 0
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert "&lt;script&gt;alert" in text
    assert "not the mix: 1.5.1 alone fails in the same way" in text


def test_json_has_a_verdict_for_every_planned_cell() -> None:
    """Also for one that was not run, and says who is to blame."""
    whole = json.loads(to_json(run(passed(NEW), passed(OLD), failed(MIX, "unary"))))
    assert whole["counts"] == {"pass": 2, "fail": 1, "no evidence": 1}
    assert whole["verdicts"][MIX.id]["blame"] == "the mix: both releases pass alone"
    assert len(whole["verdicts"]) == 4
    assert whole["schema_version"] == 1


def test_junit_is_what_build_servers_take() -> None:
    """The file of a run with every outcome fits the schema by which they refuse one."""
    schema = Path(__file__).parents[1] / "check" / "data" / "junit-10.xsd"
    xmlschema.XMLSchema(schema).validate(to_junit(run(passed(NEW), passed(OLD), failed(MIX, "unary"))))


def test_junit_holds_what_xml_can_hold() -> None:
    """A log's escape character cannot stand in XML; a failure says whose it is."""
    mix = msgspec.structs.replace(failed(MIX, "unary"), why="\x1b[31mfatal")
    suites = ET.fromstring(to_junit(run(passed(NEW), passed(OLD), mix)))  # noqa: S314 - written by this program
    (failure,) = suites.findall("testsuite/testcase/failure")
    assert "the mix: both releases pass alone" in (failure.text or "")
    assert suites.get("failures") == "1"
