"""`stator render`: graphs as the Kubernetes objects an operator would create, or who set each part of them."""

from __future__ import annotations

import click

from stator.cli import options
from stator.cli.report import echo_findings, exit_code, refusals, required_graphs
from stator.model.load import load
from stator.render import Provider, RenderOptions, render_graph
from stator.render.explain import explain_json, explain_text
from stator.render.output import to_json, to_yaml


@click.command()
@options.sources
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@options.namespace
@options.operator
@options.no_repairs
@options.provider
@click.option("--explain", is_flag=True, help="Say who set each env entry, flag and probe, and what it replaced.")
def render(
    *,
    sources: tuple[str, ...],
    output: str,
    namespace: str | None,
    operator: str,
    no_repairs: bool,
    provider: Provider,
    explain: bool,
) -> int:
    """Render the graphs in SOURCES into Kubernetes objects.

    SOURCES are files, directories, or - for standard input; ConfigMaps and Secrets beside the graphs are read for
    references only. YAML output is a document stream, JSON output one v1 List, both in a stable order.

    Exit code 1 if an error is found that nothing repairs or admission would refuse a graph, 3 if a version cannot be
    told; the objects are written all the same.
    """
    settings = RenderOptions(operator=options.parse_operator(operator), repairs=not no_repairs, provider=provider)
    inventory = load(sources, namespace=namespace)
    required_graphs(inventory, sources)
    manifests = [render_graph(graph, settings) for graph in inventory.graphs]
    if explain:
        write = explain_json if output == "json" else explain_text
        click.echo(write(manifests), nl=False)
    else:
        objects = [item for manifest in manifests for item in manifest.objects]
        click.echo((to_json if output == "json" else to_yaml)(objects), nl=False)
    refused = refusals(inventory.graphs, provider)
    echo_findings(manifests, inventory, refused)
    return exit_code(manifests, refused)
