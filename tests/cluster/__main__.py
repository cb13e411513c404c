"""`./dev cluster`: the API server of the tests with simulated nodes, for a person to look at, until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from pathlib import Path

from apiserver import Server, attach, find_assets
from kubelet import Kubelet

from stator.kube.connection import connect


async def _until_ended(server: Server) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with connect(server.kubeconfig) as client, Kubelet(client):
        sys.stdout.write(f"export KUBECONFIG={server.kubeconfig}\nexport PATH={Path(server.kubectl).parent}:$PATH\n")
        sys.stdout.flush()
        await ended.wait()


def main() -> int:
    """Run until a signal; the cluster and all that is in it are gone afterwards."""
    assets = find_assets()
    if assets is None:
        sys.stderr.write("no API server: hack/kubernetes/build failed\n")
        return 1
    with tempfile.TemporaryDirectory(prefix="stator-cluster-") as directory, attach(Path(directory), assets) as server:
        asyncio.run(_until_ended(server))
    return 0


if __name__ == "__main__":
    sys.exit(main())
