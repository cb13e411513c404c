"""A graph that is bound to the process which started it ends with it, however that ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import msgspec
from running import Graphs, wait_until

from stator.local import lifecycle, processes

# Starts the planned graph bound to itself, says so, and waits to be killed.
STARTER = """
import sys, time
import msgspec
from stator.local.lifecycle import start
from stator.local.plan import LocalPlan
start(msgspec.json.decode(open(sys.argv[1], "rb").read(), type=LocalPlan), bound=True)
print("started", flush=True)
time.sleep(600)
"""


def test_a_bound_graph_ends_when_its_owner_is_killed(graphs: Graphs, tmp_path: Path) -> None:
    """Kill -9 of the owner: the supervisor stops the graph in order, and no process and no record is left."""
    plan = graphs.plan(graphs.pod(graphs.container()))
    file = tmp_path / "plan.json"
    file.write_bytes(msgspec.json.encode(plan))
    owner = subprocess.Popen([sys.executable, "-c", STARTER, str(file)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    assert owner.stdout.readline() == "started\n"
    graph = graphs.state.graph(plan.namespace, plan.name)
    graphs.started.append(graph)
    graphs.wait_ready(graph)
    record = graph.read_supervisor()
    assert record
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    wait_until(lambda: not processes.is_alive(record.process))
    assert processes.members(record.marker) == ()
    assert not lifecycle.is_running(graph)
    status = graph.read_status()
    assert status
    assert (status.phase, status.message) == ("Stopped", "")


def test_an_unbound_graph_outlives_its_starter(graphs: Graphs) -> None:
    """What `stator up --detach` promises."""
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container())))
    graphs.wait_ready(graph)
    assert lifecycle.is_running(graph)
