"""A manifest file in the other API version, with the proof that no pod changes.

The proof is made on the text that comes out, not on the values it was made from: it is loaded like any file, must
mean the same to the renderer field by field, and must render to the same objects with the same worker hash. A scaling
adapter renders to nothing: its text must convert back to the values it was made from.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

from stator.errors import InvalidInputError, Position, Problem
from stator.model import Document, Graph, Path, load
from stator.model import status as statuses
from stator.model.conversion import ALPHA, BETA, GRAPH_ONLY, SERVICE_ONLY, to_alpha, to_beta
from stator.model.conversion import converted as in_version
from stator.model.documents import field_path
from stator.model.identity import ADAPTER_KIND, GRAPH_KINDS, identify
from stator.model.load import without_nulls
from stator.model.parse import parse
from stator.model.preserved import ANNOTATIONS, STATUS_ANNOTATIONS, mapping, preserved
from stator.model.schema import schema_problems
from stator.model.unknown import unknown_fields
from stator.render import Manifest, render_graph
from stator.upgrade.rewrite import Lineage, rewrite

Target = Literal["v1beta1", "v1alpha1"]

_API_VERSIONS = {"v1beta1": BETA, "v1alpha1": ALPHA}
_START = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_TYPES = ("", "frontend", "worker", "prefill", "decode", "planner", "epp")


class Note(msgspec.Struct, frozen=True):
    """A field that is not said in the new version: `kept` in the annotation, or `dropped`, as no version knows it."""

    what: Literal["kept", "dropped"]
    field: str
    position: Position


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """One object of the file. `proof` says what was compared; `generation` is the worker hash before and after."""

    ref: str
    changed: bool
    proof: Literal["objects", "model", "values"]
    generation: str = ""
    notes: tuple[Note, ...] = ()


class Conversion(msgspec.Struct, frozen=True):
    """The new text of the file, and what became of each graph in it, then of each scaling adapter."""

    text: str
    objects: tuple[Converted, ...]


def convert(file: str, content: bytes, to: Target, *, namespace: str | None, reversible: bool) -> Conversion:
    """Convert every graph and scaling adapter in a file; documents of other kinds, and what is there already, stay.

    `reversible` keeps spelling too, so that converting back gives the same values. Raises InvalidInputError for what
    cannot be loaded, cannot be said in the target version, or would not render the same.
    """
    before = _load(file, content, namespace)
    work = _Work(file, to, before, namespace, reversible=reversible)
    result = "".join([work.chunk(chunk) for chunk in _chunks(content.decode("utf-8-sig"))])
    if work.problems:
        raise InvalidInputError(*work.problems)
    after = _load("-", result.encode(), namespace)
    graphs = [_prove(old, new, work.notes) for old, new in zip(before, after, strict=True)]
    return Conversion(result, (*graphs, *work.adapters))


def _load(file: str, content: bytes, namespace: str | None) -> tuple[Graph, ...]:
    """The graphs of a content; positions name `file`."""
    if file == "-":
        return load(["-"], namespace=namespace, stdin=io.BytesIO(content)).graphs
    return load([file], namespace=namespace).graphs


class _Chunk(NamedTuple):
    """The text of one document, its `---` included, and the number of lines before it."""

    line: int
    text: str

    @property
    def padded(self) -> str:
        """The text after as many empty lines, so that positions in it are those of the file."""
        return "\n" * self.line + self.text

    def written(self, document: Document, value: dict[str, Any], lineage: Lineage) -> str:
        """The text anew, with `value` in the place of the document that is all of it."""
        start = "---\n" if self.text.startswith("---") else ""
        return start + rewrite(self.padded, document, value, lineage)


def _chunks(text: str) -> Iterator[_Chunk]:
    """The documents of a text."""
    starts = [match.start() for match in _START.finditer(text)]
    bounds = [0, *(start for start in starts if start), len(text)]
    for start, end in itertools.pairwise(bounds):
        yield _Chunk(text.count("\n", 0, start), text[start:end])


class _Work:
    """One conversion of a file on its way, document by document. `graphs` are those of the file, in order."""

    def __init__(
        self, file: str, to: Target, graphs: Iterable[Graph], namespace: str | None, *, reversible: bool
    ) -> None:
        self.file = file
        self.to = to
        self.graphs = iter(graphs)
        self.namespace = namespace
        self.reversible = reversible
        self.notes: dict[str, list[Note]] = {}
        self.problems: list[Problem] = []
        self.adapters: list[Converted] = []

    def chunk(self, chunk: _Chunk) -> str:
        """The new text of one document."""
        documents, _ = parse(self.file, chunk.padded.encode())
        graphs = [next(self.graphs) for item in documents if item.value["kind"] in GRAPH_KINDS and _is_named(item)]
        ours = [item for item in documents if item.value["kind"] in (*GRAPH_KINDS, ADAPTER_KIND) and _is_named(item)]
        if not ours:
            return chunk.text
        if not _stands_alone(ours[0], chunk):
            remedy = "write its items as documents of their own, separated by `---`"
            self.problems.append(Problem(what="a List cannot be converted", position=ours[0].locate(()), remedy=remedy))
            return chunk.text
        return self.graph(chunk, ours[0], graphs[0]) if graphs else self.adapter(chunk, ours[0])

    def graph(self, chunk: _Chunk, document: Document, graph: Graph) -> str:
        """The new text of a graph. What it keeps in an annotation, and what it drops, is noted."""
        to = self.to
        if document.value["apiVersion"] == _API_VERSIONS[to]:
            return chunk.text
        value = without_nulls(document.value)
        if to == "v1beta1" and (unknown := list(_unknown_types(graph))):
            self.problems += unknown
            return chunk.text
        if to == "v1beta1":
            new = statuses.to_beta(to_beta(value, reversible=self.reversible))
        else:
            new = statuses.to_alpha(to_alpha(value))
        self.notes[graph.ref] = [*_kept(document, graph, new, to)]
        if to == "v1beta1" and not self.reversible:
            self.notes[graph.ref] += [
                Note("dropped", field_path(field.path), document.locate(field.path))
                for field in unknown_fields(document, pods=False)
            ]
        return chunk.written(document, new, _lineage(graph, new, to))

    def adapter(self, chunk: _Chunk, document: Document) -> str:
        """The new text of a scaling adapter; the versions call the part of the graph it scales by two names."""
        value = without_nulls(document.value)
        version = value["apiVersion"].rpartition("/")[2]
        if problems := schema_problems(document, value, f"{version}.yaml#/{ADAPTER_KIND}"):
            self.problems += problems
            return chunk.text
        new = in_version(value, self.to)
        ours, theirs = ("componentName", "serviceName") if self.to == "v1beta1" else ("serviceName", "componentName")
        moved: dict[Path, Path] = {("spec", "dgdRef", ours): ("spec", "dgdRef", theirs)}
        changed = version != self.to
        text = chunk.written(document, new, lambda path: _moved(moved, path)) if changed else chunk.text
        [back] = parse("-", text.encode())[0]
        ref = str(identify(document, self.namespace))
        if in_version(back.value, version) != value:
            self.problems.append(_would_differ(ref, document.locate(()), ["values"]))
        self.adapters.append(Converted(ref=ref, changed=changed, proof="values"))
        return text


def _is_named(document: Document) -> bool:
    """Whether it is an object yet: a name that the server makes up is no one's to convert."""
    return bool((document.value.get("metadata") or {}).get("name"))


def _stands_alone(document: Document, chunk: _Chunk) -> bool:
    """Whether the document is the whole chunk, not an item of a List in it."""
    root = yaml.compose(chunk.padded, Loader=yaml.CSafeLoader)
    if root is None or document.root is None:
        return False
    return root.start_mark.index == document.root.start_mark.index


def _unknown_types(graph: Graph) -> Iterator[Problem]:
    for part in graph.components:
        if part.type not in _TYPES:
            yield Problem(
                what=f'component {part.name}: the componentType "{part.type}" is no type of v1beta1',
                position=graph.locate(*part.path, "type"),
                why="its pods carry it as a label and in DYN_COMPONENT, so they would change",
                remedy=f"choose one of {', '.join(_TYPES[1:])} first, or leave it out",
            )


def _kept(document: Document, graph: Graph, new: Mapping[str, Any], to: Target) -> Iterator[Note]:
    """What the new document says in its annotation alone."""
    kept = preserved(new)
    parts = {part.name: part for part in graph.components}
    of_parts = mapping(kept.get("services" if to == "v1beta1" else "components"))
    for name, patch in of_parts.items():
        for field in mapping(patch):
            if to == "v1alpha1" or field in SERVICE_ONLY:
                path = (*_moved(graph.origin.moved, parts[name].path), field)
                yield Note("kept", field_path(path), document.locate(path))
    others = GRAPH_ONLY if to == "v1beta1" else [field for field in kept if field not in {"components", "order"}]
    for field in others:
        if field in kept:
            yield Note("kept", field_path(("spec", field)), document.locate(("spec", field)))
    if STATUS_ANNOTATIONS[graph.kind] in new.get("metadata", {}).get("annotations", {}):
        yield Note("kept", "what only the old version's status says", document.locate(("status",)))
    if "order" in kept:
        yield Note("kept", "the order of spec.components", document.locate(("spec", "components")))


def _lineage(graph: Graph, new: dict[str, Any], to: Target) -> Lineage:
    """From paths of the new document to paths of the old one."""
    if to == "v1beta1":
        moved = graph.origin.moved
    else:
        [back] = _load("-", msgspec.json.encode(new), graph.namespace)
        moved = {}
        for path, source in back.origin.moved.items():
            # A service's key is its component's name: the service is the component, not the name.
            moved.setdefault(source, path)
    return lambda path: _moved(moved, path)


def _moved(moved: Mapping[Path, Path], path: Path) -> Path:
    for length in range(len(path), 0, -1):
        if (prefix := moved.get(path[:length])) is not None:
            return (*prefix, *path[length:])
    return path


def _prove(old: Graph, new: Graph, notes: Mapping[str, list[Note]]) -> Converted:
    """Compare what the renderer reads and what it makes. Raises InvalidInputError if anything differs."""
    differing = [field for field, value in _meaning(old).items() if value != _meaning(new)[field]]
    manifests = _rendered(old), _rendered(new)
    proof: Literal["objects", "model"] = "model"
    generation = ""
    if manifests[0] is not None and manifests[1] is not None:
        proof, generation = "objects", manifests[0].generation
        differing += [
            field for field in ("objects", "generation") if getattr(manifests[0], field) != getattr(manifests[1], field)
        ]
    if differing:
        raise InvalidInputError(_would_differ(old.ref, old.locate("spec"), differing))
    return Converted(
        ref=old.ref,
        changed=old.api_version != new.api_version,
        proof=proof,
        generation=generation,
        notes=tuple(notes.get(old.ref, ())),
    )


def _would_differ(ref: str, position: Position, differing: Sequence[str]) -> Problem:
    return Problem(
        what=f"{ref} would not stay the same",
        position=position,
        why=f"converted, it differs in: {', '.join(differing)}",
        remedy="leave it in its version, and report the file: conversion is meant to be without loss",
    )


def _rendered(graph: Graph) -> Manifest | None:
    """The rendered graph, None for one that cannot be rendered in either version (yet)."""
    try:
        return render_graph(graph)
    except InvalidInputError:
        return None


def _meaning(graph: Graph) -> dict[str, Any]:
    """All that rendering reads of a graph, without where it stood and what conversion keeps."""
    value = {name: getattr(graph, name) for name in graph.__struct_fields__ if name not in {"origin", "api_version"}}
    value["annotations"] = {key: text for key, text in graph.annotations.items() if key not in ANNOTATIONS.values()}
    value["components"] = [
        {name: getattr(part, name) for name in part.__struct_fields__ if name != "path"} for part in graph.components
    ]
    return value
