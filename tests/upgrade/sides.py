"""Sides of a comparison from YAML texts."""

from __future__ import annotations

import io
import textwrap
from typing import Any

from stator.model import Graph
from stator.model.load import load
from stator.render import RenderOptions, render_graph
from stator.upgrade import GraphChange, Side, compare
from stator.versions import Version, with_versions

PAIR = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: ns}
spec:
  components:
  - name: Frontend
    type: frontend
    podTemplate:
      spec:
        containers:
        - name: main
          image: reg/frontend:1.6.1
  - name: Worker
    type: worker
    replicas: 2
    podTemplate:
      spec:
        containers:
        - name: main
          image: reg/sglang-runtime:1.5.1
          command: [python3, -m, dynamo.sglang]
          args: [--model-path, /models/m, --page-size, "16"]
          env:
          - {name: LOG, value: info}
  - name: Encoder
    type: worker
    podTemplate:
      spec:
        containers:
        - name: main
          image: reg/sglang-runtime:1.5.1
          command: [python3, -m, dynamo.sglang]
"""


def graph_of(text: str) -> Graph:
    """The one graph of a YAML text; its positions are lines of `-`."""
    [graph] = load(["-"], stdin=io.StringIO(textwrap.dedent(text))).graphs
    return graph


def side(text: str, *, operator: str = "1.6.1", repairs: bool = True, **versions: str) -> Side:
    """A rendered graph, with components at other releases by keyword."""
    options = RenderOptions(operator=Version.parse(operator), repairs=repairs)
    graph = with_versions(graph_of(text), {name: Version.parse(version) for name, version in versions.items()})
    return Side(graph, render_graph(graph, options), options.operator)


def edited(text: str, old: str, new: str) -> str:
    """The text with its one `old` replaced."""
    assert text.count(old) == 1
    return text.replace(old, new)


def after_edit(old: str, new: str, text: str = PAIR, **options: Any) -> GraphChange:
    """What an edit of a graph's text changes."""
    return compare(side(text, **options), side(edited(text, old, new), **options))


def verdicts(change: GraphChange) -> dict[str, str]:
    """Verdict by component."""
    return {part.name: part.verdict for part in change.components}


def differences_of(change: GraphChange, component: str) -> dict[str, tuple[str | None, str | None]]:
    """A component's changes as `subject name` to before and after."""
    part = next(part for part in change.components if part.name == component)
    return {f"{item.subject} {item.name}".strip(): (item.before, item.after) for item in part.changes}
