"""A plan for people, for programs, and as a Mermaid diagram."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from stator.upgrade.plan import Plan, Step
from stator.upgrade.report import graph_json

SCHEMA_VERSION = 1

_WORDS = {"ok": "ok", "caution": "CAUTION", "unknown": "UNKNOWN", "stop": "STOP"}
_STYLES = {
    "ok": "fill:#e6f4ea,stroke:#34a853",
    "caution": "fill:#fef7e0,stroke:#f9ab00",
    "unknown": "fill:#f1f3f4,stroke:#80868b",
    "stop": "fill:#fce8e6,stroke:#d93025",
}
_REMEDIES = {
    "platform": "go through every minor line between",
    "operator-runtime": "move the operator first, or choose a runtime within its window",
    "frontend-worker": "go through a release between: move the older side there first, in a plan of its own",
    "prefill-decode": "set prefill and decode to the same release: --set prefill=V --set decode=V",
}


def plan_text(plan: Plan) -> str:
    """One block per step: what moves, what was checked, what rolls."""
    lines: list[str] = []
    for number, step in enumerate(plan.steps, start=1):
        lines += [*_step(number, step), ""]
    noun = "step" if len(plan.steps) == 1 else "steps"
    lines.append(f"{len(plan.steps)} {noun}, {_WORDS[plan.state]}" if plan.steps else "nothing to do")
    return "\n".join(lines) + "\n"


def plan_json(plan: Plan) -> str:
    """The same as a JSON document, indented by two, with a newline at the end."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "state": plan.state,
        "steps": [
            {
                "kind": step.kind,
                "graph": step.graph,
                "moves": list(step.moves),
                "state": step.state,
                "reached": step.reached,
                "checks": msgspec.to_builtins(step.checks),
                "rolls": [f"{change.graph} {part.name}" for change in step.changes for part in change.rolling],
                "changes": [graph_json(change) for change in step.changes],
            }
            for step in plan.steps
        ],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def plan_diagram(plan: Plan) -> str:
    """A Mermaid flowchart: one node per step with what moves and rolls, coloured by its checks."""
    lines = ["flowchart TD", '  now(["now"])']
    previous = "now"
    for number, step in enumerate(plan.steps, start=1):
        words = [f"{number}. {step.kind}", *step.moves, _rolls(step), _WORDS[step.state]]
        label = "<br/>".join(word.replace('"', "'").replace("->", "→") for word in words)
        arrow = "-->" if step.reached else "-.->"
        lines += [f'  step{number}["{label}"]:::{step.state}', f"  {previous} {arrow} step{number}"]
        previous = f"step{number}"
    used = sorted({step.state for step in plan.steps})
    return "\n".join([*lines, *(f"  classDef {state} {_STYLES[state]}" for state in used)]) + "\n"


def _step(number: int, step: Step) -> Iterator[str]:
    behind = "" if step.reached else "  (behind a stop)"
    where = f"  {step.graph}" if step.graph else ""
    yield f"{number}. {step.kind}{where}  {_WORDS[step.state]}{behind}"
    for move in step.moves:
        yield f"   {move}"
    for check in step.checks:
        remedy = check.remedy or (_REMEDIES.get(check.name) if check.state == "stop" else "")
        if check.state != "ok" or check.remedy:
            yield f"   {'note' if check.state == 'ok' else _WORDS[check.state]} {check.name}: {check.words}"
        if remedy:
            yield f"     do: {remedy}"
    fine = sum(check.state == "ok" for check in step.checks)
    yield f"   {fine} of {len(step.checks)} checks ok; {_rolls(step)}"
    for change in step.changes:
        for part in change.rolling:
            yield f"     {part.name}: {part.why}"


def _rolls(step: Step) -> str:
    rolling = [part.name for change in step.changes for part in change.rolling]
    return f"rolls {', '.join(rolling)}" if rolling else "rolls nothing"
