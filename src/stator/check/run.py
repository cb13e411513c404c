"""The check itself: render every graph, ask the rules about its parts, itself, its neighbours and its way there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from stator.admission import file_problems
from stator.check.ignores import Ignore
from stator.check.reading import Reading
from stator.check.report import Ignored, Report
from stator.compat import (
    Finding,
    FleetFacts,
    GraphFacts,
    MoveFacts,
    evaluate_fleet,
    evaluate_graph,
    evaluate_move,
)
from stator.errors import InvalidInputError, Position
from stator.model import Graph
from stator.render import Manifest, RenderOptions, render_graph
from stator.versions import InvalidVersionError, Version, resolve, with_versions, with_versions_where_named


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to check against.

    `settings` are versions by component name or type. With `after` every component whose release is known is checked
    at that release, and the way there from `before` (None: from what the manifest says).
    """

    render: RenderOptions = RenderOptions()
    settings: Mapping[str, Version] = {}
    before: Version | None = None
    after: Version | None = None
    ignores: tuple[Ignore, ...] = ()


def check(reading: Reading, options: CheckOptions) -> Report:
    """Check all that was read. Raises InvalidInputError for a setting that fits no component."""
    inventory = reading.inventory
    problems = list(reading.problems)
    manifests: list[Manifest] = []
    facts: list[GraphFacts] = []
    findings: list[Finding] = []
    unchecked: list[str] = []
    for graph in with_versions_where_named(inventory.graphs, options.settings):
        try:
            judged, manifest, found = _graph(graph, reading, options)
        except InvalidInputError as error:
            problems += (*error.problems, *file_problems(graph, options=options.render))
            unchecked.append(graph.ref)
        else:
            manifests.append(manifest)
            facts.append(judged)
            findings += found
    findings += evaluate_fleet(FleetFacts(graphs=tuple(facts)))
    kept, ignored, unused = _sorted_out(findings, options.ignores)
    parts = [(manifest.graph, part) for manifest in manifests for part in manifest.components]
    return Report(
        operator=str(options.render.operator),
        findings=tuple(sorted(kept, key=_place)),
        ignored=ignored,
        unused=unused,
        problems=tuple(problems),
        unread=reading.unread,
        unchecked=tuple(unchecked),
        unresolved=tuple(f"{ref} {part.name}" for ref, part in parts if part.version.core is None),
        graphs=len(inventory.graphs),
        components=len(parts),
        others=len(inventory.others),
    )


def _graph(graph: Graph, reading: Reading, options: CheckOptions) -> tuple[GraphFacts, Manifest, list[Finding]]:
    """One graph as it will be, and the way there if there is one."""
    after = graph if options.after is None else _all_at(graph, options.after)
    facts, manifest = _facts(after, reading, options)
    found = [*manifest.findings, *evaluate_graph(facts)]
    if options.after is not None:
        before, _ = _facts(graph if options.before is None else _all_at(graph, options.before), reading, options)
        found += evaluate_move(MoveFacts(before=before, after=facts))
    return facts, manifest, found


def _facts(graph: Graph, reading: Reading, options: CheckOptions) -> tuple[GraphFacts, Manifest]:
    manifest = render_graph(graph, options.render)
    facts = GraphFacts(
        graph=graph,
        containers=tuple(part.facts for part in manifest.components if part.facts is not None),
        operator=options.render.operator,
        config_maps=reading.inventory.config_maps,
        refused=file_problems(graph, options=options.render),
    )
    return facts, manifest


def _all_at(graph: Graph, release: Version) -> Graph:
    """The graph with each component at the release; one whose release is not known stays unknown."""
    known = {}
    for part in graph.components:
        try:
            core = resolve(part.runtime_version_override, part.main.get("image")).core
        except InvalidVersionError:
            core = None
        if core is not None:
            known[part.name] = release
    return with_versions(graph, known)


def _sorted_out(
    findings: Iterable[Finding], ignores: Sequence[Ignore]
) -> tuple[list[Finding], tuple[Ignored, ...], tuple[Ignore, ...]]:
    """Findings to report, findings that are ignored, and ignores that fitted none."""
    kept: list[Finding] = []
    ignored: list[Ignored] = []
    used: set[Ignore] = set()
    for finding in findings:
        fitting = [ignore for ignore in ignores if ignore.fits(finding)]
        used.update(fitting)
        if fitting:
            ignored.append(Ignored(finding, fitting[0]))
        else:
            kept.append(finding)
    return kept, tuple(ignored), tuple(ignore for ignore in ignores if ignore not in used)


def _place(finding: Finding) -> tuple[Position, str, str]:
    return finding.location or Position(""), finding.rule, finding.message
