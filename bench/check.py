"""What `stator check` costs: one file as a whole process, a tree in one; and what memory a bigger tree takes.

Processor time (user and system), which other jobs on the machine disturb less than the time on the wall; of many runs
the least, and the median beside it.
"""

from __future__ import annotations

import copy
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

EXAMPLES = Path(__file__).parent.parent / "examples"
STATOR = Path(sys.executable).with_name("stator")
ROUNDS = 21
GRAPHS = 1000
SIZES = (250, 1000, 4000)


def milliseconds(command: list[str]) -> tuple[float, float]:
    """Least and median processor time of ROUNDS runs; the first one, which may compile bytecode, does not count."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(ROUNDS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)
    return min(times[1:]), statistics.median(times[1:])


def tree(directory: Path, number: int) -> None:
    """Files of one graph each, which differ in name."""
    names = ("chat.yaml", "embedding.yaml", "chat-v1alpha1.yaml")
    texts = [
        next(document for document in yaml.safe_load_all((EXAMPLES / name).read_text()) if "Dynamo" in document["kind"])
        for name in names
    ]
    for index in range(number):
        document = copy.deepcopy(texts[index % len(texts)])
        document["metadata"]["name"] = f"g{index:05}"
        (directory / f"{index:05}.yaml").write_text(yaml.safe_dump(document))


def whole(directory: str) -> None:
    """What the subprocess does: check a tree, print seconds without imports, and the peak memory in MiB."""
    from stator.check import CheckOptions, check, read  # noqa: PLC0415 - the subprocess alone needs them

    start = time.process_time()
    report = check(read([directory]), CheckOptions())
    seconds = time.process_time() - start
    print(report.graphs, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Print each number beside its yardstick and target."""
    empty, _ = milliseconds([sys.executable, "-c", "pass"])
    for name, command, target in (
        ("--help", [str(STATOR), "--help"], 80),
        ("check FILE", [str(STATOR), "check", str(EXAMPLES / "embedding.yaml")], 150),
    ):
        own, median = milliseconds(command)
        ratio = f"python -c pass {empty:.0f} ms, ratio {own / empty:.1f}"
        print(f"stator {name}: {own:.0f} ms, median {median:.0f} ms, {ratio} (< {target} ms)")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as directory:
            tree(Path(directory), size)
            command = [sys.executable, __file__, directory]
            graphs, seconds, memory = map(float, subprocess.check_output(command, text=True).split())
        print(f"{graphs:.0f} graphs: {graphs / seconds:.0f} graphs/s (>= 500), peak {memory:.0f} MiB")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        whole(sys.argv[1])
    else:
        main()
