"""GPU memory that outlives an engine, and the second engine that stands by to use it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from rendered import named_env, object_of, pod_of, provenance_of, render

from stator.errors import InvalidInputError
from stator.explain.variables import variables
from stator.model import Inventory
from stator.render import Manifest

CLAIM = {"name": "intrapod-shared-gpu"}
PORT = "DYN_SYSTEM_PORT"
MOUNT = {"name": "gms-intrapod-control", "mountPath": "/gms-intrapod-control"}


def graph(*command: str, gpus: int = 2, failover: bool = False, service: dict[str, Any] | None = None) -> str:
    """A worker that asks for the service; `command` is its main container's."""
    limits = {"limits": {"nvidia.com/gpu": str(gpus), "memory": "8Gi"}} if gpus else {}
    main = {
        "name": "main",
        "image": "reg/vllm-runtime:1.6.1",
        "command": list(command) or ["python3", "-m", "dynamo.vllm", "--load-format", "gms"],
        "resources": limits,
    }
    experimental: dict[str, Any] = {"gpuMemoryService": service or {}}
    if failover:
        experimental["failover"] = {"mode": "IntraPod", "numShadows": 1}
    component = {
        "name": "Worker",
        "type": "worker",
        "experimental": experimental,
        "podTemplate": {
            "spec": {"containers": [main, {"name": "loader", "image": "i"}, {"name": "other", "image": "i"}]}
        },
    }
    metadata = {
        "name": "g",
        "namespace": "ns",
        "annotations": {"nvidia.com/dynamo-kube-discovery-mode": "container"},
    }
    head = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": metadata}
    return yaml.safe_dump({**head, "spec": {"components": [component]}})


def engines(manifest: Manifest) -> list[dict[str, Any]]:
    """The two engines of the worker's pod."""
    found = pod_of(manifest)["containers"][:2]
    assert [item["name"] for item in found] == ["engine-0", "engine-1"]
    return found  # type: ignore[no-any-return]


def test_engine_and_server_share_the_gpus_by_a_claim() -> None:
    """The GPU limit becomes a claim that both name; everything else of the container's resources stays."""
    manifest = render(graph(service={"extraClientContainers": ["loader"]}))
    spec = pod_of(manifest)
    main, loader, other = spec["containers"]
    [server] = spec["initContainers"]
    assert main["resources"] == {"limits": {"memory": "8Gi"}, "claims": [CLAIM]}
    for client in (main, loader, server):
        assert CLAIM in client["resources"]["claims"]
        assert MOUNT in client["volumeMounts"]
        assert named_env(client)["GMS_SOCKET_DIR"] == "/gms-intrapod-control"
    assert other == {"name": "other", "image": "i"}
    assert (server["name"], server["image"], server["restartPolicy"]) == ("gms-server", main["image"], "Always")
    assert server["startupProbe"]["exec"]["command"] == ["test", "-f", "/gms-intrapod-control/gms-ready"]
    assert spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert spec["resourceClaims"] == [{**CLAIM, "resourceClaimTemplateName": "g-worker-gpu"}]
    [request] = object_of(manifest, "ResourceClaimTemplate", "g-worker-gpu")["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 2}
    assert provenance_of(manifest, "GMS_SOCKET_DIR").setter.layer == "backend"
    assert manifest.not_rendered == ()


def test_another_device_class_is_claimed_from() -> None:
    """The class is the cluster's name for a kind of device."""
    made = object_of(render(graph(service={"deviceClassName": "mig.example"})), "ResourceClaimTemplate")
    assert made["spec"]["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == "mig.example"


def test_a_service_without_gpus_is_a_located_problem() -> None:
    """A claim for no device would leave the pod pending for ever."""
    with pytest.raises(InvalidInputError) as caught:
        render(graph(gpus=0))
    [problem] = caught.value.problems
    assert problem.what == "component Worker: the GPU memory service has no GPUs to hold"
    assert problem.position is not None
    assert problem.position.line


def test_two_engines_stand_in_one_pod() -> None:
    """Each has its number, its port and probes of that port; a standby is not ready by its own word."""
    manifest = render(graph(failover=True))
    for number, engine in enumerate(engines(manifest)):
        env = named_env(engine)
        assert (env["ENGINE_ID"], env["CONTAINER_NAME"]) == (str(number), f"engine-{number}")
        assert env["FAILOVER_LOCK_PATH"] == "/gms-intrapod-control/failover.lock"
        assert env["DYN_SYSTEM_PORT"] == str(9090 + number)
        assert env["DYN_SYSTEM_STARTING_HEALTH_STATUS"] == "notready"
        assert env["VLLM_NIXL_SIDE_CHANNEL_PORT"] == str(5600 + number)
        assert "DYN_HEALTH_CHECK_ENABLED" not in env
        assert engine["ports"] == [{"name": f"system-{number}", "containerPort": 9090 + number, "protocol": "TCP"}]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert engine[probe]["httpGet"]["port"] == f"system-{number}"
        assert CLAIM in engine["resources"]["claims"]
        assert len({entry["name"] for entry in engine["env"]}) == len(engine["env"])
    assert [item["name"] for item in pod_of(manifest)["containers"]] == ["engine-0", "engine-1", "loader", "other"]
    assert manifest.not_rendered == ()


def test_an_engines_variables_say_what_they_replace() -> None:
    """A worker's own port and the type's default are still seen behind the engine's."""
    manifest = render(graph(failover=True))
    [found] = [item for item in manifest.components[0].provenance if (item.container, item.name) == ("engine-1", PORT)]
    assert (found.setter.value, [setter.value for setter in found.replaced]) == ("9091", ["9090"])
    [part] = manifest.components
    assert {item.name for item in variables(manifest, part, Inventory()).variables} == set(
        named_env(engines(manifest)[0])
    )


@pytest.mark.parametrize(
    ("command", "second"),
    [
        (("python3", "-m", "dynamo.vllm"), ("python3", "-m", "dynamo.vllm", "--master-port", "29600")),
        (
            ("python3", "-m", "dynamo.vllm", "--master-port", "3000"),
            ("python3", "-m", "dynamo.vllm", "--master-port", "3100"),
        ),
        (
            ("python3", "-m", "dynamo.vllm", "--master-port=3000"),
            ("python3", "-m", "dynamo.vllm", "--master-port=3100"),
        ),
        (
            ("sh", "-c", "exec python3 -m dynamo.vllm --master-port 3000"),
            ("sh", "-c", "exec python3 -m dynamo.vllm --master-port 3100"),
        ),
    ],
)
def test_the_second_engine_of_vllm_has_a_master_port_of_its_own(
    command: tuple[str, ...], second: tuple[str, ...]
) -> None:
    """Two engines in one network namespace would take each other's port."""
    one, two = engines(render(graph(*command, failover=True)))
    assert (*one["command"], *one.get("args", ())) == command
    assert (*two["command"], *two.get("args", ())) == second


def test_a_master_port_that_cannot_be_read_is_named() -> None:
    """The engines would clash, and nobody would know why."""
    manifest = render(graph("sh", "-c", "exec python3 -m dynamo.vllm --master-port $PORT", failover=True))
    assert [note.field for note in manifest.not_rendered] == ["spec.components[0].experimental.failover"]


def test_both_engines_of_sglang_leave_their_cuda_graphs_whole() -> None:
    """Piecewise graphs do not live in shared memory."""
    for engine in engines(render(graph("python3", "-m", "dynamo.sglang", failover=True))):
        assert engine["args"] == ["--disable-piecewise-cuda-graph"]


def test_failover_that_cannot_be_made_is_named() -> None:
    """Without a framework whose engines can stand by, the pod stays as it is."""
    manifest = render(graph("python3", "-m", "dynamo.trtllm", failover=True))
    assert pod_of(manifest)["containers"][0]["name"] == "main"
    [note] = manifest.not_rendered
    assert (note.field, note.why) == (
        "spec.components[0].experimental.failover",
        "no shadow engine is made for trtllm",
    )
