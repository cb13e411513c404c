#!/usr/bin/env python3
"""Write docs/rules from the rule files: one page a rule, and the index.

    .venv/bin/python tools/rules_page.py

A test compares the pages with the rules, so run this after a rule was changed.
"""

from __future__ import annotations

from pathlib import Path

from stator.compat import rules
from stator.compat.page import index_page, rule_page

FOLDER = Path(__file__).parent.parent / "docs" / "rules"


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {"index.md": index_page(rules())} | {f"{rule.id}.md": rule_page(rule) for rule in rules()}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
