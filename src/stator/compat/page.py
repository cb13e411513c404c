"""A rule as a page for people, in Markdown: what `stator explain` prints and `docs/rules` holds."""

from __future__ import annotations

from collections.abc import Sequence

from stator.compat.rule import Rule, Scope, Wording

_IGNORING = (
    'To live with it, say why: `stator.dev/ignore: "{}=REASON"` among the annotations of the object, or '
    "[in other ways](../check.md#living-with-a-finding)."
)
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
        "## Findings, and what to do",
        "The severity is that of a certain finding nobody repairs; a repaired one is an info.",
        "\n".join(line for key, words in rule.outcomes.items() for line in _finding(key, words)),
        *_replacements(rule),
        _IGNORING.format(rule.id),
        "## Evidence",
        _table(
            ("releases", "grade", "how", "seen", "date"),
            [(e.releases, e.grade, e.how, e.seen, str(e.date)) for e in rule.evidence],
        ),
        "## References",
        "\n".join(f"* <{reference}>" for reference in rule.references),
    ]
    return "\n\n".join(parts) + "\n"


def _finding(key: str, words: Wording) -> list[str]:
    """What an outcome says, and what mends it; `$words` stand for what was found."""
    lines = [f"* `{key}` ({words.severity}): {words.message}", f"  * do: {words.remedy}"]
    if words.fix:
        lines.append(f"  * write: `{words.fix}`")
    if words.repair:
        lines.append(f"  * repaired: {words.repair}")
    if words.safe:
        lines.append("  * `stator check --fix` does it where the place in the file allows")
    return lines


def _replacements(rule: Rule) -> list[str]:
    """What to write for each option, variable, module or field, where the rule holds such a table."""
    tables = [rule.looks_for.get(name) for name in ("flags", "variables", "modules", "fields")]
    rows = [(f"`{old}`", new) for table in tables if isinstance(table, dict) for old, new in table.items()]
    return ["What `$instead` is:", _table(("for", "do"), rows)] if rows else []


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
