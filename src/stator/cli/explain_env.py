"""`stator explain-env`: which source sets a variable of a component, and what that shadows."""

from __future__ import annotations

import click

from stator.cli import options
from stator.errors import ExitCode, InvalidInputError, Problem
from stator.explain import variables
from stator.explain.report import variables_json, variables_text
from stator.model.load import load
from stator.render import Provider, RenderOptions, render_graph


@click.command(name="explain-env")
@click.argument("source", metavar="FILE")
@click.argument("component")
@click.argument("name", required=False)
@options.namespace
@options.operator
@options.no_repairs
@options.provider
@options.text_or_json
def explain_env(
    *,
    source: str,
    component: str,
    name: str | None,
    namespace: str | None,
    operator: str,
    no_repairs: bool,
    provider: Provider,
    output: str,
) -> int:
    """Show where each variable of COMPONENT (or only NAME) comes from, and what loses to it.

    FILE is a file, a directory, or - for standard input. COMPONENT is a component's name or type. ConfigMaps and
    Secrets in FILE are looked into for envFrom, of Secrets only key names. Exit code 1 if NAME is not set, 3 if a
    source that was not given could set it.
    """
    settings = RenderOptions(operator=options.parse_operator(operator), repairs=not no_repairs, provider=provider)
    inventory = load([source], namespace=namespace)
    manifests = [render_graph(graph, settings) for graph in inventory.graphs]
    pairs = [(manifest, part) for manifest in manifests for part in manifest.components]
    chosen = [pair for pair in pairs if pair[1].name.lower() == component.lower()] or [
        pair for pair in pairs if pair[1].type == component.lower()
    ]
    if not chosen:
        known = ", ".join(f"{part.name} ({part.type})" for _, part in pairs) or "none"
        raise InvalidInputError(Problem(what=f"there is no component {component!r}", why=f"its components are {known}"))
    found = [variables(manifest, part, inventory) for manifest, part in chosen]
    if name is not None:
        found = [item.only(name) for item in found]
    click.echo((variables_json if output == "json" else variables_text)(found), nl=False)
    missing = [item for item in found if not item.variables] if name is not None else []
    for item in missing:
        click.echo(f"{item.component}: {name} is not set by anything that was given", err=True)
    if not missing:
        return ExitCode.OK
    return ExitCode.UNDECIDED if any(item.unread for item in missing) else ExitCode.FINDINGS
