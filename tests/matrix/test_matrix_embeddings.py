"""Embeddings: count, order, numbers and encodings, each way of being wrong by its name."""

from __future__ import annotations

import math
from typing import Any

import pytest
from answers import MODEL, answer, embeddings, encoded
from hypothesis import given
from hypothesis import strategies as st

from stator.matrix.checks.embeddings import decode, judge_embeddings, judge_same

ONE = [0.6, 0.8]
OTHER = [0.8, -0.6]
FLOATS = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8)


@given(FLOATS)
def test_base64_and_numbers_say_the_same(vector: list[float]) -> None:
    """A vector comes out of base64 exactly as it went in."""
    assert decode(encoded(vector), "base64") == tuple(vector) == decode(vector, "float")


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_right_embeddings_have_no_violation(encoding: str) -> None:
    """In the encoding that was asked for."""
    exchange = answer(embeddings(ONE, OTHER, encoding=encoding))
    assert judge_embeddings(exchange, MODEL, 2, encoding=encoding, unit=True) == ()


@given(st.permutations([0, 1, 2]).filter(lambda order: order != [0, 1, 2]))
def test_vectors_out_of_order_are_found(order: list[int]) -> None:
    """The index of each says where it stands, and they stand in that order."""
    body = embeddings(ONE, OTHER, ONE)
    body["data"] = [body["data"][index] for index in order]
    assert any("the order is" in wrong for wrong in judge_embeddings(answer(body), MODEL, 3))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (embeddings(ONE), "1 embeddings for 2 inputs"),
        (embeddings(ONE, [0.6]), "the dimensions differ"),
        (embeddings(ONE, [3.0, 4.0]), "length 5.0000, not 1"),
        (embeddings(ONE, [0.0, 0.0]), "all zeros"),
        (embeddings(ONE, []), "not a list of numbers"),
        (embeddings(ONE, ["x", 1]), "no number"),
        (embeddings(ONE, OTHER, model="other"), "model is 'other'"),
        (embeddings(ONE, OTHER, usage=None), "counts no tokens"),
        (embeddings(ONE, OTHER, object="x"), "object is 'x'"),
        (embeddings(ONE, OTHER, data=None), "no list of objects"),
        (embeddings(ONE, OTHER, encoding="base64"), "str, not a list of numbers"),
    ],
)
def test_what_is_wrong_with_embeddings_is_said(body: Any, said: str) -> None:
    """The violation names what came instead."""
    assert said in " | ".join(judge_embeddings(answer(body), MODEL, 2, unit=True))


def test_numbers_that_are_not_finite_are_found() -> None:
    """Base64 can carry them, JSON cannot."""
    body = embeddings([math.nan, 1.0], [math.inf, 1.0], encoding="base64")
    found = judge_embeddings(answer(body), MODEL, 2, encoding="base64")
    assert sum("not finite" in wrong for wrong in found) == 2


@pytest.mark.parametrize("value", ["&&&", "AAA=", "", [1.0]])
def test_what_is_no_base64_of_floats_is_found(value: Any) -> None:
    """Neither other text, nor a number of bytes that are no floats, nor a list."""
    body = embeddings(ONE)
    body["data"][0]["embedding"] = value
    assert judge_embeddings(answer(body), MODEL, 1, encoding="base64")


def test_the_same_text_must_have_the_same_vector() -> None:
    """Rounding is allowed, another vector is not."""
    near, far = answer(embeddings([0.6001, 0.8])), answer(embeddings(OTHER))
    once = answer(embeddings(ONE))
    both = ("float", "float")
    assert judge_same(once, near, encodings=both, at=(0, 0)) == ()
    assert "differ by" in judge_same(once, far, encodings=both, at=(0, 0))[0]
    assert "dimensions" in judge_same(once, answer(embeddings([1.0])), encodings=both, at=(0, 0))[0]
