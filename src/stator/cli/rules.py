"""`stator rules`: the rules there are."""

from __future__ import annotations

import click
import msgspec

from stator.compat import Rule
from stator.compat import rules as all_rules


@click.group()
def rules() -> None:
    """Show the compatibility rules."""


@rules.command("list")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_rules(*, output: str) -> None:
    """List every rule with its severity, its range of releases and what it is about."""
    if output == "json":
        document = {"schema_version": 1, "rules": [_entry(rule) for rule in all_rules()]}
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        return
    for rule in all_rules():
        click.echo(f"{rule.id}  {rule.severity:<7}  {rule.name:<30}  {rule.title}")


def _entry(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "name": rule.name,
        "title": rule.title,
        "severity": rule.severity,
        "scope": rule.scope,
        "status": rule.status,
        "since": rule.since,
        "affected": str(rule.affected),
        "backends": list(rule.backends),
        "repairs": any(words.repair for words in rule.outcomes.values()),
        "page": rule.page_path,
    }
