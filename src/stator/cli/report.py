"""Findings and counts on standard error, so that standard output stays a clean document."""

from __future__ import annotations

from collections.abc import Sequence

import click

from stator.admission import Installed, file_problems
from stator.compat import Finding, GraphFacts, evaluate_graph, rules
from stator.errors import ExitCode, InvalidInputError, Problem
from stator.model import Graph, Inventory
from stator.model.documents import field_path
from stator.model.unknown import unknown_fields
from stator.render import Manifest, Provider, RenderOptions

COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}


def finding_lines(finding: Finding) -> list[str]:
    """A finding as text: where and what on the first line, and below it what was repaired, or else what to do."""
    where = f"{finding.location}: " if finding.location else ""
    part = f"{finding.object} {finding.component}".rstrip()
    severity = click.style(finding.severity, fg=COLOURS[finding.severity], bold=True)
    lines = [f"{where}{severity} {finding.rule} {part}: {finding.message}"]
    if finding.repair:
        lines.append(f"  repaired: {finding.repair}")
    elif finding.remedy:
        lines.append(f"  do: {finding.remedy}")
    return lines


def refusals(graphs: Sequence[Graph], provider: Provider = "component") -> list[tuple[Graph, Problem]]:
    """What admission would refuse of the graphs, beside what rendering has refused already.

    The provider `component` says nothing about the cluster: it is what is rendered where nobody chose.
    """
    installed = Installed(grove=True if provider == "grove" else None)
    return [(graph, problem) for graph in graphs for problem in file_problems(graph, installed=installed)]


def echo_refusals(refused: Sequence[tuple[Graph, Problem]]) -> None:
    """Write what admission refuses, each at its place, with what to do."""
    word = click.style("refused", fg=COLOURS["error"], bold=True)
    for graph, problem in refused:
        where = f"{problem.position}: " if problem.position else ""
        why = f": {problem.why}" if problem.why else ""
        click.echo(f"{where}{word} {graph.ref}: {problem.what}{why}", err=True)
        if problem.remedy:
            click.echo(f"  do: {problem.remedy}", err=True)


def echo_findings(
    manifests: Sequence[Manifest], inventory: Inventory, refused: Sequence[tuple[Graph, Problem]]
) -> None:
    """Write every finding, what is refused, not rendered or not known, and one last line with the counts."""
    findings = [finding for manifest in manifests for finding in manifest.findings]
    findings += [finding for graph in inventory.graphs for finding in _dropped_fields(graph)]
    for finding in findings:
        click.echo("\n".join(finding_lines(finding)), err=True)
    left_out = [(manifest, entry) for manifest in manifests for entry in manifest.not_rendered]
    for manifest, entry in left_out:
        where = f"{entry.position}: " if entry.position else ""
        click.echo(f"{where}{manifest.graph}: not rendered: {entry.field}: {entry.why}", err=True)
    echo_refusals(refused)
    unknown = [(graph, field) for graph in inventory.graphs for field in unknown_fields(graph.origin.document)]
    for graph, field in unknown:
        meant = f"; did you mean {field.meant}?" if field.meant else ""
        position = graph.origin.document.locate(field.path)
        click.echo(f"{position}: {graph.ref}: unknown field {field_path(field.path)}{meant}", err=True)
    components = [component for manifest in manifests for component in manifest.components]
    unresolved = sum(component.version.core is None for component in components)
    counts = [
        _count(len(manifests), "graph"),
        _count(len(components), "component"),
        _count(sum(len(manifest.objects) for manifest in manifests), "object"),
        _count(len(findings), "finding"),
        f"{sum(bool(component.repairs) for component in components)} repaired",
        _count(unresolved, "unresolved version"),
        _count(len(left_out), "field") + " not rendered",
        _count(len(unknown), "unknown field"),
        f"{len(refused)} refused by admission",
        _count(len(inventory.others), "document") + " of other kinds",
    ]
    click.echo(", ".join(counts), err=True)


def _dropped_fields(graph: Graph) -> tuple[Finding, ...]:
    """Deprecated fields without any effect: the rule looks at the document alone, so it speaks without a check."""
    facts = GraphFacts(graph=graph, containers=(), operator=RenderOptions().operator)
    return evaluate_graph(facts, rules=[rule for rule in rules() if rule.id == "DYN411"])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def required_graphs(inventory: Inventory, sources: Sequence[str]) -> None:
    """Raise InvalidInputError if the sources hold no graph: a misspelt kind is no empty answer."""
    if not inventory.graphs:
        kinds = ", ".join(sorted({str(document.value.get("kind")) for document in inventory.others})) or "nothing else"
        raise InvalidInputError(
            Problem(
                what=f"no graph in {', '.join(sources)}",
                why=f"there is {kinds}",
                remedy="name a file with a DynamoGraphDeployment",
            )
        )


def exit_code(manifests: Sequence[Manifest], refused: Sequence[tuple[Graph, Problem]]) -> ExitCode:
    """1 for an error that nothing repairs and for what admission refuses, else 3 for an unknown version, else 0."""
    if refused or any(finding.severity == "error" for manifest in manifests for finding in manifest.findings):
        return ExitCode.FINDINGS
    unresolved = any(part.version.core is None for manifest in manifests for part in manifest.components)
    return ExitCode.UNDECIDED if unresolved else ExitCode.OK
