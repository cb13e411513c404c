"""Files in the other API version: what stays of the text, what is proven, what is refused."""

from __future__ import annotations

import io
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from documents import ALPHA, BETA
from hypothesis import HealthCheck, given, settings

from stator.errors import InvalidInputError
from stator.model import load
from stator.model.conversion import converted as in_version
from stator.model.parse import parse
from stator.upgrade.convert import Conversion, convert

EXAMPLES = Path(__file__).parents[2] / "examples"

WRITTEN = """\
# Ours since spring.
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: g  # short
spec:
  # One worker.
  services:
    # Serves.
    Worker:
      componentType: worker
      dynamoTag: old
      ingress: {enabled: true, host: h}
      labels: {team: a}
      envs:
      - name: LOG
        value: 'debug'   # noisy
      # Where it runs.
      extraPodSpec:
        # The engine.
        mainContainer:
          image: "reg/sglang-runtime:1.5.1"  # pinned
          command:
          - sh
          - -c
          # A script.
          - |
            python3 -m dynamo.sglang \\
              --model-path /m  # not a comment of ours
# The end.
"""


def converted(text: str, to: Any = "v1beta1", *, reversible: bool = False) -> Conversion:
    """Convert a text as standard input."""
    return convert("-", text.encode(), to, namespace=None, reversible=reversible)


def test_comments_and_spelling_move_with_what_they_are_about() -> None:
    """Every comment stands where its subject went; quotes and flow style are as they were."""
    assert converted(WRITTEN).text == (
        """\
# Ours since spring.
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: g  # short
  annotations:
    nvidia.com/dgd-spec: '{"services":{"Worker":{"ingress":{"enabled":true,"host":"h"},"labels":{"team":"a"}}}}'
spec:
  # One worker.
  components:
    # Serves.
    - name: Worker
      type: worker
      podTemplate:
        # Where it runs.
        spec:
          containers:
            # The engine.
            - name: main
              env:
                - name: LOG
                  value: 'debug'  # noisy
              image: "reg/sglang-runtime:1.5.1"  # pinned
              command:
                - sh
                - -c
                # A script.
                - |
                  python3 -m dynamo.sglang \\
                    --model-path /m  # not a comment of ours
# The end.
"""
    )


def test_a_comment_behind_a_mapping_on_one_line_stays_there() -> None:
    """`{…}  # why` keeps its comment, whatever of the mapping the comment stands closest to."""
    beside = WRITTEN.replace("labels: {team: a}", "modelRef: {name: m}  # the base\n      replicas: 2")
    beside = beside.replace("{enabled: true, host: h}", "{enabled: true, host: h}  # ours")
    text = converted(beside).text
    assert "modelRef: {name: m}  # the base\n" in text
    assert "# ours" in text


def test_converting_down_keeps_order_and_comments_of_a_component() -> None:
    """A component's own fields become the service's in their old order, each below its comment."""
    down = converted(
        """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g}  # short
spec:
  components:
    # Answers.
    - name: Frontend
      type: frontend
      # Two of them.
      replicas: 2
      podTemplate:
        spec:
          containers:
            - {name: main, image: "reg/dynamo:1.6.1"}
""",
        "v1alpha1",
    )
    assert (
        down.text
        == """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}  # short
spec:
  services:
    # Answers.
    Frontend:
      componentType: frontend
      # Two of them.
      replicas: 2
      extraPodSpec:
        mainContainer:
          image: "reg/dynamo:1.6.1"
"""
    )


def test_what_is_kept_or_dropped_is_named_with_its_line() -> None:
    """Fields that only an annotation holds, and dead ones, are reported; nothing goes silently."""
    [graph] = converted(WRITTEN).objects
    assert {(note.what, note.field, str(note.position)) for note in graph.notes} == {
        ("kept", "spec.services.Worker.ingress", "-:13"),
        ("kept", "spec.services.Worker.labels", "-:14"),
        ("dropped", "spec.services.Worker.dynamoTag", "-:12"),
    }
    assert (graph.proof, len(graph.generation)) == ("objects", 8)


def test_a_reversible_conversion_gives_the_same_values_back() -> None:
    """There and back, the document's value is the one that was written, dead fields included."""
    there = converted(WRITTEN, reversible=True).text
    back = converted(there, "v1alpha1", reversible=True).text
    assert yaml.safe_load(back) == yaml.safe_load(WRITTEN)
    assert "# noisy" in back


def test_the_twin_of_an_example_becomes_the_example() -> None:
    """The v1alpha1 twin of the chat example converts to that example, byte for byte but for its title."""
    text = (EXAMPLES / "chat-v1alpha1.yaml").read_text()
    expected = (EXAMPLES / "chat.yaml").read_text()
    assert converted(text).text.partition("\n")[2] == expected[expected.index("apiVersion") :]


def test_other_documents_stay_as_they_are_written() -> None:
    """A ConfigMap between two graphs is copied byte by byte, and a graph already there too."""
    other = "---\n# keep\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    beta = "---\n" + (EXAMPLES / "chat.yaml").read_text()
    result = converted(WRITTEN + other + beta)
    assert result.text.endswith(other + beta)
    assert [graph.changed for graph in result.objects] == [True, False]


ADAPTER = """\
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeploymentScalingAdapter
metadata: {name: g-worker}
spec:
  replicas: 2  # for now
  dgdRef:
    # Of the graph above.
    name: g
    serviceName: Worker  # capital
"""


def test_the_scaling_adapter_beside_a_graph_goes_with_it() -> None:
    """An adapter calls the component it scales by another name; nothing else of it changes, and back is the same."""
    result = converted(WRITTEN + ADAPTER)
    assert result.text.endswith(ADAPTER.replace("v1alpha1", "v1beta1").replace("serviceName", "componentName"))
    assert [(item.ref, item.proof) for item in result.objects] == [
        ("DynamoGraphDeployment/default/g", "objects"),
        ("DynamoGraphDeploymentScalingAdapter/default/g-worker", "values"),
    ]
    assert converted(result.text, "v1alpha1").text.endswith(ADAPTER)
    assert [item.changed for item in converted(ADAPTER, "v1alpha1").objects] == [False]


def test_an_adapter_that_scales_nothing_is_refused_at_its_line() -> None:
    """An adapter without the part it scales is no adapter in either version."""
    with pytest.raises(InvalidInputError, match=r"-:7: spec\.dgdRef\.serviceName: is required"):
        converted(ADAPTER.replace("    serviceName: Worker  # capital\n", ""))


def test_a_status_is_said_in_the_other_version_too() -> None:
    """A graph as a cluster prints it keeps its report under the names of the new version."""
    status = """\
status:
  state: successful
  services:
    Worker: {componentKind: Deployment, componentName: a, componentNames: [a], replicas: 1, updatedReplicas: 1}
"""
    new = yaml.safe_load(converted(WRITTEN.replace("# The end.\n", status)).text)
    part = {"componentKind": "Deployment", "componentNames": ["a"], "replicas": 1, "updatedReplicas": 1}
    assert new["status"] == {"state": "successful", "components": {"Worker": part}}


def test_a_type_that_v1beta1_does_not_know_is_refused() -> None:
    """A free-text componentType would change labels and variables, so nothing is written."""
    with pytest.raises(InvalidInputError, match='"backend" is no type of v1beta1'):
        converted(WRITTEN.replace("componentType: worker", "componentType: backend"))


def test_a_list_is_refused() -> None:
    """The items of a List have no text of their own to keep."""
    item = textwrap.indent(WRITTEN, "  ")
    with pytest.raises(InvalidInputError, match="a List cannot be converted"):
        converted(f"apiVersion: v1\nkind: List\nitems:\n-\n{item}\n")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=ALPHA)
def test_the_text_has_the_converted_value(document: dict[str, Any]) -> None:
    """Whatever is in a v1alpha1 file, the text written for it reads back as its v1beta1 value."""
    for style in (None, False):
        text = yaml.safe_dump(document, default_flow_style=style, sort_keys=False)
        result = converted(text, reversible=True).text
        assert parse("", result.encode())[0][0].value == in_version(document, "v1beta1")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=BETA)
def test_the_text_has_the_value_converted_down(document: dict[str, Any]) -> None:
    """The same for v1beta1 files on their way to v1alpha1."""
    text = yaml.safe_dump(document, sort_keys=False)
    result = converted(text, "v1alpha1").text
    assert parse("", result.encode())[0][0].value == in_version(document, "v1alpha1")
    assert load(["-"], stdin=io.StringIO(result)).graphs


def test_a_text_that_loads_converts() -> None:
    """What is read for comments is read like the rest: a tab inside a plain text is no reason to stop."""
    text = WRITTEN.replace("dynamoTag: old", "dynamoTag: o\tld  # kept")
    assert "# kept" in converted(text).text
