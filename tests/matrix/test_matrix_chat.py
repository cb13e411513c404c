"""A chat completion in one piece: what is right passes, and each way of being wrong is named."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from answers import MODEL, answer, completion
from hypothesis import given
from hypothesis import strategies as st

from stator.matrix.checks import chat


def test_a_right_completion_has_no_violation() -> None:
    """What the runtimes send is accepted, with and without a charset in the content type."""
    assert chat.judge_unary(answer(completion()), MODEL) == ()
    assert chat.judge_unary(answer(completion(), content_type="application/json; charset=utf-8"), MODEL) == ()


REQUIRED = [
    ("object",),
    ("id",),
    ("model",),
    ("choices",),
    ("usage",),
    ("choices", 0, "index"),
    ("choices", 0, "finish_reason"),
    ("choices", 0, "message"),
    ("choices", 0, "message", "role"),
    ("choices", 0, "message", "content"),
    ("usage", "prompt_tokens"),
    ("usage", "completion_tokens"),
    ("usage", "total_tokens"),
]


@pytest.mark.parametrize("path", REQUIRED)
@given(value=st.one_of(st.none(), st.booleans(), st.floats(allow_nan=False), st.just([]), st.just({}), st.just("x")))
def test_whatever_stands_in_a_required_place_is_found(path: tuple[Any, ...], value: Any) -> None:
    """A value of another kind in any place that clients read is a violation, and never an exception."""
    body = completion()
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    if place[path[-1]] == value or (path[-1] in {"id", "content"} and value == "x"):
        return
    place[path[-1]] = value
    assert chat.judge_unary(answer(body), MODEL)


@pytest.mark.parametrize("path", REQUIRED)
def test_whatever_is_missing_is_found(path: tuple[Any, ...]) -> None:
    """Each required member is required."""
    body = copy.deepcopy(completion())
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    assert chat.judge_unary(answer(body), MODEL)


@pytest.mark.parametrize(
    ("exchange", "said"),
    [
        (answer("", status=0, error="ConnectionRefusedError"), "no complete response: ConnectionRefusedError"),
        (answer({"message": "no worker"}, status=503), "status 503"),
        (answer(completion(), content_type="text/html"), "content type 'text/html'"),
        (answer("{"), "no JSON"),
        (answer("[]"), "no JSON object"),
        (answer(completion(usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 4})), "does not add up"),
        (answer(completion(model="other")), "model is 'other'"),
    ],
)
def test_what_is_wrong_is_said(exchange: Any, said: str) -> None:
    """The violation names what came instead."""
    assert said in " ".join(chat.judge_unary(exchange, MODEL))


def test_more_tokens_than_asked_for_are_found() -> None:
    """The limit holds, and a response that ended because of it has exactly so many tokens."""
    assert chat.judge_limit(answer(completion(tokens=4)), MODEL, 4) == ()
    assert "max_tokens is 4" in chat.judge_limit(answer(completion(tokens=5)), MODEL, 4)[0]
    assert "after 3 of 4" in chat.judge_limit(answer(completion(tokens=3)), MODEL, 4)[0]
    assert chat.judge_limit(answer(completion(tokens=3, reason="stop")), MODEL, 4) == ()


def test_a_stop_word_ends_the_answer_and_is_not_in_it() -> None:
    """An answer that runs on, or holds the word, is wrong; an empty one that was stopped at once is right."""
    assert chat.judge_stop(answer(completion("hell", reason="stop")), MODEL, "o", 8) == ()
    assert chat.judge_stop(answer(completion("", reason="stop")), MODEL, "o", 8) == ()
    assert "holds the stop word" in chat.judge_stop(answer(completion("hello", reason="stop")), MODEL, "o", 8)[0]
    assert "not 'stop'" in chat.judge_stop(answer(completion("hell", tokens=8)), MODEL, "o", 8)[0]


def test_the_stop_word_is_taken_from_a_first_answer() -> None:
    """The most frequent letter, the first in the alphabet of several; nothing if there is no letter."""
    assert chat.stop_word(answer(completion("banana nn"))) == "n"
    assert chat.stop_word(answer(completion("ba ab"))) == "a"
    assert chat.stop_word(answer(completion("12 ."))) == ""
    assert chat.stop_word(answer("no JSON")) == ""
