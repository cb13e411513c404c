"""A rule as a page for people, in Markdown: what `stator explain` prints and `docs/rules` holds."""

from __future__ import annotations

from collections.abc import Sequence

from stator.compat.rule import Rule, Scope

_SCOPES: dict[Scope, str] = {
    "container": "each main container",
    "graph": "a graph as a whole",
    "fleet": "all graphs together",
    "move": "a graph before and after",
    "platform": "definitions, chart values and Kubernetes",
}


def rule_page(rule: Rule) -> str:
    """The page of one rule; ends with a newline."""
    facts = [
        ("looks at", _SCOPES[rule.scope]),
        ("affected runtimes", _range(rule)),
        ("backends", ", ".join(rule.backends) or "any"),
        ("component types", ", ".join(rule.roles) or "any"),
        ("repairs", "yes" if any(words.repair for words in rule.outcomes.values()) else "no"),
        ("status", f"{rule.status}, since {rule.since}"),
    ]
    parts = [
        f"# {rule.id} {rule.name}",
        rule.title + ".",
        _table(("", ""), facts),
        rule.page.strip(),
        "## Findings",
        "The severity is that of a certain finding nobody repairs; a repaired one is an info.",
        _table(
            ("finding", "severity", "says"),
            [(f"`{key}`", w.severity, w.message) for key, w in rule.outcomes.items()],
        ),
        "## Evidence",
        _table(
            ("releases", "grade", "how", "seen", "date"),
            [(e.releases, e.grade, e.how, e.seen, str(e.date)) for e in rule.evidence],
        ),
        "## References",
        "\n".join(f"* <{reference}>" for reference in rule.references),
    ]
    return "\n\n".join(parts) + "\n"


def index_page(rules: Sequence[Rule]) -> str:
    """The list of all rules; ends with a newline."""
    rows = [
        (f"[{rule.id}]({rule.id}.md)", rule.name, rule.severity, rule.title, _range(rule), rule.status)
        for rule in rules
    ]
    return "\n\n".join(["# Rules", _table(("id", "name", "severity", "what", "runtimes", "status"), rows)]) + "\n"


def _range(rule: Rule) -> str:
    return f"`{rule.affected}`" if rule.affected.clauses else "any"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)
