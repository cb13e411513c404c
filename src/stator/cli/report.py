"""Findings and counts on standard error, so that standard output stays a clean document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from stator.compat import Finding
from stator.model import Document
from stator.render import Manifest

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


def echo_findings(manifests: Sequence[Manifest], *, others: Iterable[Document]) -> None:
    """Write every finding, what was not rendered, and one last line with the counts."""
    findings = [finding for manifest in manifests for finding in manifest.findings]
    for finding in findings:
        click.echo("\n".join(finding_lines(finding)), err=True)
    left_out = [(manifest, entry) for manifest in manifests for entry in manifest.not_rendered]
    for manifest, entry in left_out:
        where = f"{entry.position}: " if entry.position else ""
        click.echo(f"{where}{manifest.graph}: not rendered: {entry.field}: {entry.why}", err=True)
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
        _count(sum(1 for _ in others), "document") + " of other kinds",
    ]
    click.echo(", ".join(counts), err=True)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
