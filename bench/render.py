"""How long rendering takes: one graph in a warm process, a thousand different graphs, and more and more components.

Processor time, not time on the wall: rendering waits for nothing, and what else the machine does is no part of it.
"""

import copy
import io
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from stator.model import Graph
from stator.model.load import load
from stator.render import render_graph
from stator.render.output import to_yaml

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
GOLDEN = ROOT / "tests" / "render" / "golden"
ROUNDS = 300
GRAPHS = 1000
SIZES = (5, 10, 20, 25)


def milliseconds(graph: Graph, rounds: int = ROUNDS) -> float:
    """Median milliseconds of rendering a graph."""
    render_graph(graph)
    times = []
    for _ in range(rounds):
        start = time.process_time_ns()
        render_graph(graph)
        times.append((time.process_time_ns() - start) / 1e6)
    return statistics.median(times)


def documents() -> list[dict[str, Any]]:
    """The examples' graphs and one graph of each kind: every backend, workload and feature."""
    files = [*sorted(EXAMPLES.glob("*.yaml")), *sorted(GOLDEN.glob("*/graph.yaml"))]
    found = [document for file in files for document in yaml.safe_load_all(file.read_text()) if document]
    return [document for document in found if document["kind"].startswith("Dynamo")]


def many_graphs(directory: Path) -> tuple[float, float, float]:
    """Seconds of loading, rendering and writing GRAPHS graphs of all kinds, each of a name of its own."""
    templates = documents()
    for number in range(GRAPHS):
        document = copy.deepcopy(templates[number % len(templates)])
        document["metadata"]["name"] = f"g{number}"
        (directory / f"{number:04}.yaml").write_text(yaml.safe_dump(document))
    start = time.process_time()
    inventory = load([str(directory)])
    loaded = time.process_time()
    manifests = [render_graph(graph) for graph in inventory.graphs]
    rendered = time.process_time()
    to_yaml([item for manifest in manifests for item in manifest.objects])
    return loaded - start, rendered - loaded, time.process_time() - rendered


def growth() -> dict[int, float]:
    """Microseconds per component, by the number of a graph's components."""
    [graph] = load([str(EXAMPLES / "chat.yaml")]).graphs
    worker = yaml.safe_load((EXAMPLES / "chat.yaml").read_text())["spec"]["components"][-1]
    found = {}
    for size in SIZES:
        components = [{**worker, "name": f"Worker{number}"} for number in range(size)]
        document = {
            "apiVersion": "nvidia.com/v1beta1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": graph.name},
            "spec": {"components": components},
        }
        [large] = load(["-"], stdin=io.StringIO(yaml.safe_dump(document))).graphs
        found[size] = milliseconds(large, 60) * 1000 / size
    return found


def main() -> None:
    """Print the times beside their targets."""
    embedding = load([str(EXAMPLES / "embedding.yaml")]).graphs[0]
    print(f"one graph, warm: {milliseconds(embedding):.2f} ms (target < 2 ms)")
    slowest = max(
        (milliseconds(graph, 20), path.parent.name)
        for path in GOLDEN.glob("*/graph.yaml")
        for graph in load([str(path)]).graphs
    )
    print(f"the slowest of the golden graphs ({slowest[1]}): {slowest[0]:.2f} ms (target < 2 ms)")
    with tempfile.TemporaryDirectory() as directory:
        loading, rendering, writing = many_graphs(Path(directory))
    print(
        f"{GRAPHS} graphs: rendering {rendering:.2f} s (target < 2 s), loading {loading:.2f} s, writing {writing:.2f} s"
    )
    print("per component: " + ", ".join(f"{time:.0f} µs of {size}" for size, time in growth().items()))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
