"""Fixes: what they write, what they leave alone, and what they refuse."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from graphs import frontend, graph, worker
from hypothesis import given, settings
from hypothesis import strategies as st

from stator.check import CheckOptions, check, read
from stator.check.fixes import Fixing, difference, fix, write

MM = {"DYN_VLLM_IS_PREFILL_WORKER": "true"}


def one(made: dict[str, Any], front: dict[str, Any] | None = None) -> dict[str, Any]:
    """A graph of a frontend and this part."""
    return graph(front or frontend(), made)


def env(release: str = "1.6.1", **variables: str) -> dict[str, Any]:
    """A graph whose SGLang worker has these variables, and one more."""
    return one(worker(release, env={"LAST": "x", **variables, "FIRST": "z"}))


def args(release: str, *words: str, engine: str = "sglang") -> dict[str, Any]:
    """A graph whose worker has these arguments, and others around them."""
    return one(worker(release, "--model", "m", *words, "--trust-remote-code", engine=engine))


def front(release: str = "1.6.1", *words: str, **fields: Any) -> dict[str, Any]:
    """A graph with such a frontend."""
    return one(worker(), frontend(release, *words, **fields))


def same(value: str) -> dict[str, Any]:
    """A graph whose worker has a variable twice."""
    return one(worker(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": value}]))


def alpha(**fields: Any) -> dict[str, Any]:
    """A v1alpha1 graph whose worker has these fields."""
    main = {"image": "r/sglang:1.6.1", "command": ["python3", "-m", "dynamo.sglang"]}
    service = {"componentType": "worker", **fields, "extraPodSpec": {"mainContainer": main}}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "old"},
        "spec": {"services": {"Worker": service}},
    }


# rule, a manifest with the finding
SAFE: list[tuple[str, dict[str, Any]]] = [
    ("DYN101", args("1.5.1", "--embedding-worker")),
    ("DYN101", one(worker("1.5.1", "--embedding-worker", env={"A": "1"}))),
    ("DYN101", one(worker("1.5.1", "--embedding-worker", env={"DYN_HEALTH_CHECK_ENABLED": "True"}))),
    ("DYN102", env(DYN_HEALTH_CHECK_ENABLED="1")),
    ("DYN102", graph(frontend(), worker(), env=[{"name": "DYN_HEALTH_CHECK_ENABLED", "value": "off"}])),
    ("DYN104", env(DYN_CANARY_WAIT_TIME="5.0")),
    ("DYN209", env(DYN_REQUEST_PLANE="TCP")),
    ("DYN210", env(DYN_EVENT_PLANE="Nats")),
    ("DYN303", args("1.4.0", "--is-prefill-worker", engine="vllm")),
    ("DYN303", args("1.4.0", "--no-is-decode-worker", engine="vllm")),
    ("DYN304", args("1.6.1", "--connector", "none", engine="vllm")),
    ("DYN304", args("1.6.1", "--connector=none", engine="vllm")),
    ("DYN305", args("1.4.0", "--multimodal-worker", engine="vllm")),
    ("DYN306", args("1.4.0", "--multimodal-worker")),
    ("DYN307", args("1.4.0", "--disaggregation-mode=prefill_and_decode", engine="trtllm")),
    ("DYN307", args("1.4.0", "--disaggregation-mode", "prefill_and_decode", engine="trtllm")),
    ("DYN309", front("1.4.0", "--router-snapshot-threshold", "5", "--router-reset-states", "--router-mode", "kv")),
    ("DYN310", front("1.4.0", "--decode-fallback", "--http-port", "8000")),
    ("DYN311", front("1.4.0", "--enforce-disagg")),
    ("DYN312", one(worker("1.4.0", main={"command": ["python3", "-m", "dynamo.vllm.unified_main"]}, engine="vllm"))),
    ("DYN313", args("1.4.0", "--load-format", "mx-source", engine="vllm")),
    ("DYN314", front("1.6.1", "--store-kv", "kubernetes")),
    ("DYN401", same("1")),
    ("DYN410", one(worker(sharedMemorySise="8Gi"))),
    ("DYN410", one(worker(main={"resource": {}}))),
    ("DYN411", alpha(autoscaling={"enabled": True, "maxReplicas": 3})),
    ("DYN411", alpha(dynamoNamespace="mine")),
]
UNSAFE: list[tuple[str, dict[str, Any]]] = [
    ("DYN103", one(worker("1.4.2", engine="mocker", env={"DYN_HEALTH_CHECK_ENABLED": "true", "A": "1"}))),
    ("DYN105", env(DYN_SYSTEM_PORT="40000")),
    ("DYN106", env(DYN_HEALTH_CHECK_PAYLOAD="{}")),
    ("DYN107", env(DYN_SYSTEM_PORT="9099")),
    ("DYN108", args("1.6.1", "--use-sglang-tokenizer")),
    ("DYN303", one(worker("1.6.1", engine="vllm", env={"DYN_VLLM_IS_PREFILL_WORKER": "true"}))),
    ("DYN309", front("1.4.0", env={"DYN_ROUTER_RESET_STATES": "true"})),
    ("DYN311", front("1.4.0", env={"DYN_ENFORCE_DISAGG": "true", "A": "1"})),
    ("DYN314", front("1.6.1", env={"DYN_KV_STORE": "kubernetes"})),
    ("DYN315", front(env={"DYN_KV_OVERLAP_SCORE_WEIGHT": "1.0"})),
    ("DYN316", front("1.4.0", env={"DYN_AGENT_TRACE_SINKS": "jsonl"})),
    ("DYN317", front("1.6.0", env={"DYN_AIC_BACKEND": "vllm"})),
    ("DYN319", env("1.5.0", DYN_SNAPSHOT_RESTORE_STANDBY="true")),
    ("DYN412", graph(frontend(), worker(), annotations={"nvidia.com/dynamo-discover-backend": "etcd"})),
]


def block(value: Any) -> str:
    """As people write it."""
    return yaml.safe_dump(value, sort_keys=False)


def indented(value: Any) -> str:
    """With lists further in than their key, comments and quotes everywhere, and Windows line ends."""
    text = yaml.dump(value, Dumper=_Indented, sort_keys=False)
    lines = [f"{line}  # line {number}" for number, line in enumerate(text.splitlines())]
    return "# above\r\n---\r\n" + "\r\n".join(lines) + "\r\n"


class _Indented(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002, ARG002 - its caller's
        super().increase_indent(flow, indentless=False)


_Indented.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def flow(value: Any) -> str:
    """Everything on as few lines as it goes."""
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=True)


def as_json(value: Any) -> str:
    """JSON, which is YAML too."""
    return json.dumps(value, indent=2) + "\n"


STYLES: list[Callable[[Any], str]] = [block, indented, flow, as_json]


def fixed(text: str, *, unsafe: bool = False) -> Fixing:
    """What fixing does to the text of a file."""
    reading = read(["-"], stdin=BytesIO(text.encode()))
    return fix(reading, lambda each: check(each, CheckOptions()), unsafe=unsafe)


def new(done: Fixing) -> str:
    """The text after fixing."""
    return done.files["-"].decode()


def rules_of(done: Fixing) -> set[str]:
    """The rules of what is left that could have been fixed."""
    return {finding.rule for finding in done.report.findings if finding.edit is not None}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("rule", "made"), SAFE)
def test_a_safe_fix_ends_its_finding_in_every_style(rule: str, made: dict[str, Any], style: Callable[..., str]) -> None:
    """After fixing the finding is gone, nothing new is found, and fixing again changes nothing."""
    text = style(made)
    before = check(read(["-"], stdin=BytesIO(text.encode())), CheckOptions())
    assert rule in {finding.rule for finding in before.findings}
    done = fixed(text)
    assert done.unfixed == ()
    after = {(finding.rule, finding.component) for finding in done.report.findings}
    assert not {item.finding.rule for item in done.fixed} & {name for name, _ in after} - _unsafe(done)
    assert after <= {(finding.rule, finding.component) for finding in before.findings}
    assert fixed(new(done)).files == {}


def _unsafe(done: Fixing) -> set[str]:
    return {finding.rule for finding in done.report.findings if not finding.safe}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("rule", "made"), UNSAFE)
def test_an_unsafe_fix_waits_until_it_is_asked_for(rule: str, made: dict[str, Any], style: Callable[..., str]) -> None:
    """What changes how a graph runs is not written with the safe fixes."""
    text = style(made)
    assert rule in rules_of(fixed(text))
    done = fixed(text, unsafe=True)
    assert rule not in {finding.rule for finding in done.report.findings}, done.unfixed
    assert fixed(new(done), unsafe=True).files == {}


@pytest.mark.parametrize(("rule", "made"), SAFE + UNSAFE)
def test_no_other_line_changes(rule: str, made: dict[str, Any]) -> None:
    """Comments, quotes, order, line ends and other documents stay byte for byte; only the fix's own lines differ."""
    del rule
    text = "# first\r\n" + indented({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}) + indented(made)
    done = fixed(text, unsafe=True)
    old, now = text.split("\r\n"), new(done).split("\r\n")
    kept = [line for line in now if line in old]
    positions = [old.index(line) for line in kept if "  # line" not in line or old.count(line) == 1]
    assert positions == sorted(positions) or len(set(positions)) != len(positions)
    assert len([line for line in old if line not in now]) <= 12
    assert "\n" not in new(done).replace("\r\n", "")


words = st.sampled_from(["--is-prefill-worker", "--model", "m", "--connector", "none", "--multimodal-worker", "-v"])
values = st.sampled_from(["1", "True", "false", "on", "", "{}", "x y", "'", '"', "9099", "$(A)", "ü"])
names = ["A", "B", "DYN_HEALTH_CHECK_ENABLED", "DYN_HEALTH_CHECK_PAYLOAD", "DYN_SYSTEM_PORT", "DYN_CONNECTOR"]
entries = st.builds(lambda name, value: {"name": name, "value": value}, st.sampled_from(names), values)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(words, max_size=6),
    st.lists(entries, max_size=5),
    st.sampled_from(["sglang", "vllm"]),
    st.sampled_from(["1.3.1", "1.5.1", "1.6.1"]),
    st.sampled_from(STYLES),
    st.booleans(),
)
def test_fixing_is_idempotent_and_changes_nothing_on_the_side(
    given_words: list[str],
    given_entries: list[dict[str, str]],
    engine: str,
    release: str,
    style: Callable[..., str],
    unsafe: bool,  # noqa: FBT001 - hypothesis passes it
) -> None:
    """Whatever is in a manifest: what is fixed is valid, stays fixed, and the rest of the object is the same."""
    made = one(worker(release, *given_words, engine=engine, env=given_entries), frontend(release))
    text = style(made)
    done = fixed(text, unsafe=unsafe)
    if not done.files:
        return
    (after,) = yaml.safe_load_all(new(done))
    assert fixed(new(done), unsafe=unsafe).files == {}
    for value in (made, after):
        container = value["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]
        container.pop("args", None)
        container.pop("env", None)
    assert after == made


ANCHORED = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: a}
spec:
  components:
    - name: One
      type: worker
      podTemplate:
        spec:
          containers:
            - name: main
              image: r/worker:1.6.1
              command: [python3, -m, dynamo.sglang]
              env: &env
                - name: DYN_HEALTH_CHECK_ENABLED
                  value: "1"
    - name: Two
      type: worker
      podTemplate:
        spec:
          containers:
            - name: main
              image: r/worker:1.6.1
              command: [python3, -m, dynamo.sglang]
              env: *env
"""


def test_what_two_places_share_is_refused_by_name() -> None:
    """An anchor that is used again is not edited: the other place would change with it."""
    done = fixed(ANCHORED)
    assert done.files == {}
    assert {(left.finding.rule, left.finding.component) for left in done.unfixed} == {
        ("DYN102", "One"),
        ("DYN102", "Two"),
    }
    assert all("alias" in left.why for left in done.unfixed)
    alone = ANCHORED.replace("env: *env", "env: []")
    assert new(fixed(alone)) == alone.replace('"1"', '"true"')


@pytest.mark.parametrize(
    ("old", "written", "why"),
    [
        ('value: "1"', "value: &on '1'", "anchor"),
        ('value: "1"', "value: !!str 1", "tag"),
        ('value: "1"', "value: |-\n                    1", "block of lines"),
    ],
)
def test_what_cannot_be_edited_in_place_is_refused(old: str, written: str, why: str) -> None:
    """A place that carries more than its value is left for a person, with the reason."""
    done = fixed(ANCHORED.replace("env: *env", "env: []").replace(old, written))
    assert done.files == {}
    assert [why in left.why for left in done.unfixed] == [True]


def test_an_option_in_a_script_is_renamed_and_never_cut_out() -> None:
    """One word of a shell script can be another; removing one may change what the script is."""
    script = "set -e\nexec python3 -m dynamo.vllm --model m \\\n  --is-prefill-worker --no-is-decode-worker"
    made = one(worker("1.4.0", main={"command": ["sh", "-c"], "args": [script]}, engine="vllm"))
    for style in (block, as_json):
        done = fixed(style(made))
        assert "--disaggregation-mode=prefill" in new(done)
        assert [left.why for left in done.unfixed] == ["the word stands in a script or among others"]


def test_a_variable_something_refers_to_is_not_removed() -> None:
    """`$(NAME)` would be left in the text as it is."""
    made = one(worker(env={"DYN_HEALTH_CHECK_PAYLOAD": "{}", "B": "$(DYN_HEALTH_CHECK_PAYLOAD)"}))
    done = fixed(block(made), unsafe=True)
    assert ["refers to it" in left.why for left in done.unfixed] == [True]


def test_a_file_is_replaced_whole_with_its_mode_and_its_byte_order_mark(tmp_path: Path) -> None:
    """A reader sees the old content or the new; a link stays a link; what is around the text stays."""
    target, link = tmp_path / "real.yaml", tmp_path / "graph.yaml"
    target.write_bytes(b"\xef\xbb\xbf" + block(env(DYN_HEALTH_CHECK_ENABLED="1")).encode())
    target.chmod(0o640)
    link.symlink_to(target)
    done = fix(read([str(link)]), lambda each: check(each, CheckOptions()))
    write(done.files)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.read_bytes().startswith(b"\xef\xbb\xbfapiVersion")
    assert b"'true'" in target.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.yaml", "real.yaml"]


def test_the_patch_is_one_that_patch_takes() -> None:
    """File names, hunks and a missing last line end are as `patch -p1` and `git apply` want them."""
    assert difference("/a/b.yaml", b"x: 1", b"x: 2\n") == (
        "--- a/a/b.yaml\n+++ b/a/b.yaml\n@@ -1 +1 @@\n-x: 1\n\\ No newline at end of file\n+x: 2\n"
    )
    assert difference("a", b"x", b"x") == ""


def test_every_edit_a_rule_can_make_is_tried_here() -> None:
    """A rule whose edit nobody tries would not be noticed when it breaks."""
    source = Path(__file__).parents[2] / "src" / "stator" / "compat"
    with_edits = {
        path.name[:6]
        for path in (source / "rules").iterdir()
        if re.search(r"^  edits:|^    safe: true|^  instead:|^  meant:", path.read_text(), re.MULTILINE)
    }
    assert with_edits <= {rule for rule, _ in SAFE + UNSAFE}
