"""Options that all tests share."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes what is rendered over the golden files, to be reviewed as a diff."""
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing to them")
