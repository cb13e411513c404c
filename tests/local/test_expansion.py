"""`$(VAR)` expansion follows the rules of core/v1 Container."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stator.local.kubelet.expansion import expand, references

VARIABLES = {"A": "one", "B_2": "$(A)", "EMPTY": "", "with space": "odd"}

# Pieces that mean the same wherever they stand, with what each becomes.
LITERALS = st.text(st.characters(exclude_characters="$", exclude_categories=("Cs",))).map(lambda text: (text, text))
DEFINED = st.sampled_from(sorted(VARIABLES)).map(lambda name: (f"$({name})", VARIABLES[name]))
UNDEFINED = st.sampled_from(["NO", "", "A ", "$"]).map(lambda name: (f"$({name})", f"$({name})"))
ESCAPED = st.sampled_from(["$", "A", "NO"]).map(
    lambda name: ("$$", "$") if name == "$" else (f"$$({name})", f"$({name})")
)
ORDINARY = st.sampled_from(["$x", "$ ", "$1", "$)", "${A}"]).map(lambda text: (text, text))


@given(st.lists(st.one_of(LITERALS, DEFINED, UNDEFINED, ESCAPED, ORDINARY)))
def test_each_piece_expands_by_its_own_rule(pieces: list[tuple[str, str]]) -> None:
    """References are replaced once, undefined ones stay, `$$` is `$`, and other `$` are ordinary characters."""
    text = "".join(before for before, _ in pieces)
    assert expand(text, VARIABLES) == "".join(after for _, after in pieces)


@given(st.text())
def test_text_without_a_dollar_stays_as_it_is(text: str) -> None:
    """Nothing else means anything."""
    plain = text.replace("$", "")
    assert expand(plain, VARIABLES) == plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$", "$"),
        ("$(", "$("),
        ("$(A", "$(A"),
        ("$$$(A)", "$one"),
        ("$$$$(A)", "$$(A)"),
        ("$(A)$(A)", "oneone"),
        ("$($(A))", "$($(A))"),
    ],
)
def test_the_ends_of_the_grammar(text: str, expected: str) -> None:
    """Unfinished references stay text; escapes pair from the left; names are not expanded."""
    assert expand(text, VARIABLES) == expected


def test_references_are_the_names_that_are_looked_up() -> None:
    """An escaped reference is none."""
    assert references("$(A) $$(B) $(C$(D)") == {"A", "C$(D"}
