"""The JSON that the package reads, and the YAML it is made from."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "packaged.py"))


@pytest.mark.parametrize("name", TOOL["FOLDERS"])
def test_what_is_read_at_start_is_what_was_edited(name: str) -> None:
    """Rules, option tables and schemas are read from JSON that says what their YAML files say."""
    folder: Path = TOOL["PACKAGE"] / name
    assert folder.with_suffix(".json").read_text() == TOOL["packaged"](folder), "run tools/packaged.py"
