"""`stator plan`: the order of an upgrade, checked step by step."""

from __future__ import annotations

from pathlib import Path

import click

from stator.cli import options
from stator.cli.report import echo_refusals, refusals
from stator.errors import ExitCode
from stator.model.load import load
from stator.render import Provider, RenderOptions
from stator.upgrade.plan import plan as make_plan
from stator.upgrade.plan_report import plan_diagram, plan_json, plan_text

_EXIT_CODES = {
    "ok": ExitCode.OK,
    "caution": ExitCode.OK,
    "unknown": ExitCode.UNDECIDED,
    "stop": ExitCode.FINDINGS,
}


@click.command()
@options.sources_or_cluster
@options.cluster
@options.namespace
@options.settings
@options.operator
@options.from_operator
@options.provider
@options.text_or_json
@click.option("--diagram", is_flag=True, help="Write a Mermaid flowchart instead.")
def plan(  # noqa: PLR0913 - one argument per option
    *,
    sources: tuple[str, ...],
    cluster: bool,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    settings: tuple[str, ...],
    operator: str,
    from_operator: str | None,
    provider: Provider,
    output: str,
    diagram: bool,
) -> int:
    """Order the steps of an upgrade of the graphs in SOURCES, and check each of them.

    With --cluster the graphs of the configured cluster are planned too, with SOURCES as if they were applied to it.
    --set moves components or types to a release, --from-operator and --operator the operator. Each step says which
    pods roll, and whether every pair of versions that meets stays in its window. What admission would refuse of the
    graphs is named on standard error. Exit code 1 if a step must not be
    taken, 3 if a version that matters is not known.
    """
    chosen = options.parse_settings(settings)
    before = RenderOptions(operator=options.parse_operator(from_operator or operator), provider=provider)
    after = RenderOptions(operator=options.parse_operator(operator), provider=provider)
    graphs = load(sources, namespace=namespace).graphs if sources else ()
    if cluster:
        from stator.check.cluster import read_graphs  # noqa: PLC0415 - a plan of files need not import a client

        named = {graph.ref for graph in graphs}
        live = read_graphs(namespace=namespace, kubeconfig=kubeconfig, context=context)
        graphs += tuple(graph for graph in live if graph.ref not in named)
    result = make_plan(graphs, chosen, before, after)
    write = plan_diagram if diagram else plan_json if output == "json" else plan_text
    click.echo(write(result), nl=False)
    echo_refusals(refusals(graphs, provider))
    return _EXIT_CODES[result.state]
