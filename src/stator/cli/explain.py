"""`stator explain`: the page of a rule."""

from __future__ import annotations

from difflib import get_close_matches

import click

from stator.compat import Rule, rules
from stator.compat.page import rule_page
from stator.errors import InvalidInputError, Problem


@click.command()
@click.argument("rule", metavar="ID|NAME")
def explain(*, rule: str) -> None:
    """Explain a rule: what goes wrong, what is decided on what, and how it is known.

    ID is like DYN101 (case does not matter), NAME like sglang-embedding-canary.
    """
    click.echo(rule_page(_find(rule)), nl=False)


def _find(text: str) -> Rule:
    """The rule of this id or name. Raises InvalidInputError with what is nearest."""
    for rule in rules():
        if text.lower() in {rule.id.lower(), rule.name}:
            return rule
    names = [name for rule in rules() for name in (rule.id, rule.name)]
    near = get_close_matches(text, names, n=1) or get_close_matches(text.upper(), names, n=1)
    remedy = f"did you mean {near[0]}? `stator rules list` shows all" if near else "`stator rules list` shows all"
    raise InvalidInputError(Problem(what=f"there is no rule {text!r}", remedy=remedy))
