"""How long rendering takes: one graph in a warm process, and a thousand different graphs."""

import copy
import statistics
import sys
import tempfile
import time
from pathlib import Path

import yaml

from stator.model.load import load
from stator.render import render_graph
from stator.render.output import to_yaml

EXAMPLES = Path(__file__).parent.parent / "examples"
ROUNDS = 300
GRAPHS = 1000


def one_graph() -> float:
    """Median milliseconds of rendering `examples/embedding.yaml`, repair included."""
    graph = load([str(EXAMPLES / "embedding.yaml")]).graphs[0]
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        render_graph(graph)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def many_graphs(directory: Path) -> tuple[float, float, float]:
    """Seconds of loading, rendering and writing GRAPHS graphs that differ in name, version and environment."""
    files = ("chat.yaml", "embedding.yaml", "chat-v1alpha1.yaml")
    templates = [
        [
            document
            for document in yaml.safe_load_all((EXAMPLES / name).read_text())
            if document["kind"].startswith("Dy")
        ]
        for name in files
    ]
    for number in range(GRAPHS):
        document = copy.deepcopy(templates[number % len(templates)][0])
        document["metadata"]["name"] = f"graph-{number}"
        (directory / f"{number:04}.yaml").write_text(yaml.safe_dump(document))
    start = time.perf_counter()
    inventory = load([str(directory)])
    loaded = time.perf_counter()
    manifests = [render_graph(graph) for graph in inventory.graphs]
    rendered = time.perf_counter()
    to_yaml([item for manifest in manifests for item in manifest.objects])
    return loaded - start, rendered - loaded, time.perf_counter() - rendered


def main() -> None:
    """Print the times beside their targets."""
    print(f"one graph, warm: {one_graph():.2f} ms (target < 2 ms)")
    with tempfile.TemporaryDirectory() as directory:
        loading, rendering, writing = many_graphs(Path(directory))
    print(
        f"{GRAPHS} graphs: rendering {rendering:.2f} s (target < 2 s), loading {loading:.2f} s, writing {writing:.2f} s"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
