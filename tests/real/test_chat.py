"""examples/chat.yaml for real: a 1.6.1 frontend in front of a 1.5.1 worker, as processes of the published runtimes."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from typing import Any

import pytest
from command import EXAMPLES, Stator

pytestmark = pytest.mark.real


def chat(address: str) -> dict[str, Any]:
    """One chat completion through the frontend."""
    body = {"model": "tiny", "max_tokens": 8, "messages": [{"role": "user", "content": "Hello"}]}
    request = urllib.request.Request(
        f"http://{address}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
    return answer


def frontend(graph: dict[str, Any]) -> str:
    """The address users talk to."""
    return next(service["address"] for service in graph["services"] if service["frontend"])


@pytest.mark.parametrize("example", ["chat.yaml", "chat-v1alpha1.yaml"])
def test_a_mixed_version_graph_answers(stator: Stator, example: str) -> None:
    """The graph turns Ready, each part at its own version, and a chat completion crosses the two versions."""
    up = stator("up", str(EXAMPLES / example), "--detach", "--ask", "Hello")
    assert up.returncode == 0, up.stdout + up.stderr
    (graph,) = stator.graphs()
    assert {part["name"]: part["version"] for part in graph["components"]} == {
        "Frontend": "1.6.1 (tag)",
        "Worker": "1.5.1 (tag)",
    }
    answer = chat(frontend(graph))
    assert answer["choices"][0]["message"]["content"]
    assert answer["usage"]["completion_tokens"] == 8


def test_a_component_runs_at_the_version_it_is_set_to(stator: Stator) -> None:
    """`--set` moves one component to another published release and leaves the others."""
    up = stator("up", str(EXAMPLES / "chat.yaml"), "--set", "worker=1.6.1", "--detach")
    assert up.returncode == 0, up.stdout + up.stderr
    (graph,) = stator.graphs()
    assert {pod["component"]: pod["version"] for pod in graph["pods"]} == {
        "Frontend": "1.6.1 (tag)",
        "Worker": "1.6.1 (tag)",
    }
    assert chat(frontend(graph))["choices"]


def test_a_second_start_of_a_running_graph_is_refused(stator: Stator) -> None:
    """The running graph is named and goes on; nothing is started twice."""
    assert stator("up", str(EXAMPLES / "chat.yaml"), "--detach").returncode == 0
    before = stator.processes()
    again = stator("up", str(EXAMPLES / "chat.yaml"), "--detach")
    assert again.returncode == 2
    assert "already running" in again.stderr
    assert stator.processes() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_nothing_behind(stator: Stator, number: signal.Signals) -> None:
    """A foreground `up` that is interrupted, ended or loses its terminal stops the graph before it ends."""
    up = stator.start("up", str(EXAMPLES / "chat.yaml"))
    stator.wait_for(lambda graph: graph["phase"] == "Ready")
    up.send_signal(number)
    output, _ = up.communicate(timeout=120)
    assert up.returncode == 130, output
    assert "Traceback" not in output
    assert stator.processes() == []


def test_what_a_killed_supervisor_leaves_is_ended_by_the_next_command(stator: Stator) -> None:
    """After `kill -9` of the supervisor, `stator status` finds its processes and ends them."""
    assert stator("up", str(EXAMPLES / "chat.yaml"), "--detach").returncode == 0
    (record,) = (stator.directory / "graphs").glob("*/supervisor.json")
    os.kill(json.loads(record.read_text())["process"]["pid"], signal.SIGKILL)
    stator("status")
    assert stator.processes() == []
    (graph,) = stator.graphs()
    assert graph["phase"] == "Stopped"
