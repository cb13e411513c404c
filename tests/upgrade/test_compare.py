"""Which pods an upgrade or an edit replaces, which it leaves alone, and what is said about why."""

from __future__ import annotations

import json
import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st
from sides import PAIR, after_edit, differences_of, edited, side, verdicts

from stator.upgrade import compare, compare_all
from stator.upgrade.report import diff_json, diff_text

EMBEDDING = edited(PAIR, 'args: [--model-path, /models/m, --page-size, "16"]', "args: [--embedding-worker]")


def test_equal_graphs_have_no_difference() -> None:
    """The same file twice changes nothing, and both reports say so."""
    change = compare(side(PAIR), side(PAIR))
    assert change.same
    assert set(verdicts(change).values()) == {"same"}
    assert json.loads(diff_json([change]))["same"] is True
    assert "0 of 3 components would roll, 3 unchanged" in diff_text([change])


def test_one_workers_new_release_rolls_every_worker_and_no_frontend() -> None:
    """Workers share a generation: the one that moved and the others all get new pods, the frontend keeps its own."""
    change = compare(side(PAIR), side(PAIR, Worker="1.6.1"))
    assert verdicts(change) == {"Frontend": "same", "Worker": "rolls", "Encoder": "rolls"}
    encoder = change.components[2]
    assert (encoder.changes, "a change of Worker" in encoder.why) == ((), True)
    assert {item.name.partition("]")[2] for item in change.inputs} == {
        ".podTemplate.spec.containers[main].image",
        ".runtimeVersion",
    }


def test_a_frontends_edit_rolls_the_frontend_alone() -> None:
    """A frontend rolls by its own Deployment: no worker hash input is touched."""
    change = after_edit("reg/frontend:1.6.1", "reg/frontend:1.6.0")
    assert verdicts(change) == {"Frontend": "rolls", "Worker": "same", "Encoder": "same"}
    assert change.generations[0] == change.generations[1]


def test_an_operator_upgrade_rolls_what_a_gate_changes_and_says_which() -> None:
    """From operator 1.5 to 1.6 a 1.6 frontend gets a startup probe; the reason names the gate's release."""
    change = compare(side(PAIR, operator="1.5.0"), side(PAIR, operator="1.6.0"))
    assert verdicts(change) == {"Frontend": "rolls", "Worker": "same", "Encoder": "same"}
    probe = next(item for item in change.components[0].changes if item.name == "startupProbe")
    assert probe.before is None
    assert "runtime 1.6.1 >= 1.6.0" in probe.why


def test_an_environment_entry_is_named_with_its_line() -> None:
    """A changed variable is shown with both values, who set it, and where."""
    change = after_edit("{name: LOG, value: info}", "{name: LOG, value: debug}")
    assert differences_of(change, "Worker") == {"env LOG": ("info", "debug")}
    [entry] = change.components[1].changes
    assert (entry.why, str(entry.position)) == ("component: Worker", "-:25")


def test_an_option_is_named_not_the_whole_command() -> None:
    """Of a command line only the options that differ are shown."""
    change = after_edit('"16"]', '"32", --trust-remote-code]')
    assert differences_of(change, "Worker") == {
        "option --page-size": ("16", "32"),
        "option --trust-remote-code": (None, ""),
    }


def test_a_credential_in_an_option_is_not_shown() -> None:
    """The value of an option that sounds like a credential stays out of text and JSON."""
    change = after_edit('"16"]', '"16", --api-key=hunter2, --hf-token, hunter2]')
    assert "option --api-key" in differences_of(change, "Worker")
    assert "hunter2" not in diff_text([change]) + diff_json([change])


def test_credentials_elsewhere_are_not_shown() -> None:
    """Neither a literal token nor a script's text is repeated, whatever the container."""
    sidecar = """command: [python3, -m, dynamo.sglang]
        - name: side
          image: s
          command: [sh, -c, login hunter2]
          env: [{name: API_KEY, value: hunter2}]
"""
    before = PAIR.rpartition("command: [python3, -m, dynamo.sglang]")
    text = before[0] + sidecar + before[2]
    change = compare(side(text), side(text.replace("hunter2", "hunter3")))
    assert verdicts(change)["Encoder"] == "rolls"
    assert "hunter" not in diff_text([change]) + diff_json([change])


def test_replicas_scale_and_roll_nothing() -> None:
    """A number of replicas is in no pod and no hash."""
    change = after_edit("replicas: 2", "replicas: 3")
    assert verdicts(change) == {"Frontend": "same", "Worker": "scales", "Encoder": "same"}
    assert not change.same


def test_the_order_of_variables_is_a_difference() -> None:
    """The kubelet expands in order, so a swapped order rolls, and is reported as an order."""
    text = edited(PAIR, "- {name: LOG, value: info}", "- {name: A, value: a}\n          - {name: B, value: b}")
    swapped = text.replace("name: A, value: a", "name: C, value: c").replace("name: B, value: b", "name: A, value: a")
    swapped = swapped.replace("name: C, value: c", "name: B, value: b")
    change = compare(side(text), side(swapped))
    assert verdicts(change)["Worker"] == "rolls"
    assert list(differences_of(change, "Worker")) == ["env (order)"]


def test_a_repair_alone_waits() -> None:
    """What only a repair adds replaces no pod that is Ready."""
    change = compare(side(EMBEDDING, repairs=False), side(EMBEDDING))
    assert verdicts(change) == {"Frontend": "same", "Worker": "waits", "Encoder": "same"}
    assert list(differences_of(change, "Worker")) == ["env DYN_HEALTH_CHECK_PAYLOAD"]


def test_findings_that_come_and_go_are_listed() -> None:
    """Moving an embedding worker to 1.6.1 takes DYN101 away; nothing new comes."""
    change = compare(side(EMBEDDING), side(EMBEDDING, Worker="1.6.1"))
    assert ([item.rule for item in change.gone], change.new) == (["DYN101"], ())


def test_components_and_graphs_can_come_and_go() -> None:
    """A component or graph that only one side has is new or gone, not a difference of another one."""
    less = PAIR[: PAIR.index("  - name: Encoder")]
    assert verdicts(compare(side(PAIR), side(less)))["Encoder"] == "removed"
    assert verdicts(compare(side(less), side(PAIR)))["Encoder"] == "added"
    other = PAIR.replace("name: g,", "name: h,")
    graphs = compare_all([side(PAIR)], [side(other)])
    assert [set(verdicts(graph).values()) for graph in graphs] == [{"removed"}, {"added"}]


def test_a_volume_claim_is_a_difference_of_its_path() -> None:
    """Everything in a pod template counts, also where rendering keeps no history: the field's path is given."""
    old = "      spec:\n        containers:\n        - name: main\n          image: reg/frontend"
    change = after_edit(old, old.replace("spec:\n", "spec:\n        nodeSelector: {zone: a}\n"))
    assert differences_of(change, "Frontend") == {"field spec.nodeSelector": (None, "{...}")}


VALUES = st.text(alphabet="abc ", min_size=1, max_size=3)


@settings(max_examples=40)
@given(before=VALUES, after=VALUES)
def test_a_roll_always_has_a_reason_and_a_stay_none(before: str, after: str) -> None:
    """A pod template differs if and only if a change is listed or the generation changes."""
    texts = [
        PAIR.replace("value: info", f"value: {json.dumps(value)}").replace("reg/frontend", f"r/{value.strip() or 'x'}")
        for value in (before, after)
    ]
    change = compare(side(texts[0]), side(texts[1]))
    for part in change.components:
        assert (part.verdict == "rolls") == bool(part.changes or (part.type != "frontend" and change.inputs))


def test_the_text_is_what_people_read() -> None:
    """The report for an operator upgrade, as it is printed."""
    change = compare(side(PAIR, operator="1.5.0"), side(PAIR, operator="1.6.0"))
    assert diff_text([change]) == textwrap.dedent(
        """\
        DynamoGraphDeployment/ns/g  operator 1.5.0 -> 1.6.0  worker generation GENERATION
          Frontend  ROLLS   1.6.1  its pods change
            + env DYN_NAMESPACE_PREFIX_STRICT: true  (type-default: frontend default, runtime 1.6.1 >= 1.6.0)
            + probe startupProbe: GET /live port http, period 10, timeout 1, failures 30  \
(type-default: frontend default, runtime 1.6.1 >= 1.6.0)
          Worker    stays   1.5.1
          Encoder   stays   1.5.1

        1 of 3 components would roll, 2 unchanged
        """
    ).replace("GENERATION", change.generations[0])


MULTINODE = PAIR.replace("replicas: 2", "multinode: {nodeCount: 2}").replace(
    "args: [--model-path, /models/m", "args: [--tp-size, '16', --model-path, /models/m"
)


def test_every_role_of_a_component_is_compared() -> None:
    """Of an engine across nodes a change is listed for the leader and for its workers, each with its role."""
    change = after_edit("{name: LOG, value: info}", "{name: LOG, value: debug}", MULTINODE)
    logs = [item for item in change.components[1].changes if item.name == "LOG"]
    assert [(item.role, item.before, item.after) for item in logs] == [
        ("leader", "info", "debug"),
        ("worker", "info", "debug"),
    ]
    assert "leader env LOG: info -> debug" in diff_text([change])


def test_more_nodes_roll_a_component() -> None:
    """The number of nodes is what a replica is made of: the count is named, and the pods are replaced."""
    change = after_edit("nodeCount: 2", "nodeCount: 3", MULTINODE)
    assert verdicts(change)["Worker"] == "rolls"
    counts = [item for item in change.components[1].changes if item.name == "pods of a replica"]
    assert [(item.role, item.before, item.after) for item in counts] == [("worker", "1", "2")]
