"""Graphs as many teams would write them: a frontend and a worker each, alike in shape and different in what they say.

What is equal everywhere compresses to nothing and is cached once. So names, owners, registries, releases, engines,
models, flags, variables, resources and places are drawn anew for each graph, always the same for the same number.
"""

from __future__ import annotations

from random import Random
from typing import Any

TEAMS = ("search", "chat", "agents", "vision", "research", "ads", "support", "docs", "ranking", "voice", "code", "risk")
WORDS = ("amber", "basil", "cedar", "delta", "ember", "fjord", "glade", "haven", "iris", "jade", "koala", "lotus")
MODELS = (
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-32B-FP8",
    "meta-llama/Llama-3.3-70B-Instruct",
    "deepseek-ai/DeepSeek-R1-Distill-Llama-8B",
    "nvidia/Llama-3.1-8B-Instruct-FP8",
    "openai/gpt-oss-120b",
    "mistralai/Mistral-Small-3.2-24B",
    "google/gemma-3-27b-it",
)
RELEASES = ("1.0.2", "1.1.1", "1.2.1", "1.3.1", "1.4.2", "1.5.0", "1.5.1", "1.6.0", "1.6.1")
# Backend: the name of its images, the flags for the model, for parallelism and for one number more.
ENGINES = {
    "sglang": ("sglang", "--model-path", "--tp", "--max-running-requests"),
    "vllm": ("vllm", "--model", "--tensor-parallel-size", "--max-model-len"),
    "trtllm": ("tensorrtllm", "--model-path", "--tensor-parallel-size", "--max-num-tokens"),
}
VARIABLES = (
    "HF_HOME",
    "HF_HUB_OFFLINE",
    "NCCL_DEBUG",
    "NCCL_IB_HCA",
    "OMP_NUM_THREADS",
    "DYN_LOG",
    "OTEL_SERVICE_NAME",
    "TEAM",
    "COST_CENTER",
    "UCX_TLS",
    "PYTHONUNBUFFERED",
)
MACHINES = ("p5.48xlarge", "a3-highgpu-8g", "Standard_ND96isr_H100_v5")


def graph(number: int) -> dict[str, Any]:
    """The graph of a number, without a namespace."""
    random = Random(number)  # noqa: S311 # the same graphs at each run, guarding nothing
    team, word = random.choice(TEAMS), random.choice(WORDS)
    engine = random.choice(list(ENGINES))
    image = _image(random, team, engine)
    front = {
        "name": "main",
        "image": image,
        "env": [{"name": "DYN_ROUTER_MODE", "value": random.choice(["kv", "round-robin"])}],
    }
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {
            "name": f"{team}-{word}-{number:05d}",
            "labels": {"team": team, "cost-center": str(random.randrange(1000, 9999))},
            "annotations": {"example.com/owner": f"{word}.{random.choice(WORDS)}@example.com"},
        },
        "spec": {
            "components": [
                {
                    "name": "Frontend",
                    "type": "frontend",
                    "replicas": random.randrange(1, 4),
                    "podTemplate": {"spec": {"containers": [front]}},
                },
                {
                    "name": random.choice(["Worker", "Decode", "Engine"]),
                    "type": "worker",
                    "replicas": random.randrange(1, 16),
                    "podTemplate": {"spec": _worker(random, team, engine, image)},
                },
            ]
        },
    }


def _image(random: Random, team: str, engine: str) -> str:
    registry = random.choice(
        ["nvcr.io/nvidia/ai-dynamo", f"registry.{team}.example.com/{random.choice(WORDS)}", "ghcr.io/example/mirror"]
    )
    digest = f"@sha256:{random.randbytes(32).hex()}" if random.random() < 0.3 else ""
    return f"{registry}/{ENGINES[engine][0]}-runtime:{random.choice(RELEASES)}{digest}"


def _worker(random: Random, team: str, engine: str, image: str) -> dict[str, Any]:
    _, model, parallelism, number = ENGINES[engine]
    gpus = random.choice(["1", "2", "4", "8"])
    main: dict[str, Any] = {
        "name": "main",
        "image": image,
        "command": ["python3", "-m", f"dynamo.{engine}"],
        "args": [model, random.choice(MODELS), parallelism, gpus, number, str(random.randrange(64, 65536, 64))],
        "env": [
            {"name": name, "value": _value(random, team)} for name in random.sample(VARIABLES, random.randrange(7))
        ],
        "envFrom": [{"secretRef": {"name": f"{team}-hf-token"}}],
        "resources": {
            "limits": {"nvidia.com/gpu": gpus},
            "requests": {
                "nvidia.com/gpu": gpus,
                "cpu": str(random.randrange(4, 64)),
                "memory": f"{random.randrange(16, 512)}Gi",
            },
        },
    }
    spec: dict[str, Any] = {"containers": [main]}
    if random.random() < 0.5:
        spec["nodeSelector"] = {"node.kubernetes.io/instance-type": random.choice(MACHINES)}
    if random.random() < 0.4:
        spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    if random.random() < 0.3:
        claim = f"{team}-{random.choice(WORDS)}-models"
        spec["volumes"] = [{"name": "models", "persistentVolumeClaim": {"claimName": claim}}]
        main["volumeMounts"] = [{"name": "models", "mountPath": f"/models/{team}"}]
    return spec


def _value(random: Random, team: str) -> str:
    return random.choice(
        [
            f"/models/{team}/{random.choice(WORDS)}",
            str(random.randrange(64)),
            f"{team}-{random.randrange(9999)}",
            "info",
        ]
    )
