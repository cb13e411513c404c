"""What a cluster's kinds mean for how graphs are made."""

from __future__ import annotations

from typing import Any

import pytest

from stator.operator import kinds
from stator.operator.capabilities import capable
from stator.operator.settings import Settings

KAI, VOLCANO = kinds.KAI_QUEUE, kinds.VOLCANO_QUEUE


@pytest.mark.parametrize(
    ("choice", "found", "expected"),
    [
        ("auto", {KAI}, "kai"),
        ("auto", {VOLCANO}, "volcano"),
        ("auto", set(), ""),
        ("auto", {KAI, VOLCANO}, ""),
        ("volcano", {KAI, VOLCANO}, "volcano"),
        ("none", {KAI}, ""),
    ],
)
def test_a_scheduler_is_taken_where_there_is_no_choice(choice: Any, found: set[Any], expected: str) -> None:
    """Of two nobody guesses; who names one gets it."""
    assert capable(Settings(scheduler=choice), found).render.scheduler == expected


def test_kinds_of_other_projects_are_used_where_they_are_served() -> None:
    """And nothing of what is only looked for counts as one."""
    found = {*kinds.OWN, kinds.LEADER_WORKER_SET, KAI}
    assert capable(Settings(), found).installed == {"LeaderWorkerSet"}
