"""An init container that holds a worker back until its leader listens.

Without it a worker's engine gives up while the leader still loads, and one restart starts the whole group again
(LeaderWorkerSet's default restart policy).
"""

from __future__ import annotations

from stator.render import names
from stator.render.changes import Changes
from stator.render.context import Context

_VOLUME = "wait-leader-script"
_DIRECTORY = "/scripts"
_KEY = "wait-for-leader.py"
_SCRIPT = '''\
"""Wait until HOST PORT accepts a connection."""
import socket
import sys
import time

host, port = sys.argv[1], int(sys.argv[2])
while True:
    try:
        socket.create_connection((host, port), timeout=5).close()
        break
    except OSError as error:
        print(f"waiting for {host}:{port}: {error}", flush=True)
        time.sleep(2)
'''


def wait_for_leader(context: Context, executor: str, port: int) -> Changes:
    """The init container, its script's volume, and the ConfigMap all workers of the graph share."""
    name = f"{names.parent_name(context.graph)}-wait-leader-script"
    return Changes(
        init_containers=(
            {
                "name": f"wait-for-leader-{executor}",
                "image": context.component.main.get("image"),
                "command": ["python3", f"{_DIRECTORY}/{_KEY}"],
                "args": [context.role.leader, str(port)],
                "volumeMounts": [{"name": _VOLUME, "mountPath": _DIRECTORY, "readOnly": True}],
            },
        ),
        volumes=({"name": _VOLUME, "configMap": {"name": name}},),
        config_maps=(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": name,
                    "namespace": context.graph.namespace,
                    "labels": {names.GRAPH_NAME: context.parent},
                },
                "data": {_KEY: _SCRIPT},
            },
        ),
    )
