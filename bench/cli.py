"""How long `stator --help` takes as a whole process, beside an empty Python process."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 31
STATOR = Path(sys.executable).with_name("stator")


def milliseconds(command: list[str]) -> list[float]:
    """Wall time of each of ROUNDS runs."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - start) * 1000)
    return times


def main() -> None:
    """Print medians and the ratio."""
    empty = statistics.median(milliseconds([sys.executable, "-c", "pass"]))
    for name in ("--help", "--version"):
        own = statistics.median(milliseconds([str(STATOR), name]))
        print(f"stator {name}: {own:.1f} ms, python -c pass: {empty:.1f} ms, ratio {own / empty:.1f} (target < 80 ms)")


if __name__ == "__main__":
    main()
