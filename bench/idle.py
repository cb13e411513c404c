"""What the supervisor of a Ready graph costs while nothing happens: memory and processor time."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"
SECONDS = 30
STATOR = [sys.executable, "-m", "stator"]


def processor_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start the chat example, leave it alone, and print the cost."""
    with tempfile.TemporaryDirectory() as state:
        env = {**os.environ, "STATOR_STATE_DIR": state}
        command = [*STATOR, "up", str(EXAMPLES / "chat.yaml"), "--detach"]
        subprocess.run(command, env=env, check=True, capture_output=True)
        (record,) = Path(state, "graphs").glob("*/supervisor.json")
        pid = json.loads(record.read_text())["process"]["pid"]
        before, start = processor_seconds(pid), time.perf_counter()
        time.sleep(SECONDS)
        share = (processor_seconds(pid) - before) / (time.perf_counter() - start)
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        rss = next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
        subprocess.run([*STATOR, "down"], env=env, check=True, capture_output=True)
    print(f"supervisor, idle for {SECONDS} s: {rss:.0f} MiB (target <= 60), {share:.2%} of a core (target < 1 %)")


if __name__ == "__main__":
    main()
