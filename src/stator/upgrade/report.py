"""A comparison for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from stator.upgrade.change import Change, ComponentChange, GraphChange

SCHEMA_VERSION = 1

_WORDS = {
    "same": "stays",
    "updates": "stays",
    "scales": "SCALES",
    "waits": "stays",
    "rolls": "ROLLS",
    "added": "NEW",
    "removed": "GOES",
}
_SHOWN = 60


def diff_text(graphs: Sequence[GraphChange]) -> str:
    """One block per graph: each component with its verdict and why, below it what differs and who set it."""
    lines: list[str] = []
    for graph in graphs:
        lines += [*_graph(graph), ""]
    parts = [part for graph in graphs for part in graph.components]
    rolling = sum(part.verdict == "rolls" for part in parts)
    same = sum(part.verdict == "same" for part in parts)
    noun = "component" if len(parts) == 1 else "components"
    lines.append(f"{rolling} of {len(parts)} {noun} would roll, {same} unchanged")
    return "\n".join(lines) + "\n"


def diff_json(graphs: Sequence[GraphChange]) -> str:
    """The same as a JSON document, indented by two, with a newline at the end."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "same": all(graph.same for graph in graphs),
        "graphs": [graph_json(graph) for graph in graphs],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def graph_json(graph: GraphChange) -> dict[str, Any]:
    """One graph as plain JSON values."""
    return {
        "graph": graph.graph,
        "same": graph.same,
        "operator": _pair(graph.operators),
        "generation": _pair(graph.generations),
        "components": [
            {
                "name": part.name,
                "type": part.type,
                "verdict": part.verdict,
                "rolls": part.verdict == "rolls",
                "why": part.why,
                "version": _pair(part.versions),
                "changes": [_change(change) for change in part.changes],
                "objects": msgspec.to_builtins(part.objects),
            }
            for part in graph.components
        ],
        "hash_inputs": [_change(change) for change in graph.inputs],
        "objects": msgspec.to_builtins(graph.objects),
        "findings": {
            side: [
                {"rule": item.rule, "severity": item.severity, "component": item.component, "message": item.message}
                for item in findings
            ]
            for side, findings in (("gone", graph.gone), ("new", graph.new))
        },
    }


def _pair(values: tuple[str, str]) -> dict[str, str]:
    return {"before": values[0], "after": values[1]}


def _change(change: Change) -> dict[str, Any]:
    return {
        "subject": change.subject,
        "name": change.name,
        "role": change.role or None,
        "before": change.before,
        "after": change.after,
        "why": change.why,
        "position": str(change.position) if change.position else None,
    }


def _graph(graph: GraphChange) -> Iterable[str]:
    head = [graph.graph, f"operator {_arrow(graph.operators)}"]
    if any(graph.generations):
        head.append(f"worker generation {_arrow(graph.generations)}")
    yield "  ".join(head)
    width = max((len(part.name) for part in graph.components), default=0)
    for part in graph.components:
        yield from _component(part, width)
    if graph.generations[0] != graph.generations[1] and graph.inputs:
        yield f"  hash inputs that differ: {', '.join(change.name for change in graph.inputs)}"
    for item in graph.objects:
        yield f"  {item.change} {item.ref}"
    for sign, findings in (("-", graph.gone), ("+", graph.new)):
        for finding in findings:
            yield f"  {sign} {finding.severity} {finding.rule} {finding.component}: {finding.message}"


def _component(part: ComponentChange, width: int) -> Iterable[str]:
    words = (part.name.ljust(width), _WORDS[part.verdict].ljust(6), _arrow(part.versions), part.why)
    yield f"  {'  '.join(words)}".rstrip()
    for change in part.changes:
        yield f"    {change_text(change)}"
    if part.verdict in {"updates", "waits"}:
        for item in part.objects:
            yield f"    {item.change} {item.ref}"


def change_text(change: Change) -> str:
    """One change in one line: `~ env NAME: false -> true  (who set it) at file:line`."""
    sign = "+" if change.before is None else "-" if change.after is None else "~"
    subject = change.subject if change.subject != "field" else ""
    what = " ".join(word for word in (change.role, subject, change.name) if word)
    values = " -> ".join(_short(value) for value in (change.before, change.after) if value)
    line = f"{sign} {what}: {values}" if values else f"{sign} {what}"
    if change.why:
        line += f"  ({change.why})"
    return f"{line} at {change.position}" if change.position else line


def _short(value: str) -> str:
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."


def _arrow(values: tuple[str, str]) -> str:
    before, after = (value or "none" for value in values)
    return before if before == after else f"{before} -> {after}"
