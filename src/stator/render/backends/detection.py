"""Which inference framework a worker runs: read off its command line, checked against what the graph declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stator.errors import Position, Problem
from stator.model import Component, Graph
from stator.model.commandline import CommandLine
from stator.render import names
from stator.render.backends.injection import runs_of

NONE = "noop"
FRAMEWORKS = ("sglang", "vllm", "trtllm")


def detect(command_line: CommandLine) -> tuple[str, ...]:
    """The frameworks whose module a command line runs (`python3 -m dynamo.sglang`), each once."""
    return tuple(framework for framework in FRAMEWORKS if runs_of(command_line, framework))


def backends_of(graph: Graph, command_lines: Mapping[str, CommandLine], problems: list[Problem]) -> dict[str, str]:
    """Framework by component name; `noop` for every type but workers, and for workers that show none.

    What a worker shows wins over what the graph declares, and they must agree. A worker that shows nothing (a wrapper
    script) takes the graph's: declared (loading has refused unknown ones), or the one all other workers show. Adds to
    `problems` what does not fit.
    """
    workers = [component for component in graph.components if component.type in names.WORKER_TYPES]
    declared = graph.backend_framework or ""
    shown = {worker.name: detect(command_lines[worker.name]) for worker in workers}
    for worker in workers:
        problems.extend(_disagreement(graph, worker, shown[worker.name], declared))
    common = declared or _common(graph, workers, shown, problems)
    return {
        component.name: _choose(shown.get(component.name), common) if component.name in shown else NONE
        for component in graph.components
    }


def _choose(shown: Sequence[str] | None, common: str) -> str:
    return shown[0] if shown and len(shown) == 1 else common or NONE


def _disagreement(graph: Graph, worker: Component, shown: Sequence[str], declared: str) -> list[Problem]:
    if len(shown) > 1 and not declared:
        return [
            Problem(
                what=f"component {worker.name} runs more than one framework: {', '.join(shown)}",
                position=_command_position(graph, worker),
                remedy="set spec.backendFramework to the one that serves",
            )
        ]
    if len(shown) == 1 and declared and shown[0] != declared:
        return [
            Problem(
                what=f'component {worker.name} runs {shown[0]}, but spec.backendFramework is "{declared}"',
                position=_command_position(graph, worker),
                remedy="make them agree, or leave backendFramework out",
            )
        ]
    return []


def _command_position(graph: Graph, worker: Component) -> Position:
    return graph.locate(*worker.main_path, "args" if worker.main.get("args") else "command")


def _common(
    graph: Graph, workers: Sequence[Component], shown: Mapping[str, Sequence[str]], problems: list[Problem]
) -> str:
    """The one framework of all workers that show one; two different ones in a graph are a problem."""
    first: Component | None = None
    for worker in workers:
        if len(shown[worker.name]) != 1:
            continue
        if first is None:
            first = worker
        elif shown[worker.name] != shown[first.name]:
            problems.append(
                Problem(
                    what=f"component {worker.name} runs {shown[worker.name][0]}, "
                    f"but component {first.name} runs {shown[first.name][0]}",
                    position=_command_position(graph, worker),
                    why="the workers of one graph share a framework",
                    remedy="split the graph in two",
                )
            )
    return shown[first.name][0] if first else ""
