"""What a day of graphs that come and go costs in memory, on a real API server and a clock that runs fast.

    python bench/churn.py

The operator is a process of its own, with the timers of 24 hours. Every four of them, when no graph is left, it says
what it holds. `tests/cluster/test_operator_memory.py` asserts the same without looking at resident memory, which the
allocator has a say in.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "cluster"))

from apiserver import Server, attach, find_assets
from churn import DAY, GRAPHS, empty, hastened, live, rested
from kubelet import Kubelet
from operating import Kubectl, View, install

from stator.kube.connection import connect

NAMESPACE = "churn"
LOOKS = 6


async def measure(server: Server) -> None:
    """Live through the day, and print a line at each look."""
    async with (
        connect(server.kubeconfig) as client,
        View(client, NAMESPACE).follow() as view,
        Kubelet(client, NAMESPACE),
        hastened(server.kubeconfig, NAMESPACE) as operator,
    ):
        kubectl, rounds = Kubectl(server, NAMESPACE), 0
        for look in range(1, LOOKS + 1):
            while (now := await operator.held())["age"] < look * DAY / LOOKS or rounds < 2 * look:
                await live(view, kubectl, rounds)
                rounds += 1
            await empty(view)
            now = await rested(operator)
            fields = {
                "hours": round(now["age"] / 3600),
                "graphs so far": rounds * (GRAPHS + 1),
                "RSS MiB": round(now["rss"] / 2**20, 1),
                "traced MiB": round(now["bytes"] / 2**20, 2),
                "objects": now["objects"],
            }
            print(json.dumps(fields), flush=True)


def main() -> None:
    """A server of its own, and the day."""
    assets = find_assets()
    if assets is None:
        sys.exit("no API server: hack/kubernetes/build failed")
    with tempfile.TemporaryDirectory(prefix="stator-churn-") as directory, attach(Path(directory), assets) as server:
        install(server)
        server.run_kubectl("create", "namespace", NAMESPACE)
        asyncio.run(measure(server))


if __name__ == "__main__":
    main()
