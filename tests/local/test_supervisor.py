"""A supervised graph of real processes, from start to stop."""

from __future__ import annotations

import os
import signal
import sys
import urllib.request
from pathlib import Path

import msgspec
import pytest
from running import Graphs, wait_until

from stator.errors import StatorError
from stator.local import lifecycle, processes
from stator.local.plan import ExecCommand, FilePlan, HttpGet, Probe, SecretText
from stator.local.settings import Settings
from stator.local.state import GraphStatus

SECRET = "hf_0123456789abcdef"  # noqa: S105 - what must be found nowhere


def fetch(status: GraphStatus, path: str = "/") -> str:
    """What the graph's service answers."""
    service = status.frontend
    assert service
    with urllib.request.urlopen(f"http://{service.address}{path}", timeout=10) as response:
        return response.read().decode()


def test_a_pod_becomes_ready_when_its_readiness_probe_succeeds(graphs: Graphs) -> None:
    """Not before: the failing probe is the reason shown, with what the server said."""
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container("health-after=5"))))
    status = graphs.wait(graph, lambda status: status.pods[0].reason == "Probe" and "503" in status.pods[0].message)
    assert status.pods[0].message == (
        'Readiness probe failed: HTTP probe failed with statuscode: 503 ({"status": "notready", "endpoints": '
        '["generate"]})'
    )
    status = graphs.wait_ready(graph)
    assert [change.ready for change in status.pods[0].transitions][-1]
    assert status.pods[0].reason == ""
    assert fetch(status) == "hello"


def test_a_stopped_graph_leaves_nothing_but_logs(graphs: Graphs) -> None:
    """No process, no volume, no discovery files; the status says Stopped."""
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container("say=good morning"))))
    graphs.wait_ready(graph)
    record = graph.read_supervisor()
    assert record
    status = lifecycle.stop(graph)
    assert status
    assert status.phase == "Stopped"
    assert status.pods[0].reason == "Stopped"
    assert processes.members(record.marker) == ()
    assert not processes.is_alive(record.process)
    assert not lifecycle.is_running(graph)
    assert sorted(path.name for path in graph.path.iterdir()) == [
        "lock",
        "logs",
        "plan.json",
        "status.json",
        "supervisor.log",
    ]
    assert [line.text for line in lifecycle.follow_logs(graph)] == ["good morning"]


def test_a_failing_liveness_probe_restarts_the_container(graphs: Graphs) -> None:
    """The restart is counted, and the new process is probed from the beginning."""
    container = graphs.container("fail-live-after=3")
    (port,) = container.ports.values()
    liveness = Probe(handler=HttpGet(port=port, path="/live"), period=0.1, failure_threshold=2)
    startup = Probe(handler=HttpGet(port=port, path="/health"), period=0.1, failure_threshold=1000)
    planned = msgspec.structs.replace(container, startup=startup, liveness=liveness)
    graph = graphs.start(graphs.plan(graphs.pod(planned)))
    first = graphs.wait_ready(graph).pods[0].containers[0].process
    status = graphs.wait(graph, lambda status: status.pods[0].restarts and status.phase == "Ready")
    assert status.pods[0].containers[0].process != first
    assert status.pods[0].containers[0].exit_code == 0


def test_nothing_but_the_startup_probe_is_asked_before_it_succeeds(graphs: Graphs) -> None:
    """A liveness probe that would fail at once does not restart a container that is still starting."""
    container = graphs.container("health-after=8", "fail-live-after=1000")
    (port,) = container.ports.values()
    startup = Probe(handler=HttpGet(port=port, path="/health"), period=0.05, failure_threshold=1000)
    liveness = Probe(handler=HttpGet(port=port, path="/live"), period=0.05, failure_threshold=1)
    planned = msgspec.structs.replace(container, startup=startup, liveness=liveness)
    status = graphs.wait_ready(graphs.start(graphs.plan(graphs.pod(planned))))
    assert status.pods[0].restarts == 0


def test_a_crashing_container_backs_off(graphs: Graphs) -> None:
    """CrashLoopBackOff names the delay and how the last run ended."""
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container("exit=3"))))
    status = graphs.wait(graph, lambda status: status.pods[0].reason == "CrashLoopBackOff")
    assert status.phase == "Starting"
    assert status.pods[0].message == (
        "back-off 0.2s restarting failed container=main; the last run ended with exit code 3"
    )
    graphs.wait(graph, lambda status: "back-off 0.4s" in status.pods[0].message)


def test_a_container_that_ignores_sigterm_is_killed_after_its_grace(graphs: Graphs) -> None:
    """SIGTERM first, SIGKILL when terminationGracePeriodSeconds are over."""
    pod = graphs.pod(graphs.container("ignore-term"), grace=0.3)
    graph = graphs.start(graphs.plan(pod))
    graphs.wait_ready(graph)
    status = lifecycle.stop(graph)
    assert status
    assert status.pods[0].containers[0].exit_code == -signal.SIGKILL


def test_an_orderly_end_is_by_sigterm(graphs: Graphs) -> None:
    """A process that handles SIGTERM ends by itself, well within its grace."""
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container())))
    graphs.wait_ready(graph)
    status = lifecycle.stop(graph)
    assert status
    assert status.pods[0].containers[0].exit_code == 0


def test_children_in_other_sessions_end_with_the_graph(graphs: Graphs) -> None:
    """A process that made itself independent is still one of the graph's."""
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container("child"))))
    graphs.wait_ready(graph)
    record = graph.read_supervisor()
    assert record
    wait_until(lambda: len(processes.members(record.marker)) == 2)
    lifecycle.stop(graph)
    assert processes.members(record.marker) == ()


ESCAPE = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
sys.stdout.write(f"escaped {os.getpid()}\\n")
sys.stdout.flush()
os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(1000)"], {"PATH": "/usr/bin"})
"""


def test_a_process_that_hides_ends_with_the_graph(graphs: Graphs) -> None:
    """It left its session, gave up its parent and cleared its environment: it is its supervisor's all the same."""
    script = f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', {ESCAPE!r}]); time.sleep(1000)"
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container(argv=(sys.executable, "-c", script), readiness=None))))
    log = graph.logs / "web-0.main.log"
    wait_until(lambda: log.exists() and b"\n" in log.read_bytes())
    pid = int(log.read_text().split()[1])
    wait_until(lambda: b"STATOR_GRAPH" not in Path(f"/proc/{pid}/environ").read_bytes())
    assert processes.identify(pid)
    lifecycle.stop(graph)
    assert processes.identify(pid) is None


def test_orphans_of_a_killed_supervisor_are_ended_by_the_next_command(graphs: Graphs) -> None:
    """Also when they left their session; the status says what happened, and the secret files are gone."""
    secret = FilePlan(path="", content=SECRET.encode(), mode=0o600, secret=True)
    plan = graphs.plan(graphs.pod(graphs.container("child")))
    file = msgspec.structs.replace(secret, path=str(Path(plan.directory, "pods", "web-0", "volumes", "token")))
    plan = msgspec.structs.replace(plan, pods=(msgspec.structs.replace(plan.pods[0], files=(file,)),))
    graph = graphs.start(plan)
    graphs.wait_ready(graph)
    record = graph.read_supervisor()
    assert record
    assert Path(file.path).stat().st_mode & 0o777 == 0o600
    wait_until(lambda: len(processes.members(record.marker)) == 2)
    os.kill(record.process.pid, signal.SIGKILL)
    wait_until(lambda: not processes.is_alive(record.process))
    assert lifecycle.clean_up_dead(graphs.state) == ("test.graph",)
    assert processes.members(record.marker) == ()
    assert not Path(file.path).exists()
    (status,) = lifecycle.list_graphs(graphs.state)
    assert status.phase == "Stopped"
    assert status.message == "its supervisor was killed; 2 processes it left behind were ended"
    assert lifecycle.clean_up_dead(graphs.state) == ()


def test_a_watcher_sees_that_the_supervisor_died(graphs: Graphs) -> None:
    """Whoever waits for a graph is told, instead of waiting for ever."""
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container())))
    graphs.wait_ready(graph)
    record = graph.read_supervisor()
    assert record
    os.kill(record.process.pid, signal.SIGKILL)
    assert graphs.wait(graph, lambda status: status.phase == "Stopped")


def test_a_graph_that_runs_cannot_be_started_again(graphs: Graphs) -> None:
    """One clear error, and the running graph is left alone."""
    plan = graphs.plan(graphs.pod(graphs.container()))
    graph = graphs.start(plan)
    before = graphs.wait_ready(graph)
    with pytest.raises(StatorError, match=r"test\.graph is already running: process \d+ supervises it"):
        lifecycle.start(plan)
    assert graph.read_status() == before


def test_a_graph_can_be_started_again(graphs: Graphs) -> None:
    """The first status seen is of the new start, and the logs are its own."""
    plan = graphs.plan(graphs.pod(graphs.container("say=hello")))
    graph = graphs.start(plan)
    before = graphs.wait_ready(graph)
    lifecycle.stop(graph)
    lifecycle.start(plan)
    first = graph.read_status()
    assert first
    assert first.started_at > before.started_at
    assert first.phase != "Stopped"
    graphs.wait_ready(graph)
    assert [line.text for line in lifecycle.follow_logs(graph)] == ["hello"]


def test_a_crash_that_a_probe_caused_says_so(graphs: Graphs) -> None:
    """CrashLoopBackOff alone would hide why the container was restarted."""
    container = graphs.container("health-after=1000000")
    (port,) = container.ports.values()
    startup = Probe(handler=HttpGet(port=port, path="/health"), period=0.05, failure_threshold=40)
    graph = graphs.start(graphs.plan(graphs.pod(msgspec.structs.replace(container, startup=startup))))
    status = graphs.wait(graph, lambda status: status.pods[0].reason == "CrashLoopBackOff")
    assert "Startup probe failed: " in status.pods[0].message


def test_a_taken_service_port_stops_the_start_before_any_process(graphs: Graphs) -> None:
    """The error names the service and its address; nothing is left behind."""
    first = graphs.plan(graphs.pod(graphs.container()), name="first")
    graphs.wait_ready(graphs.start(first))
    second = graphs.plan(graphs.pod(graphs.container()), name="second")
    taken = msgspec.structs.replace(second.services[0], port=first.services[0].port)
    address = taken.address
    with pytest.raises(StatorError, match=f"service web cannot listen on {address}"):
        lifecycle.start(msgspec.structs.replace(second, services=(taken,)))
    graph = graphs.state.graph("test", "second")
    assert not lifecycle.is_running(graph)
    assert graph.read_status() is None
    assert not graph.pods.exists()


def test_two_graphs_run_side_by_side(graphs: Graphs) -> None:
    """Stopping one leaves the other as it was."""
    one = graphs.start(graphs.plan(graphs.pod(graphs.container("name=one")), name="one"))
    two = graphs.start(graphs.plan(graphs.pod(graphs.container("name=two")), name="two"))
    assert fetch(graphs.wait_ready(one)) == "one"
    status = graphs.wait_ready(two)
    assert [graph.name for graph in lifecycle.list_graphs(graphs.state)] == ["one", "two"]
    assert set(lifecycle.reserved_ports(graphs.state)) >= {service.port for service in two.read_plan().services}
    lifecycle.stop(one)
    assert fetch(status) == "two"
    assert lifecycle.is_running(two)


def test_a_service_sends_connections_to_its_ready_pods_in_turn(graphs: Graphs) -> None:
    """A pod that never becomes Ready gets none."""
    pods = [
        graphs.pod(graphs.container("name=0"), name="web-0"),
        graphs.pod(graphs.container("name=1"), name="web-1"),
        graphs.pod(graphs.container("name=2", "health-after=1000000"), name="web-2"),
    ]
    graph = graphs.start(graphs.plan(*pods))
    status = graphs.wait(graph, lambda status: status.services[0].ready == 2)
    assert sorted(fetch(status) for _ in range(6)) == ["0"] * 3 + ["1"] * 3
    assert len(fetch(status, "/big")) == 3_000_000
    assert status.services[0].total == 3


def test_a_service_without_a_ready_pod_closes_connections_at_once(graphs: Graphs) -> None:
    """A client gets an error, not a hang."""
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container("health-after=1000000"))))
    status = graphs.wait(graph, lambda status: status.pods[0].reason == "Probe")
    with pytest.raises(OSError, match=r"closed|reset"):
        fetch(status)


def test_a_rejected_canary_is_the_reason(graphs: Graphs) -> None:
    """The runtime's own line is shown without its decoration, and the rule that explains it is named."""
    line = (
        "2026-01-01T00:00:00Z \x1b[33mWARN\x1b[0m dynamo_runtime::health_check: Health check error response from "
        'generate: DynamoError { message: "2 validation errors for EmbeddingRequest\\nmodel" }'
    )
    pod = graphs.pod(graphs.container(f"say={line}", "health-after=1000000"), backend="sglang")
    graph = graphs.start(graphs.plan(pod))
    status = graphs.wait(graph, lambda status: status.pods[0].reason == "Canary")
    assert status.pods[0].rule == "DYN101"
    assert status.pods[0].message == (
        "the runtime's own health check fails: Health check error response from generate: DynamoError { message: "
        '"2 validation errors for EmbeddingRequest model" }'
    )


def test_init_containers_run_first_and_in_order(graphs: Graphs) -> None:
    """The pod's containers start after the last one has succeeded."""
    init = [
        graphs.container(name=name, argv=("/bin/sh", "-c", f"echo {name} >>order"), readiness=None)
        for name in ("one", "two")
    ]
    main = graphs.container(argv=("/bin/sh", "-c", "cat order; exec sleep 1000"), readiness=None)
    graph = graphs.start(graphs.plan(graphs.pod(main, init_containers=tuple(init))))
    graphs.wait_ready(graph)
    wait_until(lambda: len(list(lifecycle.follow_logs(graph))) == 2)
    assert [line.text for line in lifecycle.follow_logs(graph)] == ["one", "two"]


def test_a_failing_init_container_keeps_the_pod_from_starting(graphs: Graphs) -> None:
    """It is tried again with back-off, and named."""
    init = graphs.container(name="prepare", argv=("/bin/false",), readiness=None)
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container(), init_containers=(init,))))
    status = graphs.wait(graph, lambda status: status.pods[0].reason == "CrashLoopBackOff")
    assert "container=prepare" in status.pods[0].message


def test_a_missing_interpreter_is_named(graphs: Graphs) -> None:
    """RuntimeMissing with the program that is not there."""
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container(argv=("/nowhere/python",)))))
    status = graphs.wait(graph, lambda status: status.pods[0].reason == "RuntimeMissing")
    assert status.pods[0].message == 'exec: "/nowhere/python": no such file or directory'


def test_exec_probes_see_the_container_environment(graphs: Graphs) -> None:
    """An exec probe runs where the container does, and its exit code decides."""
    probe = Probe(handler=ExecCommand(argv=("/bin/sh", "-c", 'test "$PROBED" = yes')), period=0.1)
    ready = graphs.container(env={"PATH": "/usr/bin:/bin", "PROBED": "yes"}, readiness=probe)
    graphs.wait_ready(graphs.start(graphs.plan(graphs.pod(ready), name="ready")))
    failing = Probe(handler=ExecCommand(argv=("/bin/sh", "-c", "echo no good; exit 1")), period=0.1)
    graph = graphs.start(graphs.plan(graphs.pod(graphs.container(readiness=failing)), name="failing"))
    status = graphs.wait(graph, lambda status: status.pods[0].reason == "Probe")
    assert status.pods[0].message == "Readiness probe failed: command failed (no good)"


def test_secret_values_are_in_no_file(graphs: Graphs) -> None:
    """They reach the process, and neither the plan, the status nor the supervisor's log, even if a probe says them."""
    probe = Probe(handler=ExecCommand(argv=("/bin/sh", "-c", "echo token $TOKEN; exit 1")), period=0.1)
    container = graphs.container(
        env={"PATH": "/usr/bin:/bin", "TOKEN": SecretText(SECRET)},
        readiness=probe,
        argv=(sys.executable, "-c", "import time; time.sleep(1000)", SecretText(f"--token={SECRET}")),
    )
    graph = graphs.start(graphs.plan(graphs.pod(container)))
    status = graphs.wait(graph, lambda status: "token" in status.pods[0].message)
    assert status.pods[0].message == "Readiness probe failed: command failed (token ***)"
    (process,) = [container.process for container in status.pods[0].containers]
    assert process
    assert f"TOKEN={SECRET}".encode() in Path(f"/proc/{process.pid}/environ").read_bytes()
    files = [path for path in graphs.state.path.rglob("*") if path.is_file()]
    assert graph.path / "plan.json" in files
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


def test_secret_values_are_in_no_log(graphs: Graphs) -> None:
    """What a process says of its Secrets is masked before it is written, in pieces, at the end and line by line."""
    script = (
        "import os, sys, time\n"
        "token, key = os.environ['TOKEN'], os.environ['KEY']\n"
        "def say(text):\n    os.write(1, text.encode())\n"
        "say('token ' + token[:9]); say(token[9:] + ' given\\n')\n"
        "say(key.splitlines()[1] + '\\n' + os.environ['PORT'] + '\\n'); say('end ' + token)"
    )
    env = {
        "PATH": "/usr/bin:/bin",
        "TOKEN": SecretText(SECRET),
        "KEY": SecretText("-----BEGIN-----\nMIGkAgEBBDDsecond\n-----END-----\n"),
        "PORT": SecretText("8000"),
    }
    container = graphs.container(argv=(sys.executable, "-c", script), env=env, readiness=None)
    graph = graphs.start(graphs.plan(graphs.pod(container)), Settings(backoff_initial=100))
    graphs.wait(graph, lambda status: status.pods[0].reason == "CrashLoopBackOff")
    written = (graph.logs / "web-0.main.log").read_text()
    assert written.startswith("token *** given\n***\n8000\nend ***")
    assert SECRET not in written


@pytest.mark.parametrize("secret", [f"{SECRET}-line one\n{SECRET}-line two", SECRET * 60])
def test_a_long_secret_of_several_lines_is_not_half_shown(graphs: Graphs, secret: str) -> None:
    """A probe's answer is searched for secrets before it is folded into one line and cut."""
    probe = Probe(handler=ExecCommand(argv=("/bin/sh", "-c", 'echo "token $TOKEN"; exit 1')), period=0.1)
    container = graphs.container(env={"PATH": "/usr/bin:/bin", "TOKEN": SecretText(secret)}, readiness=probe)
    graph = graphs.start(graphs.plan(graphs.pod(container)))
    status = graphs.wait(graph, lambda status: "token" in status.pods[0].message)
    assert status.pods[0].message == "Readiness probe failed: command failed (token ***)"


def test_a_log_is_rotated_by_size(graphs: Graphs) -> None:
    """The newest output stays readable, and old files do not pile up."""
    settings = Settings(backoff_initial=0.2, log_bytes=2000, log_files=2)
    script = "import time\nfor number in range(500): print('line', number, flush=True)\ntime.sleep(1000)"
    container = graphs.container(argv=(sys.executable, "-c", script), readiness=None)
    graph = graphs.start(graphs.plan(graphs.pod(container)), settings)
    log = graph.logs / "web-0.main.log"
    wait_until(lambda: log.exists() and b"line 499\n" in log.read_bytes())
    kept = [path for path in graph.logs.iterdir() if path.name.startswith("web-0.main.log")]
    assert len(kept) == 2
    assert all(path.stat().st_size <= 2000 for path in kept)
