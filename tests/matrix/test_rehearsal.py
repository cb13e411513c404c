"""A rehearsal's plan, its traffic and its arithmetic; the whole of it runs in tests/real."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from itertools import pairwise

import msgspec
import pytest
from answers import MODEL, completion, good_stream, stream
from hypothesis import given
from hypothesis import strategies as st
from matrix_graphs import frontend, scenario, worker

from stator.errors import InvalidInputError
from stator.local.plan import ServicePlan, Target
from stator.matrix.exchange import Request, send
from stator.matrix.rehearsal.entrance import Entrance
from stator.matrix.rehearsal.moves import plan_moves
from stator.matrix.rehearsal.report import (
    Budget,
    Phase,
    Rehearsal,
    Stop,
    count,
    quantile,
    to_markdown,
    to_text,
    verdict,
)
from stator.matrix.rehearsal.traffic import Pacing, Sent, Traffic
from stator.versions import Version

V16 = Version(1, 6, 1)
OLD = scenario(frontend("1.5.1"), worker(name="Prefill", kind="prefill"), worker(name="Decode", kind="decode")).graph


def test_workers_move_together_and_first_if_asked() -> None:
    """Prefill and decode are one step, because they must be of one release."""
    every = {"frontend": V16, "prefill": V16, "decode": V16}
    moves = plan_moves(OLD, every, "worker-first", back=False)
    assert [(move.title, move.components) for move in moves] == [
        ("worker 1.5.1 -> 1.6.1", ("Prefill", "Decode")),
        ("frontend 1.5.1 -> 1.6.1", ("Frontend",)),
    ]
    assert [move.group for move in plan_moves(OLD, every, "frontend-first", back=False)] == ["frontend", "worker"]


def test_each_move_begins_where_the_last_one_ended() -> None:
    """And the way back undoes the last one first, down to the graph as it was."""
    moves = plan_moves(OLD, {"frontend": V16, "prefill": V16, "decode": V16}, "worker-first", back=True)
    assert [move.title for move in moves[2:]] == ["frontend 1.6.1 -> 1.5.1", "worker 1.6.1 -> 1.5.1"]
    assert moves[0].before == moves[-1].after == OLD
    assert all(one.after == other.before for one, other in pairwise(moves))


def test_a_group_that_does_not_change_is_no_move() -> None:
    """And if nothing changes, there is nothing to rehearse."""
    assert len(plan_moves(OLD, {"frontend": V16}, "worker-first", back=False)) == 1
    with pytest.raises(InvalidInputError, match="would not change"):
        plan_moves(OLD, {"frontend": Version(1, 5, 1)}, "worker-first", back=False)
    with pytest.raises(InvalidInputError, match="no component 'router'"):
        plan_moves(OLD, {"router": V16}, "worker-first", back=False)


def phase(kind: str = "both", title: str = "worker 1.5.1 -> 1.6.1: both serve") -> Phase:
    """A phase in which two releases serve."""
    return Phase(title=title, kind=kind, serving={"Worker": ("1.5.1", "1.6.1")}, began=0)  # type: ignore[arg-type]


def sent(number: int, *, at: float = 0, seconds: float = 0.1, status: int = 200, wrong: str = "") -> Sent:
    """A request of phase `number`."""
    return Sent(phase=number, at=at, seconds=seconds, status=status, violations=(wrong,) if wrong else ())


def rehearsal(
    *requests: Sent, budget: Budget | None = None, stopped: str = "", stops: tuple[Stop, ...] = ()
) -> Rehearsal:
    """A rehearsal of two phases."""
    phases, budget = (phase("before", "before"), phase()), budget or Budget()
    return Rehearsal(
        graph="g",
        order="worker-first",
        moves=("worker 1.5.1 -> 1.6.1",),
        budget=budget,
        phases=phases,
        counts=count(phases, requests, budget, stops),
        failures=tuple(each for each in requests if each.violations),
        stopped=stopped,
    )


def test_requests_are_counted_in_the_phase_they_were_sent_in() -> None:
    """Failed ones are neither slow nor part of the latencies."""
    done = rehearsal(sent(0), sent(1), sent(1, seconds=3), sent(1, seconds=9, wrong="status 500"))
    assert [(each.sent, each.failed, each.slow) for each in done.counts] == [(1, 0, 0), (3, 1, 1)]
    assert done.counts[1].p99 == 3
    assert (done.sent, done.failed, done.slow) == (4, 1, 1)


def test_the_budget_decides() -> None:
    """No request may fail unless it is said; slow ones may, unless it is said."""
    good = rehearsal(sent(0), sent(1, seconds=3))
    assert good.overspent == ()
    assert "within budget" in verdict(good)
    assert rehearsal(sent(0), sent(1, wrong="x")).overspent == ("1 requests failed, 0 may",)
    assert rehearsal(sent(0), sent(1), sent(1, wrong="x"), budget=Budget(failed=1)).overspent == ()
    assert rehearsal(sent(0), sent(1, seconds=3), budget=Budget(slow=0)).overspent
    assert rehearsal(sent(0), sent(1), stopped="the new pod is not Ready").overspent == ("the new pod is not Ready",)


def test_a_request_that_met_a_mocker_on_its_way_out_is_told_and_does_not_count() -> None:
    """An engine's worker would have served it. Any other failure counts, also one of that time with another answer."""
    stops = (Stop(began=100.0, ended=100.3),)
    met = sent(1, at=99.95, status=503, wrong="status 503")
    done = rehearsal(sent(0), sent(1), met, stops=stops)
    assert (done.failed, done.refused, done.overspent) == (1, 1, ())
    assert "1 failed (1 at the end of a mocker)" in verdict(done)
    assert "an engine's worker leaves discovery first" in to_text(done)
    for other in (
        sent(1, at=99.0, status=503, wrong="status 503"),
        sent(1, at=105.0, status=503, wrong="status 503"),
        sent(1, at=100.1, status=200, wrong="no finish reason"),
        sent(1, at=100.1, status=0, wrong="connection reset"),
    ):
        assert rehearsal(sent(0), met, other, stops=stops).overspent == ("1 requests failed, 0 may",)
    assert rehearsal(sent(0), sent(1), met).overspent == ("1 requests failed, 0 may",)


def test_an_overlap_nobody_asked_in_shows_nothing() -> None:
    """Zero failed of zero requests is no success."""
    assert rehearsal(sent(0)).overspent == ("no request was sent in 'worker 1.5.1 -> 1.6.1: both serve'",)
    assert "no request was sent" in rehearsal().overspent


def test_the_reports_hold_every_phase_and_failure() -> None:
    """As text and as Markdown."""
    done = rehearsal(sent(0), sent(1, wrong="status 500: worker lost"))
    for text in (to_text(done), to_markdown(done)):
        assert "Worker 1.5.1+1.6.1" in text
        assert "status 500: worker lost" in text
        assert "2 requests, 1 failed, 0 slow" in text


@given(st.lists(st.floats(0, 100), min_size=1), st.floats(0.01, 1))
def test_a_quantile_is_one_of_the_numbers_and_high_enough(numbers: list[float], share: float) -> None:
    """At least that share of the numbers is not above it."""
    ordered = sorted(numbers)
    found = quantile(ordered, share)
    assert found in ordered
    assert sum(number <= found for number in ordered) >= share * len(ordered) - 1e-9


class Runtime(http.server.BaseHTTPRequestHandler):
    """Answers chat requests rightly, but every one in which `Say 3.` stands."""

    def do_POST(self) -> None:
        """One completion, whole or streamed."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["messages"][0]["content"] == "Say 3.":
            self.send_error(500)
            return
        streamed = bool(body.get("stream"))
        text = stream(*good_stream()).body if streamed else json.dumps(completion(tokens=body["max_tokens"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if streamed else "application/json")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def runtime() -> Iterator[int]:
    """The port of a server that answers."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Runtime) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_clients_judge_every_answer_and_keep_the_evidence(runtime: int) -> None:
    """Whole and streamed answers pass, the broken one is found, with its raw exchange."""
    traffic = Traffic(f"127.0.0.1:{runtime}", "chat", MODEL, Pacing(clients=1, rate=200))
    traffic.start()
    while len(traffic.sent()) < 8:
        threading.Event().wait(0.01)
    traffic.end()
    wrong = [each for each in traffic.sent() if each.violations]
    assert len(wrong) == 1
    assert "status 500" in wrong[0].violations[0]
    assert wrong[0].exchange
    assert "Say 3." in wrong[0].exchange.request.body
    assert len(traffic.sent()) >= 8


def test_the_entrance_leads_to_the_pods_it_was_last_told(runtime: int) -> None:
    """One address, over the pods of any generation; without a pod a connection is closed at once."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Runtime) as unused:
        port = unused.server_port
    service = ServicePlan(name="web", port_name="http", cluster_port=80, port=port, targets=())
    entrance = Entrance(service)
    entrance.open()
    request = Request.post("/", {"messages": [{"content": "x"}], "max_tokens": 1})
    try:
        assert send(entrance.address, request).status == 0
        entrance.route([Target("1/web-0", runtime)])
        assert send(entrance.address, request).status == 200
        entrance.route([])
        assert send(entrance.address, request).status == 0
    finally:
        entrance.close()
    assert "refused" in send(entrance.address, request).error.lower()


def test_a_report_survives_the_way_through_json() -> None:
    """Machines read what people read."""
    done = rehearsal(sent(0), sent(1, wrong="x"))
    assert msgspec.json.decode(msgspec.json.encode(done), type=Rehearsal) == done
