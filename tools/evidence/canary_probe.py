#!/usr/bin/env python3
"""Start one real SGLang worker on the CPU with active checks on, and watch whether it becomes Ready.

    tools/evidence/canary_probe.py --python ENV/bin/python --model DIR [--env NAME=VALUE ...] -- --embedding-worker
    tools/evidence/canary_probe.py --python ENV/bin/python --model DIR -- --load-format dummy --use-sglang-tokenizer

ENV holds ai-dynamo and sglang of one release, such as the environments `stator up` makes: those also hold the stand-in
(stator.local.runtimes.rotary_embedding) that a chat model needs on the CPU. Checks run after one idle second. Prints
one JSON object: the status codes of the system port's /health as [seconds, code] whenever they change, the last one,
and the first health check error in the log. Uses loopback and file discovery only, and ends the worker it started.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ENGINE = [
    "--device",
    "cpu",
    "--attention-backend",
    "torch_native",
    "--max-total-tokens",
    "4096",
    "--max-running-requests",
    "8",
    "--disable-radix-cache",
    "--sleep-on-idle",
    "--served-model-name",
    "probe",
]
LOOPBACK = {
    "DYN_DISCOVERY_BACKEND": "file",
    "DYN_REQUEST_PLANE": "tcp",
    "DYN_EVENT_PLANE": "zmq",
    "DYN_TCP_RPC_HOST": "127.0.0.1",
    "DYN_TCP_RESPONSE_STREAM_HOST": "lo",
    "DYN_EVENT_PLANE_HOST": "127.0.0.1",
    "DYN_SYSTEM_HOST": "127.0.0.1",
    "DYN_HEALTH_CHECK_ENABLED": "true",
    "DYN_CANARY_WAIT_TIME": "1",
    "HF_HUB_OFFLINE": "1",
}
# The port is read as a signed 16-bit number.
PORTS = range(20000, 32000)
ERRORS = ("Health check error response from", "Health check timeout for")


def free_port() -> int:
    """A port of the allowed range that nobody listens on."""
    for port in PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise SystemExit("no free port")


def health(port: int) -> tuple[int, str]:
    """Status and body of the system port's /health; 0 while nothing listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def watch(worker: subprocess.Popen[bytes], port: int, seconds: float, after: float) -> list[tuple[float, int]]:
    """The changes of the status, until `after` seconds have passed since the endpoint was registered."""
    start = time.monotonic()
    until, changes = start + seconds, [(0.0, 0)]
    registered = False
    while time.monotonic() < until and worker.poll() is None:
        code, body = health(port)
        if code != changes[-1][1]:
            changes.append((round(time.monotonic() - start, 1), code))
        if not registered and '"generate"' in body:
            registered, until = True, time.monotonic() + after
        time.sleep(0.2)
    return changes


def stop(worker: subprocess.Popen[bytes]) -> None:
    """End the worker's own process group: the engine's processes belong to it."""
    worker.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        worker.wait(20)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def probe(given: argparse.Namespace, words: list[str]) -> dict[str, Any]:
    """Run the worker in a folder of its own and collect what was seen."""
    with tempfile.TemporaryDirectory(prefix="canary-") as folder:
        port, log = free_port(), Path(folder) / "log"
        env = {name: value for name, value in os.environ.items() if not name.startswith("DYN_")} | LOOPBACK
        env |= {"DYN_FILE_KV": f"{folder}/kv", "DYN_SYSTEM_PORT": str(port)} | dict(e.split("=", 1) for e in given.env)
        command = [given.python, "-m", "dynamo.sglang", "--model-path", given.model, *ENGINE, *words]
        with log.open("wb") as output:
            worker = subprocess.Popen(command, env=env, stdout=output, stderr=output, start_new_session=True)
            try:
                changes = watch(worker, port, given.seconds, given.after)
            finally:
                stop(worker)
        errors = [line for line in log.read_text(errors="replace").splitlines() if any(word in line for word in ERRORS)]
    return {"args": words, "env": given.env, "health": changes, "last": changes[-1][1], "errors": errors[:1]}


def main() -> None:
    """Read the arguments up to `--`, the rest is the worker's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--model", required=True, help="a local model; for chat a tiny one with --load-format dummy")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seconds", type=float, default=240, help="how long to wait for the worker to register")
    parser.add_argument("--after", type=float, default=8, help="how long to watch once it has")
    parser.add_argument("words", nargs="*", help="the worker's own arguments, after --")
    given = parser.parse_args()
    print(json.dumps(probe(given, given.words), indent=1))


if __name__ == "__main__":
    main()
