"""Where a variable comes from: winners, losers, envFrom keys, and what cannot be known."""

from __future__ import annotations

import io
import json
import textwrap

from click.testing import CliRunner, Result

from stator.cli.explain_env import explain_env
from stator.errors import InvalidInputError
from stator.explain import Variable, Variables, variables
from stator.model.load import load
from stator.render import RenderOptions, render_graph

GRAPH = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  env:
  - {name: LOG, value: info}
  components:
  - name: Worker
    type: worker
    podTemplate:
      spec:
        containers:
        - name: main
          image: reg/sglang-runtime:1.5.1
          command: [python3, -m, dynamo.sglang, --embedding-worker]
          env:
          - {name: LOG, value: debug}
          - {name: NAMED, valueFrom: {configMapKeyRef: {name: first, key: ONE}}}
          - {name: LOST, valueFrom: {configMapKeyRef: {name: first, key: gone}}}
          - {name: API_KEY, value: hunter2}
          envFrom:
          - configMapRef: {name: first}
          - {prefix: S_, secretRef: {name: token}}
          - configMapRef: {name: second}
"""
FIRST = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
data: {ONE: from first, LOG: from first}
"""
SECOND = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second}
data: {ONE: from second}
"""
HIDDEN = """
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {KEY: hunter2}
"""
ALL = GRAPH + FIRST + SECOND + HIDDEN


def explained(text: str = ALL) -> Variables:
    """The worker's variables; infrastructure sets LOG at the bottom."""
    inventory = load(["-"], stdin=io.StringIO(textwrap.dedent(text)))
    options = RenderOptions(infrastructure_env=({"name": "LOG", "value": "warn"},))
    manifest = render_graph(inventory.graphs[0], options)
    return variables(manifest, manifest.components[0], inventory)


def one(name: str, text: str = ALL) -> Variable:
    """One variable."""
    [found] = explained(text).only(name).variables
    return found


def test_every_layer_below_the_winner_is_shown_in_order() -> None:
    """The component's entry beats the graph's, the infrastructure's and an envFrom key, nearest first."""
    log = one("LOG")
    assert (log.source.layer, log.source.value, str(log.source.position)) == ("component", "debug", "-:18")
    assert [(item.layer, item.value) for item in log.shadows] == [
        ("graph", "info"),
        ("infrastructure", "warn"),
        ("env-from", "from first"),
    ]


def test_a_later_source_beats_an_earlier_one() -> None:
    """Of two envFrom sources with one key the last wins."""
    found = one("ONE")
    assert (found.source.detail, [item.value for item in found.shadows]) == (
        "configMapRef second key ONE",
        ["from first"],
    )


def test_a_secrets_key_is_named_and_its_value_is_not() -> None:
    """A prefixed Secret key shows as a variable; neither it nor a literal credential shows its value."""
    assert one("S_KEY").source.detail == "secretRef token key KEY"
    assert "hunter2" not in repr(explained())


def test_a_reference_is_followed_or_found_broken() -> None:
    """A ConfigMap reference shows the value it leads to, a missing key that the pod would not start."""
    assert one("NAMED").resolved == "from first"
    assert "no key gone in first: the pod would not start" in one("LOST").problem


def test_a_source_that_was_not_given_is_named() -> None:
    """An envFrom source that is not in the files is unread, for the variables its prefix allows."""
    without = explained(GRAPH + FIRST + SECOND)
    assert [(item.source, item.prefix) for item in without.unread] == [("secretRef token", "S_")]
    assert without.only("OTHER").unread == ()
    assert len(without.only("S_X").unread) == 1


def test_a_repair_is_a_source() -> None:
    """What DYN101 offers below every other source shows as such, with its rule."""
    found = one("DYN_HEALTH_CHECK_PAYLOAD", GRAPH)
    assert found.source.layer == "env-from"
    assert found.source.detail.endswith("by DYN101")


def run(*arguments: str, text: str = ALL) -> Result:
    """Run the command on a text as standard input."""
    return CliRunner().invoke(explain_env, ["-", *arguments], input=text, standalone_mode=False)


def test_the_command_prints_one_variable() -> None:
    """Text for people: value, winner, losers."""
    result = run("worker", "LOG", "-n", "default")
    assert result.return_value == 0, result.output
    assert result.stdout == (
        "DynamoGraphDeployment/default/g Worker\n"
        "  LOG=debug  (component: Worker) at -:18\n"
        "    shadows 'info'  (graph: spec.env) at -:7\n"
        "    shadows 'from first'  (env-from: configMapRef first key LOG) at -:23\n"
    )


def test_exit_codes_tell_unset_from_unknown() -> None:
    """1 for a variable that nothing sets, 3 if a source that was not given could."""
    assert run("Worker", "NOPE").return_value == 1
    assert run("Worker", "S_NOPE", text=GRAPH + FIRST + SECOND).return_value == 3


def test_json_has_every_variable() -> None:
    """JSON is one document with a schema version."""
    document = json.loads(run("Worker", "-o", "json").stdout)
    assert document["schema_version"] == 1
    assert "LOG" in [item["name"] for item in document["components"][0]["variables"]]


def test_an_unknown_component_is_refused_with_the_known_ones() -> None:
    """A typo shows which components there are."""
    result = run("Wroker")
    assert isinstance(result.exception, InvalidInputError)
    assert "Worker (worker)" in str(result.exception)
