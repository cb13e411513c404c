"""The pages of the rules."""

from __future__ import annotations

from pathlib import Path

from stator.compat import rules
from stator.compat.page import index_page, rule_page

FOLDER = Path(__file__).parents[2] / "docs" / "rules"


def test_the_pages_say_what_the_rules_say() -> None:
    """docs/rules is what tools/rules_page.py writes, nothing older and nothing besides."""
    expected = {f"{rule.id}.md": rule_page(rule) for rule in rules()} | {"index.md": index_page(rules())}
    assert {path.name: path.read_text() for path in FOLDER.iterdir()} == expected
