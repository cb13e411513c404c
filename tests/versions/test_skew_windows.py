"""Which releases may run together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stator.versions import Skew, Version, frontend_worker, operator_runtime, platform_upgrade, prefill_decode

Window = Callable[[Version | None, Version | None], Skew]

WINDOWS: list[Window] = [operator_runtime, frontend_worker, prefill_decode, platform_upgrade]
OPERATOR_RULE = "an operator serves its own line and the 2 before"
# Few distinct numbers, so that pairs near an edge of a window are met all the time.
versions = st.builds(Version, st.integers(1, 2), st.integers(0, 5), st.integers(0, 2))


def _states(window: Window, first: str, seconds: list[str]) -> list[str]:
    return [window(Version.parse(first), Version.parse(second)).state for second in seconds]


def test_an_operator_serves_its_line_and_the_two_before_it() -> None:
    """N-2 is the oldest supported runtime; the next line is told apart from runtimes that are too new."""
    runtimes = ["1.3.9", "1.4.0", "1.5.1", "1.6.0", "1.6.9", "1.7.0", "1.8.0", "2.6.0", "0.6.0"]
    assert _states(operator_runtime, "1.6.1", runtimes) == [
        "outside",
        "inside",
        "inside",
        "inside",
        "inside",
        "forward",
        "outside",
        "outside",
        "outside",
    ]


def test_prefill_and_decode_have_no_window() -> None:
    """Workers that exchange KV blocks must be the same version, to the patch."""
    assert _states(prefill_decode, "1.5.0", ["1.5.0", "1.5.1", "1.4.0"]) == ["inside", "outside", "outside"]


@given(versions, versions)
def test_frontend_and_worker_window_is_symmetric_and_two_lines_wide(one: Version, other: Version) -> None:
    """It does not matter which side is older; what matters is the distance in minor lines within a major line."""
    state = frontend_worker(one, other).state
    assert state == frontend_worker(other, one).state
    assert (state == "inside") == (one.major == other.major and one.minor - other.minor in range(-2, 3))


@given(versions, versions)
def test_a_platform_step_can_be_taken_back(current: Version, target: Version) -> None:
    """An upgrade that is allowed is also allowed as a downgrade, and never skips a minor line."""
    state = platform_upgrade(current, target).state
    assert state == platform_upgrade(target, current).state
    assert (state == "inside") == (current.major == target.major and current.minor - target.minor in range(-1, 2))


@pytest.mark.parametrize("window", WINDOWS)
@given(first=versions, second=versions)
def test_every_window_contains_equal_versions_and_nothing_across_a_major_line(
    window: Window, first: Version, second: Version
) -> None:
    """A release always goes with itself, and a major line is never crossed."""
    assert window(first, first).state == "inside"
    if first.major != second.major:
        assert window(first, second).state == "outside"


@pytest.mark.parametrize("window", WINDOWS)
@given(first=versions, second=versions)
def test_age_is_that_of_the_second_release(window: Window, first: Version, second: Version) -> None:
    """Reports say "older" and "newer" about the second release."""
    age = window(first, second).age
    assert age == ("same" if first == second else "older" if second < first else "newer")


@pytest.mark.parametrize("window", WINDOWS)
def test_an_unknown_version_gives_an_unknown_verdict(window: Window) -> None:
    """Nothing is claimed about a release nobody knows."""
    known = Version(1, 5, 0)
    assert {window(known, None).state, window(None, known).state, window(None, None).state} == {"unknown"}


@pytest.mark.parametrize(
    ("skew", "words"),
    [
        (
            operator_runtime(Version(1, 6, 1), Version(1, 3, 0)),
            "runtime 1.3.0 is 3 minor lines older than operator 1.6.1; " + OPERATOR_RULE,
        ),
        (
            frontend_worker(Version(1, 6, 1), Version(1, 6, 0)),
            "worker 1.6.0 is older than frontend 1.6.1; a frontend and a worker may be 2 minor lines apart",
        ),
        (
            platform_upgrade(Version(1, 6, 0), Version(2, 0, 0)),
            "target 2.0.0 is a major line newer than current 1.6.0; the platform moves by one minor line at a time",
        ),
        (operator_runtime(None, Version(1, 5, 0)), "the version of operator is not known"),
        (prefill_decode(None, None), "the version of prefill and decode are not known"),
    ],
)
def test_the_words_name_both_releases_and_the_rule(skew: Skew, words: str) -> None:
    """A person can tell from the words alone what is apart and what the rule is."""
    assert skew.words == words
