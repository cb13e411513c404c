"""A streamed completion: a right one passes, and no way of breaking one goes unseen."""

from __future__ import annotations

from typing import Any

import pytest
from answers import MODEL, STREAM, answer, chunk, good_stream, stream
from hypothesis import given
from hypothesis import strategies as st

from stator.matrix.checks.stream import judge_stream
from stator.matrix.exchange import Exchange

TEXTS = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=6)


@given(TEXTS)
def test_a_right_stream_has_no_violation(texts: list[str]) -> None:
    """Whatever text the model says, in however many pieces."""
    assert judge_stream(stream(*good_stream(*texts)), MODEL) == ()


def test_comments_and_carriage_returns_are_part_of_the_form() -> None:
    """Server-sent events may hold comments between events and end lines with CR LF."""
    body = ": keep alive\n\n" + stream(*good_stream()).body
    assert judge_stream(answer(body, content_type=STREAM), MODEL) == ()
    assert judge_stream(answer(body.replace("\n", "\r\n"), content_type=STREAM), MODEL) == ()


@given(TEXTS, st.data())
def test_a_stream_without_one_of_its_ends_is_found(texts: list[str], data: st.DataObject) -> None:
    """Cut anywhere before its last event is complete, a stream is wrong."""
    body = stream(*good_stream(*texts)).body
    cut = data.draw(st.integers(0, len(body) - 2))
    assert judge_stream(answer(body[:cut], content_type=STREAM), MODEL)


@given(TEXTS, st.data())
def test_anything_after_the_done_marker_is_found(texts: list[str], data: st.DataObject) -> None:
    """One of its own events again, or other text."""
    events = good_stream(*texts)
    late = data.draw(st.sampled_from([*events, "x", "{}"]))
    found = judge_stream(stream(*events, late), MODEL)
    assert any("after [DONE]" in violation for violation in found)


@given(TEXTS, st.data())
def test_a_second_finish_reason_is_found(texts: list[str], data: st.DataObject) -> None:
    """Wherever in the stream it stands."""
    events = good_stream(*texts)
    events.insert(data.draw(st.integers(0, len(events) - 1)), chunk(None, "stop"))
    assert any("finish reasons" in violation for violation in judge_stream(stream(*events), MODEL))


@given(TEXTS, st.data(), st.text(alphabet="abcdefghij {}[]", min_size=1).filter(str.strip))
def test_stray_text_between_events_is_found(texts: list[str], data: st.DataObject, stray: str) -> None:
    """Nothing but events and comments may be in the body."""
    blocks = stream(*good_stream(*texts)).body.split("\n\n")[:-1]
    blocks.insert(data.draw(st.integers(0, len(blocks))), stray)
    assert judge_stream(answer("\n\n".join(blocks) + "\n\n", content_type=STREAM), MODEL)


def changed(**fields: Any) -> list[Any]:
    """A right stream whose second event differs in these members."""
    events = good_stream()
    events[1] = {**events[1], **fields}
    return events


@pytest.mark.parametrize(
    ("exchange", "said"),
    [
        (stream(*changed(id="other")), "the id changes"),
        (stream(*changed(object="chat.completion")), "object is 'chat.completion'"),
        (stream(*changed(model="other")), "model is 'other'"),
        (stream(*changed(choices=None)), "no list of choices"),
        (stream(*changed(choices=[{"index": 1, "delta": {"content": "x"}}])), "index 1"),
        (stream(chunk("a"), {"error": {"message": "worker lost"}}, "[DONE]"), "worker lost"),
        (stream(chunk("a"), chunk(None, "error"), "[DONE]"), "finish_reason is 'error'"),
        (stream(chunk("a"), chunk(None, "length"), chunk("b"), "[DONE]"), "text after the finish reason"),
        (stream(chunk(None, "length"), "[DONE]"), "no text"),
        (stream(chunk("a"), "not json", chunk(None, "length"), "[DONE]"), "no JSON"),
        (stream(chunk("a"), "[1]", chunk(None, "length"), "[DONE]"), "no JSON object"),
        (answer("event: x\n" + stream(*good_stream()).body, content_type=STREAM), "no data"),
        (answer(stream(*good_stream()).body), "content type"),
        (answer("", status=0, error="IncompleteRead", content_type=STREAM), "no complete response"),
    ],
)
def test_what_is_wrong_with_a_stream_is_said(exchange: Exchange, said: str) -> None:
    """The violation names what came instead."""
    assert said in " | ".join(judge_stream(exchange, MODEL))
