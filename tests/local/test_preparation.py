"""What `stator up` refuses before anything is made."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from stator.errors import InvalidInputError
from stator.local.config import LocalConfig
from stator.local.preparation import Preparation, prepare
from stator.local.state import StateDirectory
from stator.model.load import load
from stator.render import RenderOptions

GRAPH = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: ns}
spec:
  components:
  - name: Worker
    type: worker
    multinode: {nodeCount: 2}
    podTemplate: {spec: {containers: [{name: main, image: "r/sglang-runtime:1.6.1", args: [python3 -m dynamo.sglang]}]}}
"""


def test_an_engine_over_several_nodes_is_refused_where_it_is_written(tmp_path: Path) -> None:
    """Its pods find each other by names that only a cluster gives them."""
    how = Preparation(
        render=RenderOptions(), config=LocalConfig(), state=StateDirectory(tmp_path / "state"), cache=tmp_path / "cache"
    )
    inventory = load(["-"], stdin=io.StringIO(GRAPH))
    with pytest.raises(InvalidInputError) as caught:
        prepare(inventory, how, progress=lambda _: None)
    [problem] = caught.value.problems
    assert (str(problem.position), problem.what) == (
        "-:7",
        "component Worker becomes a LeaderWorkerSet, which does not run on one machine",
    )
    assert not (tmp_path / "cache").exists()


def test_pods_that_claim_devices_are_refused_where_they_are_written(tmp_path: Path) -> None:
    """Engines that share GPUs get them from a device driver of a cluster."""
    how = Preparation(
        render=RenderOptions(), config=LocalConfig(), state=StateDirectory(tmp_path / "state"), cache=tmp_path / "cache"
    )
    shared = GRAPH.replace("multinode: {nodeCount: 2}", "experimental: {gpuMemoryService: {}}").replace(
        "name: main,", 'name: main, resources: {limits: {nvidia.com/gpu: "1"}},'
    )
    with pytest.raises(InvalidInputError) as caught:
        prepare(load(["-"], stdin=io.StringIO(shared)), how, progress=lambda _: None)
    assert [(str(problem.position), problem.what) for problem in caught.value.problems] == [
        ("-:7", "component Worker claims devices for its pods, which one machine does not hand out")
    ]


def test_more_processes_than_the_machine_has_memory_for_are_refused_before_any_is_planned(tmp_path: Path) -> None:
    """A graph of a large cluster must not be begun pod by pod; all graphs of a run count together."""
    how = Preparation(
        render=RenderOptions(), config=LocalConfig(), state=StateDirectory(tmp_path / "state"), cache=tmp_path / "cache"
    )
    many = GRAPH.replace("multinode: {nodeCount: 2}", "replicas: 1000000")
    both = f"{many.replace('name: g,', 'name: few,').replace('1000000', '7')}---{many}"
    with pytest.raises(InvalidInputError) as caught:
        prepare(load(["-"], stdin=io.StringIO(both)), how, progress=lambda _: None)
    [problem] = caught.value.problems
    assert (str(problem.position), problem.what) == (
        "-:19",
        "1,000,007 processes would run at once, 1,000,000 of them of component Worker",
    )
    assert "one for every 32 MiB" in problem.why
    assert problem.remedy == "lower the replicas, or run the graph on a cluster"
    assert not (tmp_path / "cache").exists()
