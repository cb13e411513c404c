"""How long `stator up` takes until requests are answered, beside the same processes started by hand.

Two graphs: the chat example, whose processes start within a second, so that the fixed cost of the command shows; and,
with `--embedding`, the embedding example, whose engine takes as long as real engines do.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import yaml

from stator.local.runtimes import default_cache

EXAMPLES = Path(__file__).parent.parent / "examples"
STATOR = [sys.executable, "-m", "stator"]
MODELS = EXAMPLES / ".stator" / "models"
REQUESTS = {
    "chat": (
        "/v1/chat/completions",
        {"model": "tiny", "messages": [{"role": "user", "content": "a"}], "max_tokens": 1},
    ),
    "embedding": ("/v1/embeddings", {"model": "minilm", "input": "Hello"}),
}


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1]) % 12000 + 20000


def answered(port: int, graph: str) -> bool:
    """Whether one request succeeds."""
    path, body = REQUESTS[graph]
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310 - loopback
            return bool(json.load(response))
    except (urllib.error.URLError, OSError):
        return False


def healthy(port: int) -> bool:
    """Whether the worker says that it is Ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10):
            return True
    except (urllib.error.URLError, OSError):
        return False


def worker_command(graph: str) -> list[str]:
    """The worker's command of the example, with the model's local path."""
    (document,) = yaml.safe_load_all((EXAMPLES / f"{graph}.yaml").read_text())
    container = document["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]
    return [word.replace("/models", str(MODELS)) for word in (*container["command"], *container["args"])][1:]


def environment(store: str) -> dict[str, str]:
    """What runtimes must be told to find each other on this machine, written by hand; `store` is their discovery."""
    return {
        **os.environ,
        "DYN_DISCOVERY_BACKEND": "file",
        "DYN_FILE_KV": store,
        "DYN_REQUEST_PLANE": "tcp",
        "DYN_EVENT_PLANE": "zmq",
        "HF_HUB_OFFLINE": "1",
        "DYN_TCP_RPC_HOST": "127.0.0.1",
        "DYN_TCP_RESPONSE_STREAM_HOST": "lo",
    }


def worker_environment(store: str, system: int) -> dict[str, str]:
    """The same for a worker, with active health checks, and its state on the port `system`."""
    return {
        **environment(store),
        "DYN_SYSTEM_PORT": str(system),
        "DYN_HEALTH_CHECK_ENABLED": "true",
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
    }


def by_hand(graph: str) -> float:
    """Seconds from the first process until the worker is Ready and answers, with the environment written by hand.

    Active health checks are on as an operator renders them, so an engine's worker waits for its first one here too.
    """
    profile = "sglang-cpu" if graph == "embedding" else "base"
    frontend_python = next(default_cache().glob("base-1.6.1-*/bin/python"))
    worker_python = next(default_cache().glob(f"{profile}-1.5.1-*/bin/python"))
    http, system = free_port(), free_port()
    with tempfile.TemporaryDirectory() as store:
        env = environment(store)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        frontend = ["-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(http)]
        payload = {"DYN_HEALTH_CHECK_PAYLOAD": '{"model":"x","input":"Test"}'} if graph == "embedding" else {}
        worker_env = worker_environment(store, system) | payload
        start = time.perf_counter()
        with (
            subprocess.Popen([frontend_python, *frontend], env=env, **quiet) as one,
            subprocess.Popen([worker_python, *worker_command(graph)], env=worker_env, **quiet) as two,
        ):
            while not (healthy(system) and answered(http, graph)):
                time.sleep(0.02)
            seconds = time.perf_counter() - start
            two.terminate()
            one.terminate()
    return seconds


def with_stator(graph: str) -> float:
    """Seconds from the command line until it says that the graph is Ready and requests reach a model."""
    with tempfile.TemporaryDirectory() as state:
        env = {**os.environ, "STATOR_STATE_DIR": state}
        start = time.perf_counter()
        command = [*STATOR, "up", str(EXAMPLES / f"{graph}.yaml"), "--detach"]
        subprocess.run(command, env=env, check=True, capture_output=True)
        seconds = time.perf_counter() - start
        subprocess.run([*STATOR, "down"], env=env, check=True, capture_output=True)
    return seconds


def main() -> None:
    """Alternate the two, so that a busy moment hits both, and print medians and the ratio."""
    for graph, rounds in (("chat", 5), *((("embedding", 3),) if "--embedding" in sys.argv else ())):
        with_stator(graph)  # makes environments and the model
        pairs = [(by_hand(graph), with_stator(graph)) for _ in range(rounds)]
        hand, own = (statistics.median(times) for times in zip(*pairs, strict=True))
        print(
            f"{graph}: stator up until Ready {own:.2f} s, by hand {hand:.2f} s, ratio {own / hand:.2f} (target <= 1.1)"
        )


if __name__ == "__main__":
    main()
