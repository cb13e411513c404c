"""What holds of any object, however broken: an answer, and the freedom to change something else."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rows import ROWS
from submitted import Json, alpha

from stator.admission import review

ADMITTED = [value for row in ROWS for value in (row.admitted, alpha(row.admitted))]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "1e999999999", "-1", "0.5", "InterPod", "ray", "a/b", "$(VAR)", "${VAR}", "0" * 400]),
    st.text(max_size=5),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "image", "x"]), inner),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything below a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in ((*path, key), *places(item, (*path, key)))]


@st.composite
def broken(draw: st.DrawFn) -> Json:
    """An admitted object with up to three values replaced; its kind, version and metadata are an API server's."""
    value = copy.deepcopy(draw(st.sampled_from(ADMITTED)))
    for _ in range(draw(st.integers(1, 3))):
        if not (below := places(value["spec"])):
            break
        *parents, last = draw(st.sampled_from(below))
        place = value["spec"]
        for step in parents:
            place = place[step]
        place[last] = draw(VALUES)
    return value


@settings(max_examples=300, deadline=None, derandomize=True)
@given(broken())
def test_any_object_gets_an_answer(value: Json) -> None:
    """A refusal has a field and words; there is never a traceback."""
    for problem in review(value).problems:
        assert problem.what
        assert problem.position is not None
        assert problem.position.field


@settings(max_examples=200, deadline=None, derandomize=True)
@given(broken())
def test_any_stored_object_can_be_labelled(value: Json) -> None:
    """What is stored is stored: a change of something else is never refused for it."""
    labelled = copy.deepcopy(value)
    labelled["metadata"]["labels"] = {"team": "a"}
    assert review(labelled, value).problems == ()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from([row for row in ROWS if row.admitted_by is None]), broken())
def test_any_change_gets_an_answer(row: Any, value: Json) -> None:
    """Two objects that have nothing in common are compared all the same."""
    version, kind = value["apiVersion"], value["kind"]
    old = alpha(row.admitted) if version.endswith("alpha1") else row.admitted
    if old["kind"] == kind:
        for problem in review(value, old, user="ann").problems:
            assert problem.position is not None
