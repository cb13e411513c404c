"""Options that all tests share."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run, and no time limit that a busy machine could miss.
settings.register_profile("stator", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stator")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes what is rendered over the golden files, to be reviewed as a diff."""
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing to them")
