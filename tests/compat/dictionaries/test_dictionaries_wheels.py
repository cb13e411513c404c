"""The data was read from the published wheels, and reading them again gives the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.real
def test_the_real_parsers_of_a_release_still_give_the_data_on_record() -> None:
    """Installing 1.5.0 and running its own parser-building code reproduces its file byte for byte."""
    command = [sys.executable, str(ROOT / "tools" / "dictionaries.py"), "--check", "1.5.0"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
