"""What the supervisor is told through its standard input, and what it answers on its standard output."""

from __future__ import annotations

import msgspec

from stator.errors import Problem
from stator.local.plan import LocalPlan
from stator.local.settings import Settings
from stator.local.state import ProcessIdentity


class Order(msgspec.Struct, frozen=True):
    """Start this. A pipe carries it, because the plan holds secret values; it is never written to a file.

    The graph ends with the process `owner`, if there is one.
    """

    plan: LocalPlan
    marker: str
    settings: Settings
    owner: ProcessIdentity | None = None


class Answer(msgspec.Struct, frozen=True):
    """No problems: every service listens, every file is in place, the pods are being started."""

    problems: tuple[Problem, ...] = ()
