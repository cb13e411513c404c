"""Where the state is, and what is read back from it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from stator.errors import StatorError
from stator.local.logs import LogLine, follow_logs
from stator.local.state import ContainerStatus, GraphDirectory, GraphStatus, PodStatus, StateDirectory

STATUS = GraphStatus(
    name="chat",
    namespace="demo",
    phase="Stopped",
    revision=7,
    started_at=1.5,
    pods=(
        PodStatus(
            name="web-0",
            component="Web",
            type="frontend",
            version="1.6.1 (tag)",
            replica=0,
            containers=(ContainerStatus(name="main", image="", runtime="", log="logs/web-0.main.log"),),
        ),
    ),
)


@pytest.fixture
def graph(tmp_path: Path) -> GraphDirectory:
    """The directory of a graph that was stopped."""
    directory = StateDirectory(tmp_path).graph("demo", "chat")
    directory.logs.mkdir(parents=True)
    directory.write_status(STATUS)
    return directory


def log(graph: GraphDirectory) -> Path:
    """The log of its only container."""
    return graph.logs / "web-0.main.log"


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"STATOR_STATE_DIR": "/own", "XDG_STATE_HOME": "/xdg", "HOME": "/me"}, "/own"),
        ({"XDG_STATE_HOME": "/xdg", "HOME": "/me"}, "/xdg/stator"),
        ({"HOME": "/me", "XDG_STATE_HOME": ""}, "/me/.local/state/stator"),
    ],
)
def test_the_place_follows_the_environment(environ: dict[str, str], path: str) -> None:
    """Its own variable first, then the XDG base directory, then the home directory."""
    assert StateDirectory.default(environ).path == Path(path)


def test_what_is_written_is_read_back_and_private(graph: GraphDirectory) -> None:
    """Readable by the owner only, whole or not at all."""
    assert graph.read_status() == STATUS
    assert (graph.path / "status.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in graph.path.iterdir() if path.name.startswith(".")] == []


def test_the_stamp_changes_with_the_status(graph: GraphDirectory) -> None:
    """It costs no reading to know that nothing has changed."""
    before = graph.status_stamp()
    assert graph.status_stamp() == before
    graph.write_status(msgspec.structs.replace(STATUS, revision=8))
    assert graph.status_stamp() != before
    assert GraphDirectory(graph.path / "nowhere").status_stamp() == 0


def test_a_graph_that_was_never_started_has_no_state(tmp_path: Path) -> None:
    """Absent is not an error."""
    state = StateDirectory(tmp_path)
    assert list(state.graphs()) == []
    assert state.graph("demo", "chat").read_status() is None
    assert list(follow_logs(state.graph("demo", "chat"))) == []


def test_a_file_of_another_version_is_a_located_error(graph: GraphDirectory) -> None:
    """With what to do, instead of a traceback."""
    (graph.path / "status.json").write_bytes(b'{"name": 1}')
    with pytest.raises(StatorError, match=r"status\.json cannot be read"):
        graph.read_status()


def test_logs_are_read_by_component_or_pod(graph: GraphDirectory) -> None:
    """The last line counts without its end; the number of lines can be limited."""
    log(graph).write_text("one\ntwo\nthree")
    assert list(follow_logs(graph, select=["Web"])) == [
        LogLine("web-0", "main", "one"),
        LogLine("web-0", "main", "two"),
        LogLine("web-0", "main", "three"),
    ]
    assert list(follow_logs(graph, select=["web-0"], lines=1)) == [LogLine("web-0", "main", "three")]
    assert list(follow_logs(graph, select=["other"])) == []


def test_a_rotated_log_is_followed_without_losing_a_line(graph: GraphDirectory) -> None:
    """What was added to the old file before it was put away comes first."""
    log(graph).write_text("one\n")
    lines = follow_logs(graph, follow=True)
    assert next(lines).text == "one"
    with log(graph).open("a") as file:
        file.write("two\n")
    log(graph).rename(f"{log(graph)}.1")
    log(graph).write_text("three\n")
    assert [line.text for line in lines] == ["two", "three"]
