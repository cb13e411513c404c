"""What a cell of `stator matrix` costs beside the same processes and the same requests by hand; and a whole matrix.

By hand: frontend and worker of 1.6.1 are started with the environment written out, asked what the matrix asks, ended.
A cell does the same, and besides renders and plans a graph, supervises it, measures it and sees that nothing is left.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from up import EXAMPLES, STATOR, environment, free_port, healthy, worker_command, worker_environment

from stator.local.runtimes import default_cache
from stator.matrix.checks import Promise, run_suite
from stator.matrix.checks.service import MODELS, served_models
from stator.matrix.exchange import Request, send

CHAT = str(EXAMPLES / "chat.yaml")
ROUNDS = 7


def by_hand() -> float:
    """Seconds from the first process until both have ended."""
    python = str(next(default_cache().glob("base-1.6.1-*/bin/python")))
    http, system = free_port(), free_port()
    address = f"127.0.0.1:{http}"
    with tempfile.TemporaryDirectory() as store:
        env, worker_env = environment(store), worker_environment(store, system)
        frontend = [python, "-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(http)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        start = time.perf_counter()
        with (
            subprocess.Popen(frontend, env=env, **quiet) as one,
            subprocess.Popen([python, *worker_command("chat")], env=worker_env, **quiet) as two,
        ):
            while not (healthy(system) and "tiny" in served_models(send(address, Request(MODELS)))):
                time.sleep(0.02)
            checks = run_suite("chat", "tiny", lambda request: send(address, request), Promise())
            if not all(check.passed for check in checks):
                sys.exit(f"by hand a check failed: {checks}")
            for process in (one, two):
                process.send_signal(signal.SIGTERM)
        return time.perf_counter() - start


def matrix(*options: str) -> tuple[float, dict[str, dict[str, float]]]:
    """Seconds of the whole command, and the results by cell."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "results.json"
        env = {**os.environ, "STATOR_STATE_DIR": directory}
        command = [*STATOR, "matrix", CHAT, *options, "--results", str(file)]
        start = time.perf_counter()
        subprocess.run(command, env=env, check=False, capture_output=True)
        return time.perf_counter() - start, json.loads(file.read_text())["results"]


def main() -> None:
    """Alternate the two, so that a busy moment hits both, and print medians and the ratio."""
    matrix("--window", "0")  # makes environments and the model
    pairs = []
    for _ in range(ROUNDS):
        hand = by_hand()
        (cell,) = matrix("--window", "0")[1].values()
        pairs.append((hand, cell["seconds"]))
    hand, own = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"one chat cell {own:.2f} s, by hand {hand:.2f} s, ratio {own / hand:.2f} (target <= 1.2)")
    seconds, results = matrix("--all-pairs")
    print(f"the chat matrix of three minor lines, {len(results)} cells: {seconds:.0f} s (target < 900 s)")


if __name__ == "__main__":
    sys.exit(main())
