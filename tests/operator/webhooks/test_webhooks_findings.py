"""Findings at admission: what is a warning, what refuses where a user asked for that, and what a change is told."""

from __future__ import annotations

from typing import Any

import pytest

from stator.model import Graph, load_objects
from stator.operator.webhooks.findings import MOST_WARNINGS, Judgement, judge
from stator.render import RenderOptions

Json = dict[str, Any]

IMAGE = "r.example/sglang-runtime"
OPTIONS = RenderOptions()


def graph(*workers: str, frontend: str = "1.6.1", **main: Any) -> Graph:
    """A graph of a frontend and a worker of each release."""

    def component(name: str, kind: str, release: str, **more: Any) -> Json:
        container = {"name": "main", "image": f"{IMAGE}:{release}", **more}
        return {"name": name, "type": kind, "podTemplate": {"spec": {"containers": [container]}}}

    command = {"command": ["python3"], "args": ["-m", "dynamo.sglang", "--model-path", "m"], **main}
    components = [component("Frontend", "frontend", frontend)]
    components += [component(f"W{index}", "worker", release, **command) for index, release in enumerate(workers)]
    metadata = {"name": "g", "namespace": "ns"}
    value = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": metadata,
        "spec": {"components": components},
    }
    [found] = load_objects([value]).graphs
    return found


def test_a_graph_without_findings_is_not_spoken_of() -> None:
    """No noise with every apply."""
    assert judge(graph("1.6.1"), None, options=OPTIONS, reject=()).warnings == ()


def test_a_skew_is_a_warning_with_its_rule_and_place() -> None:
    """The id leads to the rule's page, the path to the line to change."""
    judged = judge(graph("1.2.1"), None, options=OPTIONS, reject=())
    assert judged.problems == ()
    [text] = [text for text in judged.warnings if text.startswith("DYN201")]
    assert "spec.components[" in text
    assert text.endswith("(stator explain DYN201)")


@pytest.mark.parametrize("reject", ["DYN201", "error"])
def test_a_finding_refuses_once(reject: str) -> None:
    """What is refused is not also a warning; a graph that is stored with it may be changed."""
    skewed = graph("1.2.1")
    judged = judge(skewed, None, options=OPTIONS, reject={reject})
    assert any(problem.what.startswith("DYN201") for problem in judged.problems)
    assert not any(text.startswith("DYN201") for text in judged.warnings)
    assert all(problem.position and problem.position.field for problem in judged.problems)
    assert (
        judge(graph("1.2.1", env=[{"name": "A", "value": "b"}]), skewed, options=OPTIONS, reject={reject}).problems
        == ()
    )


def test_a_change_is_told_what_the_way_there_runs_into() -> None:
    """Two releases that are fine by themselves, and a move between them that is not."""
    new = graph("1.6.1")
    moved = judge(new, graph("1.2.1", frontend="1.2.1"), options=OPTIONS, reject=())
    assert judge(new, None, options=OPTIONS, reject=()).warnings == ()
    assert {text.split()[0] for text in moved.warnings} == {"DYN501"}


def test_many_findings_are_cut_short() -> None:
    """A header has room for a few; the rest is counted."""
    judged = judge(graph(*["1.0.2"] * 20), None, options=OPTIONS, reject=())
    assert len(judged.warnings) <= MOST_WARNINGS + 1
    assert judged.warnings[-1].endswith("more findings: see stator check")
    assert all(len(text) <= 256 for text in judged.warnings)


def test_what_cannot_be_rendered_is_left_to_the_verdict() -> None:
    """It is refused for that, and nothing is guessed about it."""
    [broken] = load_objects([_of_two_engines()]).graphs
    assert judge(broken, None, options=OPTIONS, reject=("error",)) == Judgement()


def _of_two_engines() -> Json:
    """A graph whose workers contradict each other about its backend."""
    value: Json = dict(graph("1.6.1", "1.6.1").origin.document.value)
    value["spec"]["components"][2]["podTemplate"]["spec"]["containers"][0]["args"] = ["-m", "dynamo.vllm"]
    return value
