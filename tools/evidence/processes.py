"""What single releases do when they run: one line of JSON per claim and pair of releases.

    python tools/evidence/processes.py ENVIRONMENTS MODEL [CLAIM...]

ENVIRONMENTS is a folder of virtual environments named by release (`1.5.0/bin/python` has `ai-dynamo` installed);
MODEL is a local model folder with a tokenizer. Frontends and mockers run on loopback with file discovery, one pair at
a time, and are stopped by their process id. What is printed is what was seen; it is compared with nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import unquote

STARTED = 12.0  # seconds until a mocker of any release has registered, or will not
QUIET = 4.0  # seconds after registration in which a canary with a wait time of 1 s has answered
BASE = {
    "DYN_DISCOVERY_BACKEND": "file",
    "DYN_REQUEST_PLANE": "tcp",
    "DYN_EVENT_PLANE": "zmq",
    "DYN_TCP_RPC_HOST": "127.0.0.1",
    "DYN_TCP_RESPONSE_STREAM_HOST": "lo",
    "DYN_EVENT_PLANE_HOST": "127.0.0.1",
    "DYN_SYSTEM_HOST": "127.0.0.1",
    "HF_HUB_OFFLINE": "1",
}


def free_port(above: int = 21000) -> int:
    """A free port below the i16 limit that DYN_SYSTEM_PORT has."""
    for port in range(above + 1, 30000):
        with contextlib.closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise LookupError("no free port")


class Place:
    """One isolated graph: its discovery folder, its logs, its processes."""

    def __init__(self, environments: Path, folder: Path) -> None:
        self.environments, self.folder = environments, folder
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, release: str, *arguments: str, **environment: str | None) -> subprocess.Popen[bytes]:
        """Start `python -m` of a release; a variable set to None is left out."""
        merged = {"PATH": os.defpath, "HOME": str(self.folder), "DYN_FILE_KV": str(self.folder / "kv"), **BASE}
        merged |= {name: value for name, value in environment.items() if value is not None}
        for name in [name for name, value in environment.items() if value is None]:
            merged.pop(name, None)
        log = (self.folder / f"{len(self.processes)}.log").open("wb")
        command = [str(self.environments / release / "bin" / "python"), "-m", *arguments]
        process = subprocess.Popen(command, env=merged, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.processes.append(process)
        return process

    def log(self, number: int, *wanted: str) -> str:
        """The first log line of a process that has one of the words, shortened."""
        text = (self.folder / f"{number}.log").read_text(errors="replace")
        return next((line[-220:] for line in text.splitlines() if any(word in line for word in wanted)), "")

    def stop(self) -> None:
        """Terminate what was started here, and kill what does not go."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def place(environments: Path) -> Iterator[Place]:
    """A graph that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        graph = Place(environments, Path(folder))
        try:
            yield graph
        finally:
            graph.stop()


def ask(port: int, path: str, body: object = None) -> tuple[int, str]:
    """Status and text of one HTTP request; status 0 if nothing answers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - loopback
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")
    except OSError as error:
        return 0, str(error)


def until(process: subprocess.Popen[bytes], port: int, path: str, text: str, limit: float = STARTED) -> bool:
    """Whether `text` appears at `path` before the process ends or the time is over."""
    end = time.monotonic() + limit
    while time.monotonic() < end and process.poll() is None:
        if text in ask(port, path)[1]:
            return True
        time.sleep(0.2)
    return False


def mocker(model: str, *more: str) -> tuple[str, ...]:
    """A mocker's command line. The model goes by its path: before 1.4 a frontend looks other names up elsewhere."""
    return ("dynamo.mocker", "--model-path", model, "--model-name", model, "--speedup-ratio", "0", *more)


def pair(environments: Path, model: str, frontend: str, worker: str, **environment: str | None) -> object:
    """One chat through a frontend of one release and a mocker of another."""
    with place(environments) as graph:
        port = free_port()
        front = graph.start(
            frontend, "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(port), **environment
        )
        graph.start(worker, *mocker(model), DYN_SYSTEM_PORT=str(free_port(port)))
        listed = until(front, port, "/v1/models", model)
        body = {"model": model, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
        status, text = ask(port, "/v1/chat/completions", body) if listed else (0, "")
        return {"listed": listed, "status": status, "text": "" if status == 200 else text[:160]}


def foreign(environments: Path, model: str, release: str, **environment: str | None) -> object:
    """Whether a frontend that looks for namespaces `ns` by prefix takes in a worker of namespace `nsx`."""
    with place(environments) as graph:
        port = free_port()
        options = ("--http-host", "127.0.0.1", "--http-port", str(port), "--namespace-prefix", "ns")
        front = graph.start(release, "dynamo.frontend", *options, **environment)
        graph.start(release, *mocker(model), DYN_SYSTEM_PORT=str(free_port(port)), DYN_NAMESPACE="nsx")
        return {"listed": until(front, port, "/v1/models", model, 8)}


def channels(environments: Path, model: str, release: str, **environment: str | None) -> object:
    """The keys under which a mocker announces its ZMQ event channels, instance numbers cut off; none with NATS."""
    with place(environments) as graph:
        process = graph.start(release, *mocker(model), **environment)
        folder = graph.folder / "kv" / "v1" / "event_channels"
        deadline = time.monotonic() + QUIET
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.1)
        return sorted({unquote(file.name).rpartition("/")[0] for file in folder.rglob("*") if file.is_file()})


def alone(environments: Path, model: str, release: str, **environment: str | None) -> object:
    """A mocker by itself: its exit code if it ends, else its health some seconds after it registered."""
    with place(environments) as graph:
        port = free_port()
        given = {"DYN_SYSTEM_PORT": str(port), "DYN_CANARY_WAIT_TIME": "1", **environment}
        process = graph.start(release, *mocker(model), **given)
        until(process, port, "/metrics", "dynamo_component_uptime_seconds", 6)
        deadline = time.monotonic() + QUIET
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.1)
        if process.poll() is not None:
            return {"exit": process.poll(), "log": graph.log(0, "invalid", "Invalid", "rror", "unsupported")}
        return {"exit": None, "health": ask(port, "/health")[0] if given["DYN_SYSTEM_PORT"] else None}


# claim -> the variables of the mocker, tried on every release
ALONE: dict[str, dict[str, str | None]] = {
    "R04 canary on, no payload": {"DYN_HEALTH_CHECK_ENABLED": "true"},
    "R04 canary off, no payload": {"DYN_HEALTH_CHECK_ENABLED": "false"},
    "R19 DYN_REQUEST_PLANE=http": {"DYN_REQUEST_PLANE": "http"},
    "R19 DYN_REQUEST_PLANE=typo": {"DYN_REQUEST_PLANE": "typo"},
    "R19 DYN_REQUEST_PLANE empty": {"DYN_REQUEST_PLANE": ""},
    "R19 DYN_EVENT_PLANE=typo": {"DYN_EVENT_PLANE": "typo"},
    "R19 DYN_EVENT_PLANE empty": {"DYN_EVENT_PLANE": ""},
    "R27 no system port": {"DYN_SYSTEM_PORT": None},
    "R27 no system port, self-hosting on": {"DYN_SYSTEM_PORT": None, "DYN_SELF_HOST_METADATA": "1"},
    "FACT DYN_HEALTH_CHECK_ENABLED=1": {"DYN_HEALTH_CHECK_ENABLED": "1"},
    "FACT DYN_HEALTH_CHECK_ENABLED=True": {"DYN_HEALTH_CHECK_ENABLED": "True"},
    "FACT DYN_HEALTH_CHECK_ENABLED=' true '": {"DYN_HEALTH_CHECK_ENABLED": " true "},
    "FACT DYN_HEALTH_CHECK_ENABLED empty": {"DYN_HEALTH_CHECK_ENABLED": ""},
    "FACT DYN_CANARY_WAIT_TIME=0.5": {"DYN_CANARY_WAIT_TIME": "0.5"},
    "FACT DYN_CANARY_WAIT_TIME=1s": {"DYN_CANARY_WAIT_TIME": "1s"},
    "FACT DYN_CANARY_WAIT_TIME empty": {"DYN_CANARY_WAIT_TIME": ""},
    "FACT DYN_SYSTEM_PORT=32768": {"DYN_SYSTEM_PORT": "32768"},
}
ALONE_RELEASES = ("1.2.1", "1.3.1", "1.4.2", "1.5.1", "1.6.1")
CODEC_PAIRS = (("1.4.0", "1.2.1"), ("1.4.2", "1.2.1"), ("1.5.1", "1.2.1"), ("1.6.1", "1.2.1"), ("1.4.0", "1.3.1"))


def claims(folder: Path, model: str) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Every claim with the release or pair it is about, and the run that answers it."""
    for claim, environment in ALONE.items():
        for release in ALONE_RELEASES:
            yield claim, release, partial(alone, folder, model, release, **environment)
    for strict in (None, "true"):
        for release in ALONE_RELEASES:
            run = partial(foreign, folder, model, release, DYN_NAMESPACE_PREFIX_STRICT=strict)
            yield f"R30 namespace prefix, DYN_NAMESPACE_PREFIX_STRICT={strict}", release, run
    for release in ("1.2.1", "1.3.1", "1.4.0", "1.4.2", "1.5.1", "1.6.1"):
        yield "R15 event channels", release, partial(channels, folder, model, release)
        unset = partial(channels, folder, model, release, DYN_EVENT_PLANE=None)
        yield "R16 event channels, DYN_EVENT_PLANE unset", release, unset
    for codec in (None, "json", "msgpack"):
        for frontend, worker in CODEC_PAIRS:
            run = partial(pair, folder, model, frontend, worker, DYN_REQUEST_PLANE_CODEC=codec)
            yield f"R14 frontend/worker, DYN_REQUEST_PLANE_CODEC={codec}", f"{frontend}/{worker}", run


def main() -> None:
    """Run the claims whose names contain one of the words given, or all."""
    environments, model, *words = sys.argv[1:]
    for claim, release, run in claims(Path(environments), model):
        if not words or any(word in claim for word in words):
            print(json.dumps({"claim": claim, "release": release, "seen": run()}), flush=True)


if __name__ == "__main__":
    main()
