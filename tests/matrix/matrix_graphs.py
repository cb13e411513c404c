"""Graphs of a frontend and workers, loaded as from files."""

from __future__ import annotations

from typing import Any

from stator.matrix.scenarios import Scenario, read_scenarios
from stator.model import Inventory, load_objects
from stator.render import RenderOptions

OPTIONS = RenderOptions()


def component(name: str, kind: str, image: str, *args: str, **more: Any) -> dict[str, Any]:
    """A component whose main container runs `python3 -m ARGS`."""
    container: dict[str, Any] = {"name": "main", "image": image, **more}
    if args:
        container |= {"command": ["python3", "-m", args[0]], "args": list(args[1:])}
    return {"name": name, "type": kind, "replicas": 1, "podTemplate": {"spec": {"containers": [container]}}}


def frontend(version: str = "1.6.1") -> dict[str, Any]:
    """A frontend."""
    return component("Frontend", "frontend", f"r/dynamo-frontend:{version}")


def worker(
    *args: str, version: str = "1.5.1", name: str = "Worker", kind: str = "worker", **more: Any
) -> dict[str, Any]:
    """A worker, by default the mocker with the model `tiny`."""
    argv = args or ("dynamo.mocker", "--model-path", "/models/tiny", "--model-name", "tiny")
    return component(name, kind, f"r/sglang-runtime:{version}", *argv, **more)


def embedder(**more: Any) -> dict[str, Any]:
    """An SGLang embedding worker with the model `minilm`."""
    flags = ("--model-path", "/models/minilm", "--served-model-name", "minilm", "--embedding-worker")
    return worker("dynamo.sglang", *flags, **more)


def inventory(*components: dict[str, Any], name: str = "chat", **spec: Any) -> Inventory:
    """One graph."""
    return load_objects(
        [
            {
                "apiVersion": "nvidia.com/v1beta1",
                "kind": "DynamoGraphDeployment",
                "metadata": {"name": name, "namespace": "home"},
                "spec": {"components": list(components), **spec},
            }
        ]
    )


def scenario(*components: dict[str, Any], **more: Any) -> Scenario:
    """One graph as a scenario."""
    (read,) = read_scenarios(inventory(*components, **more), OPTIONS)
    return read
