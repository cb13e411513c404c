"""Properties of the rules on graphs nobody would write."""

from __future__ import annotations

from typing import Any

from graphs import REGISTRY, report
from hypothesis import given, settings
from hypothesis import strategies as st

from stator.compat import rules
from stator.compat.dictionaries import dictionary, releases
from stator.compat.rule import SEVERITIES
from stator.versions import Version

MODULES = ("dynamo.sglang", "dynamo.vllm", "dynamo.trtllm", "dynamo.mocker", "dynamo.frontend", "dynamo.planner")
# The engines of one graph have to agree, so there is one.
ONE_ENGINE = ("dynamo.sglang", "dynamo.mocker", "dynamo.frontend", "dynamo.planner")
NAMED = {name for rule in rules() for name in rule.looks_for.get("variables", ())}
VARIABLES = sorted(NAMED | {"DYN_HEALTH_CHECK_PAYLOAD", "DYN_ROUTER_MODE"})
GONE = {flag for rule in rules() if rule.predicate == "gone" for flag in rule.looks_for.get("flags", ())}
OTHERS = {"--tp", "-tp", "--pp-size", "--disaggregation-mode", "--router-mode", "--dyn-tool-call-parser", "--"}
FLAGS = sorted(GONE | OTHERS)
TEXTS = ["", " ", "true", "1", "kv", "{}", "[", "$(A)", "$", "9" * 5000, "-1", "prefill", "etcd", "\u0663", "=", "--"]
odd = st.sampled_from(TEXTS)
words = st.sampled_from(FLAGS) | odd | st.builds("{}={}".format, st.sampled_from(FLAGS), odd)
entries = st.builds(lambda name, value: {"name": name, "value": value}, st.sampled_from([*VARIABLES, "A"]), odd)
versions = st.sampled_from([*map(str, releases()), "1.3.0", "1.4.0", "1.7.0", "2.0.0", "latest"])


@st.composite
def parts(draw: st.DrawFn, index: int) -> dict[str, Any]:
    """A component of any type that runs any module with any words and variables."""
    container = {
        "name": "main",
        "image": f"{REGISTRY}/runtime:{draw(versions)}",
        "command": ["python3", "-m", draw(st.sampled_from(ONE_ENGINE))],
        "args": draw(st.lists(words, min_size=1, max_size=6)),
        "env": draw(st.lists(entries, max_size=5)),
        "resources": {"limits": {"nvidia.com/gpu": draw(st.sampled_from(["0", "1", "8"]))}},
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", draw(st.sampled_from(["1", "60", "9" * 50]))]}}},
    }
    kind = draw(st.sampled_from(["frontend", "worker", "prefill", "decode", "planner"]))
    return {"name": f"part{index}", "type": kind, "podTemplate": {"spec": {"containers": [container]}}}


graphs = st.tuples(parts(0), parts(1)).map(
    lambda made: {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "odd"},
        "spec": {"components": list(made)},
    }
)


@settings(max_examples=60)
@given(graphs, st.sampled_from([None, Version(1, 4, 0), Version(1, 6, 1)]))
def test_any_graph_is_judged_and_every_finding_has_its_place(made: dict[str, Any], after: Version | None) -> None:
    """No text of a manifest stops the check; findings are at a line, at a severity their rule knows."""
    done = report(made, after=after)
    worst = {rule.id: SEVERITIES.index(rule.severity) for rule in rules()}
    for finding in done.findings:
        assert finding.location is not None
        assert finding.location.line > 0
        assert SEVERITIES.index(finding.severity) <= worst[finding.rule]


@given(st.data())
def test_no_option_of_a_release_is_unknown_to_it(data: st.DataObject) -> None:
    """Whatever a release's own parsers know is never called unknown there."""
    release = data.draw(st.sampled_from(releases()))
    book = dictionary(release)
    assert book is not None
    module = data.draw(st.sampled_from([name for name in MODULES if book.component(name)]))
    part = book.component(module)
    assert part is not None
    flag = data.draw(st.sampled_from(sorted(name for name in part.spellings if name.startswith("--"))))
    kind = "frontend" if module == "dynamo.frontend" else "planner" if module == "dynamo.planner" else "worker"
    container = {
        "name": "main",
        "image": f"{REGISTRY}/x:{release}",
        "command": ["python3", "-m", module],
        "args": [flag],
    }
    made = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "known"},
        "spec": {"components": [{"name": "Part", "type": kind, "podTemplate": {"spec": {"containers": [container]}}}]},
    }
    assert "DYN301" not in {finding.rule for finding in report(made).findings}
