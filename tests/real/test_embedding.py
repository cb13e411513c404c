"""examples/embedding.yaml for real: the SGLang engine on the CPU, and the canary it rejects unless it is repaired."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path

import pytest
from command import EXAMPLES, Stator

from stator.local.runtimes import default_cache

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("sglang")]

TEXTS = ["hello world", "the quick brown fox", "hello world"]


def embeddings(address: str) -> list[list[float]]:
    """The vectors the graph returns for TEXTS."""
    request = urllib.request.Request(
        f"http://{address}/v1/embeddings",
        json.dumps({"model": "minilm", "input": TEXTS}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
        data = json.load(response)["data"]
    return [entry["embedding"] for entry in sorted(data, key=lambda entry: entry["index"])]


def reference() -> list[list[float]]:
    """The vectors computed from the same weights without any engine, in a base environment."""
    (python,) = list(default_cache().glob("base-1.6.1-*/bin/python"))[:1]
    model = EXAMPLES / ".stator" / "models" / "minilm"
    command = [str(python), str(Path(EXAMPLES, "reference_vectors.py")), str(model), *TEXTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    vectors: list[list[float]] = json.loads(done.stdout)
    return vectors


def test_the_repaired_worker_is_ready_and_its_vectors_are_right(stator: Stator) -> None:
    """With DYN101 the 1.5.1 worker turns Ready, and its vectors equal a reference from the same weights."""
    up = stator("up", str(EXAMPLES / "embedding.yaml"), "--detach", "--ask", "hello world")
    assert up.returncode == 0, up.stdout + up.stderr
    (graph,) = stator.graphs()
    assert any("DYN101" in note for part in graph["components"] for note in part["notes"])
    address = next(service["address"] for service in graph["services"] if service["frontend"])
    served, computed = embeddings(address), reference()
    assert len(served) == len(TEXTS)
    for mine, theirs in zip(served, computed, strict=True):
        # The engine computes in 16-bit floats: 6.5e-4 was the largest difference measured.
        assert max(abs(one - other) for one, other in zip(mine, theirs, strict=True)) < 2e-3


def test_without_the_repair_the_canary_is_named_as_the_reason(stator: Stator) -> None:
    """With `--no-repairs` the same worker is not Ready: its canary fails, and status names it and the rule."""
    up = stator.start("up", str(EXAMPLES / "embedding.yaml"), "--no-repairs", "--detach")
    graph = stator.wait_for(lambda graph: any(pod["reason"] == "Canary" for pod in graph["pods"]))
    (worker,) = (pod for pod in graph["pods"] if pod["component"] == "Worker")
    assert not worker["ready"]
    assert worker["rule"] == "DYN101"
    assert "EmbeddingRequest" in worker["message"]
    stator("down")
    output, _ = up.communicate(timeout=120)
    assert up.returncode == 1, output
