"""The check itself: render every graph, ask the rules about its parts, itself, its neighbours and its way there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from stator.admission import file_problems
from stator.check.ignores import Ignore, of_graphs
from stator.check.reading import Loaded, Reading
from stator.check.report import Ignored, Report
from stator.compat import (
    Finding,
    FleetFacts,
    GraphFacts,
    GraphNames,
    MoveFacts,
    Platform,
    PlatformFacts,
    evaluate_fleet,
    evaluate_graph,
    evaluate_move,
    evaluate_platform,
)
from stator.compat.predicates.wire import names
from stator.errors import InvalidInputError, Position, Problem
from stator.model import Document, Graph, Inventory
from stator.model.identity import GROUP, Identity, identify
from stator.render import Manifest, RenderOptions, render_graph
from stator.versions import InvalidVersionError, Version, resolve, with_versions
from stator.versions.change import fits

Key = tuple[str, str]

# Graphs that are kept until everything has been read, because they refer to a ConfigMap or Secret that may still come.
# Those beyond are read once more, so that memory does not grow with the number of files.
_KEPT = 64


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to check against.

    `settings` are versions by component name or type. With `after` every component whose release is known is checked
    at that release, and the way there from `before` (None: from what the manifest says). `platform` is what is known of
    the cluster.
    """

    render: RenderOptions = RenderOptions()
    settings: Mapping[str, Version] = {}
    before: Version | None = None
    after: Version | None = None
    platform: Platform = Platform()
    ignores: tuple[Ignore, ...] = ()


def check(reading: Reading, options: CheckOptions) -> Report:
    """Check all there is to read.

    Raises InvalidInputError if nothing can be read, for a setting that fits no component, and for an annotation that
    ignores nothing that can be ignored.
    """
    checker = _Checker(reading, options)
    for loaded in reading.files():
        checker.take(loaded)
    if reading.live is not None:
        checker.take_live(reading.live)
    checker.finish()
    return checker.report()


class _Checker:
    """What is known after each file: findings, counts, and of every object no more than its name and its keys."""

    def __init__(self, reading: Reading, options: CheckOptions) -> None:
        self.reading = reading
        self.options = options
        self.seen: dict[Identity, Position] = {}
        self.config_maps: dict[Key, Collection[str]] = {}
        self.secrets: dict[Key, Collection[str]] = {}
        self.ignores = list(options.ignores)
        self.findings: list[Finding] = []
        self.problems: list[Problem] = []
        self.mistakes: list[Problem] = []
        self.unread: list[str] = []
        self.unchecked: list[str] = []
        self.unresolved: list[str] = []
        self.fleet: list[GraphNames] = []
        self.objects_of_ours: list[Document] = []
        self.kept: list[Graph] = []
        self.waiting: dict[str, set[str]] = {}
        self.unused = set(options.settings)
        self.parts: set[str] = set()
        self.files = self.graphs = self.components = self.others = 0

    def take(self, loaded: Loaded) -> None:
        """A file: its objects are new, or it cannot be used."""
        problems = loaded.problems or tuple(self.repeated(loaded))
        if problems:
            self.problems += problems
            self.unread.append(loaded.name)
            return
        self.files += 1
        self.count_others(loaded.inventory)
        self.seen |= dict(self.objects(loaded))
        self.config_maps |= {key: tuple(values) for key, values in loaded.inventory.config_maps.items()}
        self.secrets |= _secret_keys(loaded.inventory)
        for graph in loaded.inventory.graphs:
            self.graphs += 1
            self.annotations(graph)
            if not self.is_open(graph):
                self.graph(graph)
            elif len(self.kept) < _KEPT:
                self.kept.append(graph)
            else:
                self.waiting.setdefault(loaded.name, set()).add(graph.ref)

    def take_live(self, live: Inventory) -> None:
        """What a cluster holds, as far as no file describes it."""
        self.files += 1
        self.count_others(live)
        for known, found in ((self.config_maps, live.config_maps), (self.secrets, _secret_keys(live))):
            known.update({key: tuple(keys) for key, keys in found.items() if key not in known})
        for graph in live.graphs:
            if (identity := identify(graph.origin.document, None)) and identity not in self.seen:
                self.graphs += 1
                self.annotations(graph)
                self.graph(graph)

    def count_others(self, inventory: Inventory) -> None:
        """Documents of other kinds are counted; those of our group are kept, because an operator may have lost them."""
        self.others += len(inventory.others)
        self.objects_of_ours += [item for item in inventory.others if item.value["apiVersion"].startswith(f"{GROUP}/")]

    def finish(self) -> None:
        """The graphs that waited for a ConfigMap of a later file, and what only all graphs together show."""
        for graph in self.kept:
            self.graph(graph)
        for name, refs in self.waiting.items():
            loaded = self.reading.again(name)
            self.problems += loaded.problems
            found = [graph for graph in loaded.inventory.graphs if graph.ref in refs]
            self.unchecked += sorted(refs - {graph.ref for graph in found})
            for graph in found:
                self.graph(graph)
        if not self.files:
            raise InvalidInputError(*self.problems)
        if self.mistakes:
            raise InvalidInputError(*self.mistakes)
        if self.unused:
            raise InvalidInputError(*self.no_component())
        facts = PlatformFacts(
            platform=self.options.platform, operator=self.options.render.operator, objects=tuple(self.objects_of_ours)
        )
        self.findings += evaluate_platform(facts)
        self.findings += evaluate_fleet(FleetFacts(graphs=tuple(self.fleet)))

    def no_component(self) -> Iterator[Problem]:
        """Settings that fit no component of any graph."""
        there = ", ".join(sorted(self.parts)) or "none"
        for key in sorted(self.unused):
            what = f"there is no component {key!r} to set to {self.options.settings[key]}"
            yield Problem(what=what, why=f"there are {there}")

    def objects(self, loaded: Loaded) -> Iterator[tuple[Identity, Position]]:
        """Every object of a file that has a name, and where that stands. ConfigMaps and Secrets leave no document."""
        inventory = loaded.inventory
        for document in (*(graph.origin.document for graph in inventory.graphs), *inventory.others):
            if identity := identify(document, self.reading.namespace):
                yield identity, document.locate(("metadata", "name"))
        for kind, found in (("ConfigMap", inventory.config_maps), ("Secret", inventory.secrets)):
            yield from ((Identity("", kind, *key), Position(loaded.name)) for key in found)

    def repeated(self, loaded: Loaded) -> Iterator[Problem]:
        """Objects that stand in an earlier file too."""
        for identity, position in self.objects(loaded):
            if identity in self.seen:
                yield Problem(
                    what=f"{identity} stands here and in {self.seen[identity]}",
                    position=position,
                    remedy="keep one of the two, or give it another name",
                )

    def annotations(self, graph: Graph) -> None:
        """Ignores on the object; a mistake in one does not hide those of other objects."""
        try:
            self.ignores += of_graphs([graph])
        except InvalidInputError as error:
            self.mistakes += error.problems

    def is_open(self, graph: Graph) -> bool:
        """Whether the graph refers to a ConfigMap or Secret that may still come."""
        return any(
            (graph.namespace, reference.get("name", "")) not in known
            for part in graph.components
            for source in part.main.get("envFrom") or ()
            for field, known in (("configMapRef", self.config_maps), ("secretRef", self.secrets))
            if (reference := source.get(field))
        )

    def graph(self, graph: Graph) -> None:
        """One graph with all that is known by now."""
        try:
            facts, manifest, found = self.judged(self.set(graph))
        except InvalidInputError as error:
            self.problems += (*error.problems, *file_problems(graph, options=self.options.render))
            self.unchecked.append(graph.ref)
            return
        self.findings += found
        self.fleet.append(names(facts))
        self.components += len(manifest.components)
        self.unresolved += [
            f"{manifest.graph} {part.name}" for part in manifest.components if part.version.core is None
        ]

    def set(self, graph: Graph) -> Graph:
        """The graph with the settings that fit it."""
        if self.unused:
            self.parts |= {f"{part.name} ({part.type})" for part in graph.components}
        chosen = {key: version for key, version in self.options.settings.items() if fits(graph, key)}
        self.unused -= chosen.keys()
        return with_versions(graph, chosen)

    def judged(self, graph: Graph) -> tuple[GraphFacts, Manifest, list[Finding]]:
        """One graph as it will be, and the way there if there is one."""
        after, before = self.options.after, self.options.before
        facts, manifest = self.facts(graph if after is None else _all_at(graph, after))
        found = [*manifest.findings, *evaluate_graph(facts)]
        if after is not None:
            old, _ = self.facts(graph if before is None else _all_at(graph, before))
            found += evaluate_move(MoveFacts(before=old, after=facts))
        return facts, manifest, found

    def facts(self, graph: Graph) -> tuple[GraphFacts, Manifest]:
        manifest = render_graph(graph, self.options.render)
        facts = GraphFacts(
            graph=graph,
            containers=tuple(part.facts for part in manifest.components if part.facts is not None),
            operator=self.options.render.operator,
            config_maps=self.config_maps,
            secrets=self.secrets,
            absent=self.reading.absent,
            platform=self.options.platform,
            refused=file_problems(graph, options=self.options.render),
        )
        return facts, manifest

    def report(self) -> Report:
        kept, ignored, unused = _sorted_out(self.findings, self.ignores)
        return Report(
            operator=str(self.options.render.operator),
            findings=tuple(sorted(kept, key=_place)),
            ignored=ignored,
            unused=unused,
            problems=tuple(self.problems),
            unread=tuple(self.unread),
            unchecked=tuple(self.unchecked),
            unresolved=tuple(self.unresolved),
            graphs=self.graphs,
            components=self.components,
            others=self.others,
        )


def _secret_keys(inventory: Inventory) -> dict[Key, Collection[str]]:
    return {key: tuple(secret.values) for key, secret in inventory.secrets.items()}


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
