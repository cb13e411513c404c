"""The order of an upgrade, where it has to stop, and what its steps say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from sides import PAIR, graph_of

from stator.cli.plan import plan as command
from stator.errors import InvalidInputError
from stator.render import RenderOptions
from stator.upgrade.plan import Plan, plan
from stator.upgrade.plan_report import plan_diagram, plan_json, plan_text
from stator.versions import Version, frontend_worker

DISAGGREGATED = PAIR.replace("name: Worker\n    type: worker", "name: Prefill\n    type: prefill").replace(
    "name: Encoder\n    type: worker", "name: Decode\n    type: decode"
)


def planned(text: str = PAIR, *, operator: str = "1.6.1", before: str = "", **versions: str) -> Plan:
    """The plan for one graph, with components or types at other releases by keyword."""
    wanted = {name: Version.parse(version) for name, version in versions.items()}
    old, new = (RenderOptions(operator=Version.parse(each)) for each in (before or operator, operator))
    return plan([graph_of(text)], wanted, old, new)


def at(text: str, frontend: str, worker: str) -> str:
    """The graph with its frontend and workers at these releases."""
    return text.replace("reg/frontend:1.6.1", f"reg/frontend:{frontend}").replace(":1.5.1", f":{worker}")


def kinds(result: Plan) -> list[str]:
    """The steps by kind."""
    return [step.kind for step in result.steps]


def test_operator_then_frontends_then_workers() -> None:
    """The usual order, with the operator's every minor line as a step of its own."""
    result = planned(
        at(PAIR, "1.4.2", "1.4.2"), before="1.4.0", operator="1.6.1", frontend="1.6.1", worker="1.6.1", encoder="1.6.1"
    )
    assert kinds(result) == ["operator", "operator", "frontends", "workers"]
    assert [step.moves for step in result.steps[:2]] == [
        ("operator 1.4.0 -> 1.5.0",),
        ("operator 1.5.0 -> 1.6.1",),
    ]
    assert result.state == "ok"


def test_the_operator_goes_down_last() -> None:
    """On a rollback workers and frontends leave the newer releases before the operator does."""
    result = planned(at(PAIR, "1.6.1", "1.6.1"), before="1.6.1", operator="1.5.1", frontend="1.5.1", worker="1.5.1")
    assert kinds(result) == ["frontends", "workers", "operator"]


def test_workers_go_first_where_only_that_keeps_the_window() -> None:
    """From 1.4 and 1.3 to 1.6 and 1.5 frontends first would meet workers three lines older."""
    result = planned(at(PAIR, "1.4.2", "1.3.0"), operator="1.5.1", frontend="1.6.0", worker="1.5.1", encoder="1.5.1")
    assert kinds(result) == ["workers", "frontends"]
    assert "stop" not in {step.state for step in result.steps}


def test_leaving_the_window_stops_the_plan() -> None:
    """A worker three minor lines behind is a stop that says what to do; what would follow is marked as behind it."""
    result = planned(at(PAIR, "1.6.1", "1.5.1"), worker="1.3.0", before="1.6.1", operator="1.5.1")
    stopped, behind = result.steps
    assert (stopped.state, stopped.reached, behind.reached) == ("stop", True, False)
    assert "go through a release between" in plan_text(result)


def test_prefill_and_decode_move_together_or_not_at_all() -> None:
    """Moving one of the pair stops; moving both is one step, isolated by the worker generation."""
    alone = planned(DISAGGREGATED, decode="1.6.1")
    assert [check.name for check in alone.steps[0].checks if check.state == "stop"] == ["prefill-decode"]
    both = planned(DISAGGREGATED, prefill="1.6.1", decode="1.6.1")
    assert (kinds(both), both.state) == (["workers"], "ok")


def test_an_unknown_version_is_undecided() -> None:
    """A frontend whose tag is no release cannot be checked against: unknown, not fine."""
    result = planned(at(PAIR, "nightly", "1.5.1"), worker="1.6.1")
    assert result.state == "unknown"


def test_an_operator_that_serves_more_than_before_may_move() -> None:
    """A runtime that today's operator does not serve either does not hold the operator back."""
    result = planned(at(PAIR, "1.6.1", "1.6.1"), before="1.3.0", operator="1.6.1")
    assert "stop" not in {step.state for step in result.steps}


def test_nothing_to_do_is_a_plan() -> None:
    """Versions that are there already need no step."""
    result = planned(worker="1.5.1")
    assert (result.steps, plan_text(result)) == ((), "nothing to do\n")


def test_a_step_says_what_rolls() -> None:
    """The workers' step rolls every worker and no frontend, in JSON and in the diagram too."""
    result = planned(worker="1.6.1", encoder="1.6.1")
    document = json.loads(plan_json(result))
    assert document["steps"][0]["rolls"] == [
        "DynamoGraphDeployment/ns/g Worker",
        "DynamoGraphDeployment/ns/g Encoder",
    ]
    moves = "Worker 1.5.1 → 1.6.1<br/>Encoder 1.5.1 → 1.6.1"
    assert plan_diagram(result).splitlines()[:4] == [
        "flowchart TD",
        '  now(["now"])',
        f'  step1["1. workers<br/>{moves}<br/>rolls Worker, Encoder<br/>ok"]:::ok',
        "  now --> step1",
    ]


def test_a_setting_that_fits_nothing_is_refused() -> None:
    """A typo in `--set` names the components there are."""
    with pytest.raises(InvalidInputError, match=r"Worker \(worker\)"):
        planned(wroker="1.6.1")


MINORS = st.integers(2, 7)


@settings(max_examples=25)
@given(frontends=st.tuples(MINORS, MINORS), workers=st.tuples(MINORS, MINORS))
def test_a_plan_without_a_stop_never_leaves_the_window(frontends: tuple[int, int], workers: tuple[int, int]) -> None:
    """If no step stops, frontends and workers of every moment, old and new side by side, understand each other."""
    versions = {"frontend": f"1.{frontends[1]}.0", "worker": f"1.{workers[1]}.0"}
    text = at(PAIR, f"1.{frontends[0]}.0", f"1.{workers[0]}.0")
    result = planned(text[: text.index("  - name: Encoder")], operator="1.7.0", **versions)
    pods: dict[str, set[int]] = {"frontends": {frontends[0]}, "workers": {workers[0]}}
    if frontend_worker(Version(1, frontends[0], 0), Version(1, workers[0], 0)).state != "inside":
        return
    for step in result.steps:
        target = {"frontends": frontends[1], "workers": workers[1]}[step.kind]
        during = {**pods, step.kind: pods[step.kind] | {target}}
        apart = max(abs(one - two) for one in during["frontends"] for two in during["workers"])
        stops = any(check.state == "stop" and check.name == "frontend-worker" for check in step.checks)
        assert (apart > 2) == stops
        if stops:
            break
        pods = {**pods, step.kind: {target}}


def run(*arguments: str, text: str = PAIR) -> Result:
    """Run the command on a text as standard input."""
    return CliRunner().invoke(command, ["-", *arguments], input=text, standalone_mode=False)


@pytest.mark.parametrize(
    ("text", "version", "code"), [(PAIR, "1.6.1", 0), (PAIR, "1.2.0", 1), (at(PAIR, "nightly", "1.5.1"), "1.6.1", 3)]
)
def test_exit_codes(text: str, version: str, code: Any) -> None:
    """0 for a plan to follow, 1 for one with a stop, 3 for one that cannot be decided."""
    assert run("--set", f"worker={version}", text=text).return_value == code


def test_a_step_says_which_defaults_it_crosses() -> None:
    """What changes without an edit is told at the step that changes it, and stops nothing."""
    result = planned(at(PAIR, "1.4.2", "1.4.2"), operator="1.6.1", frontend="1.5.1", worker="1.5.1", encoder="1.5.1")
    said = {(step.kind, check.name): check.state for step in result.steps for check in step.checks}
    assert said["workers", "DYN504"] == "ok"
    assert ("frontends", "DYN504") not in said
    assert "note DYN504: Worker: from 1.4.2 to 1.5.1 active health checks become the default" in plan_text(result)


def test_a_mix_between_two_steps_decides_their_order() -> None:
    """Embedding workers that answer in base64 wait for a frontend that reads it; going down, they go first."""
    text = at(PAIR, "1.2.1", "1.2.1").replace("--model-path", "--embedding-worker, --model-path")
    assert "--embedding-worker" in text
    up = planned(text, operator="1.3.1", frontend="1.3.1", worker="1.3.1", encoder="1.3.1")
    assert kinds(up) == ["frontends", "workers"]
    assert "DYN204" not in {check.name for step in up.steps for check in step.checks}
    newer = text.replace(":1.2.1", ":1.3.1")
    down = planned(newer, operator="1.3.1", frontend="1.2.1", worker="1.2.1", encoder="1.2.1")
    assert kinds(down) == ["workers", "frontends"]
    assert "DYN204" not in {check.name for step in down.steps for check in step.checks}
