"""The Grafana board and the alert rules ask for series that the operator has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import yaml

from stator.operator.metrics import Judgement, Metrics, Result

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
SERIES = re.compile(r"\bstator_\w+")
RESULTS = re.compile(r'result="(\w+)"')


def exposed() -> set[str]:
    """The names of all series, once everything has happened at least once."""
    metrics = Metrics()
    metrics.reconciled("kind", "changed", 1)
    metrics.requested("get", 200)
    metrics.watch("kind", depth=lambda: 1, lag=lambda: 1.0)
    metrics.judged("key", Judgement(frozenset({("DYN101", "error")}), frozenset({"DYN101"})))
    return {sample.name for family in metrics.registry.collect() for sample in family.samples}


def expressions() -> list[str]:
    """Every PromQL expression of both files."""
    board: Any = json.loads((MONITORING / "dashboard.json").read_text())
    alerts: Any = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]] + [
        rule["expr"] for group in alerts["groups"] for rule in group["rules"]
    ]


def test_every_series_that_is_asked_for_exists() -> None:
    """A board or an alert on a series that was renamed would stay silent."""
    asked = {name for expression in expressions() for name in SERIES.findall(expression)}
    assert asked
    assert asked <= exposed()


def test_every_result_that_is_asked_for_exists() -> None:
    """Likewise for the values of a label."""
    asked = {result for expression in expressions() for result in RESULTS.findall(expression)}
    assert asked <= set(get_args(Result))


def test_every_series_is_on_the_board() -> None:
    """What the operator measures can be looked at."""
    board = (MONITORING / "dashboard.json").read_text()
    shown = set(SERIES.findall(board))
    bare = {re.sub(r"_(created|bucket|sum|count)$", "", name) for name in exposed()}
    missing = {
        name for name in bare if name not in shown and f"{name}_bucket" not in shown and f"{name}_total" not in shown
    }
    assert not missing


def test_every_alert_says_what_to_do() -> None:
    """Somebody who is woken up reads what is wrong and where to look."""
    alerts: Any = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
    for rule in alerts["groups"][0]["rules"]:
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"].keys() == {"summary", "description"}, rule["alert"]
