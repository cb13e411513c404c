"""The planner of a published release as a client of the operator (its own connector, its own Kubernetes client)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import Server
from kubelet import Kubelet
from operating import Json, Kubectl, View, operating

from stator.kube.client import Client
from stator.local.runtimes import default_cache, ensure
from stator.local.runtimes.request import RuntimeRequest
from stator.operator import kinds

PLANNER = "1.6.1"
PATIENCE = 180


@pytest.fixture(scope="module")
def interpreter() -> Path:
    """A Python with the published planner in it, made on first use."""
    request = RuntimeRequest(image=f"dynamo-frontend:{PLANNER}", profile="base", version=PLANNER)
    return ensure(request, cache=default_cache(), progress=lambda line: print(line, file=sys.stderr)).python  # noqa: T201 (a download takes a while)


def disaggregated(*, adapter: bool) -> Json:
    """A graph of a frontend, a prefill and a decode worker; decode has a scaling adapter, or none."""

    def worker(kind: str, gpus: int, more: Json) -> Json:
        command = ["python3", "-m", "dynamo.vllm", "--model", "Qwen/Qwen3-0.6B", "--served-model-name", "qwen"]
        container = {
            "name": "main",
            "image": "reg/vllm-runtime:1.6.1",
            "command": command,
            "resources": {"limits": {"nvidia.com/gpu": gpus}},
        }
        return {"name": kind.title(), "type": kind, "podTemplate": {"spec": {"containers": [container]}}, **more}

    made: Json = yaml.safe_load("""
    apiVersion: nvidia.com/v1beta1
    kind: DynamoGraphDeployment
    metadata: {name: split}
    spec:
      components:
      - name: Frontend
        type: frontend
        podTemplate: {spec: {containers: [{name: main, image: "reg/dynamo-frontend:1.6.1"}]}}
    """)
    made["spec"]["components"] += [
        worker("prefill", 1, {"replicas": 1}),
        worker("decode", 2, {"replicas": 1, **({"scalingAdapter": {}} if adapter else {})}),
    ]
    return made


async def drive(python: Path, cluster: Server, namespace: str, *replicas: int) -> Any:
    """What the planner saw."""
    arguments = [Path(__file__).with_name("planner_client.py"), namespace, "split", *map(str, replicas)]
    process = await asyncio.create_subprocess_exec(
        python,
        *arguments,
        env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-4000:]
    return json.loads(out.decode().splitlines()[-1])


@pytest.mark.real
@pytest.mark.parametrize("adapter", [True, False], ids=["through its adapter", "by patching the graph"])
async def test_the_published_planner_scales_a_graph(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl, interpreter: Path, *, adapter: bool
) -> None:
    """It finds model, namespace and GPUs in the status, scales up and down, and sees each of them done."""
    async with operating(cluster.kubeconfig, namespace), Kubelet(client, namespace):
        await kubectl.apply(disaggregated(adapter=adapter))
        await view.until(lambda: view.ready("split"))
        seen = await drive(interpreter, cluster, namespace, 3, 1)
        graph = view.get(kinds.GRAPH, "split")
        generation = graph["metadata"]["annotations"]["nvidia.com/current-worker-hash-v2"]
        assert seen["model"] == "qwen"
        assert seen["namespace"] == f"{namespace}-split-{generation}"
        assert seen["gpus"] == [[1, 1], [2, 2]]
        assert seen["counts"] == [[1, 3, True], [1, 1, True]]
        assert sorted(event["note"] for event in view.events("Scaled")) == (
            [
                "component Decode of graph split is scaled from 1 to 3",
                "component Decode of graph split is scaled from 3 to 1",
            ]
            if adapter
            else []
        )
