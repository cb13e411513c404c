"""What packing keeps of values, in whatever order and however unlike each other they come."""

from __future__ import annotations

from hashlib import shake_128
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stator.kube.packing import Packing

SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
# What no other has: it makes new dictionaries.
LONG = st.integers(0, 2**32).map(lambda seed: shake_128(str(seed).encode()).hexdigest(200 + seed % 200))
SHORT = st.text(max_size=8)
JSON = st.recursive(
    SCALARS | SHORT | LONG,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SHORT, inner, max_size=3),
    max_leaves=5,
)
VALUES = st.dictionaries(SHORT, JSON, max_size=4)


@given(st.lists(VALUES, max_size=10))
def test_every_value_comes_out_as_it_went_in(values: list[dict[str, Any]]) -> None:
    """What was packed early is what it was, however many values came after it."""
    packing = Packing()
    packed = [packing.pack(value) for value in values]
    assert [packing.unpack(each) for each in packed] == values


@given(st.lists(VALUES, max_size=10), VALUES)
def test_a_value_that_stays_has_the_same_bytes(others: list[dict[str, Any]], value: dict[str, Any]) -> None:
    """A watcher that sees an object again unchanged has no news to tell, whatever it has seen of others meanwhile."""
    packing = Packing()
    packed = packing.pack(value)
    for other in others:
        packing.pack(other)
    assert packing.pack(value, like=packed) == packed


@given(st.lists(st.tuples(st.sampled_from("ABCD"), st.integers(1, 900)), max_size=20))
def test_equal_bytes_are_equal_values(repeated: list[tuple[str, int]]) -> None:
    """A change is never overlooked: not even where each value is all of its own dictionary."""
    packing = Packing()
    texts = [letter * times for letter, times in repeated]
    packed = [packing.pack({"text": text}) for text in texts]
    for one, other in combinations(range(len(texts)), 2):
        if packed[one] == packed[other]:
            assert texts[one] == texts[other]


@given(VALUES, VALUES)
def test_a_value_that_changes_has_other_bytes(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Every change shows."""
    packing = Packing()
    packed = packing.pack(before)
    if before != after:
        assert packing.pack(after, like=packed) != packed


def test_objects_that_are_much_alike_are_kept_in_little() -> None:
    """Of many objects with the same long text, each but the first ones takes what is its own."""
    packing = Packing()
    text = "".join(map(str, range(500)))
    packed = [packing.pack({"name": f"object-{number}", "text": text}) for number in range(50)]
    assert max(map(len, packed[20:])) < len(text) / 20
