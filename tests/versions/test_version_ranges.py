"""Ranges with holes, as rule files write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stator.versions import InvalidVersionError, Version, VersionRange

# Few distinct numbers, so that equal parts and boundaries are met all the time.
versions = st.builds(Version, *[st.integers(0, 3)] * 3)
clauses = st.one_of(
    st.builds(lambda op, v: f"{op}{v}", st.sampled_from([">=", ">", "<=", "<", "==", "!="]), versions),
    st.builds(lambda op, v: f"{op}{v.major}.{v.minor}.*", st.sampled_from(["==", "!="]), versions),
)
ranges = st.lists(clauses, min_size=1, max_size=4).map(",".join)
OPPOSITE = {">=": "<", "<": ">=", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}


def test_a_range_has_edges_and_holes() -> None:
    """The lower edge is in, the upper edge is out, and both a release and a whole line can be left out."""
    affected = VersionRange.parse(">=1.0.0, <1.6.0, !=1.5.2, !=1.4.*")
    inside = [
        text
        for text in ("0.9.9", "1.0.0", "1.3.9", "1.4.0", "1.4.2", "1.5.0", "1.5.1", "1.5.2", "1.5.3", "1.6.0")
        if Version.parse(text) in affected
    ]
    assert inside == ["1.0.0", "1.3.9", "1.5.0", "1.5.1", "1.5.3"]


@given(ranges)
def test_a_range_survives_its_own_text(text: str) -> None:
    """What a report prints for a range can be put back into a rule file."""
    assert str(VersionRange.parse(text)) == text
    assert VersionRange.parse(str(VersionRange.parse(text))) == VersionRange.parse(text)


@given(clauses, versions)
def test_a_clause_and_its_opposite_share_all_releases_between_them(clause: str, version: Version) -> None:
    """Every release is in exactly one of a clause and its opposite."""
    operator = clause.rstrip("0123456789.*")
    opposite = OPPOSITE[operator] + clause.removeprefix(operator)
    assert (version in VersionRange.parse(clause)) != (version in VersionRange.parse(opposite))


@given(ranges, ranges, versions)
def test_joining_ranges_intersects_them(one: str, other: str, version: Version) -> None:
    """A comma means "and"."""
    both = VersionRange.parse(f"{one},{other}")
    assert (version in both) == (version in VersionRange.parse(one) and version in VersionRange.parse(other))


@pytest.mark.parametrize(
    "text", ["", ">=1.0.0,", "1.0.0", "~=1.0.0", ">=1.0", ">=1.*.0", "<1.5.*", ">=01.0.0", "=>1.0.0"]
)
def test_a_text_outside_the_grammar_is_refused(text: str) -> None:
    """A range that would have to be guessed is an error that names the text."""
    with pytest.raises(InvalidVersionError, match="is not a version range"):
        VersionRange.parse(text)
