"""The release number itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stator.versions import InvalidVersionError, Version

numbers = st.integers(0, 9999)
versions = st.builds(Version, numbers, numbers, numbers)


@given(versions)
def test_a_version_survives_its_own_text(version: Version) -> None:
    """What is printed can be read back."""
    assert Version.parse(str(version)) == version


@given(versions, versions)
def test_versions_compare_by_number_not_by_text(one: Version, other: Version) -> None:
    """1.10.0 is newer than 1.9.0, and exactly one of older, equal, newer holds."""
    key = lambda version: [int(part) for part in str(version).split(".")]  # noqa: E731 - the independent order
    assert (one < other, one == other, one > other) == (
        key(one) < key(other),
        key(one) == key(other),
        key(one) > key(other),
    )


@given(st.text(alphabet="0123456789.v+-٣ \n", max_size=12))
def test_parsing_accepts_only_what_it_would_print(text: str) -> None:
    """No two texts are the same version, and any other text raises the one documented error."""
    try:
        version = Version.parse(text)
    except InvalidVersionError:
        return
    assert str(version) == text
