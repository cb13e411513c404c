"""Which releases and which pairs: a hole is an error, controls come first, no pair is planned twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stator.errors import InvalidInputError
from stator.matrix.cells import Cell, Pair, Variant, plan_cells, plan_pairs
from stator.matrix.releases import load_releases
from stator.versions import Version, frontend_worker

V16, V15, V14 = Version(1, 6, 1), Version(1, 5, 1), Version(1, 4, 2)
WINDOWS = st.integers(0, 4).map(lambda older: [Version(1, 9 - back, back % 3) for back in range(older + 1)])


def test_the_newest_release_meets_each_older_one_in_both_directions() -> None:
    """Controls first; older releases meet each other only if every pair is asked for."""
    mixes = [Pair(V16, V15), Pair(V16, V14), Pair(V15, V16), Pair(V14, V16)]
    assert plan_pairs([V16, V15, V14]) == (Pair(V16, V16), Pair(V15, V15), Pair(V14, V14), *mixes)
    assert plan_pairs([V16, V15, V14], every=True)[7:] == (Pair(V15, V14), Pair(V14, V15))


@given(WINDOWS, st.booleans(), st.integers(1, 3))
def test_every_mix_has_its_controls_before_it(window: list[Version], every: bool, scenarios: int) -> None:  # noqa: FBT001
    """In a whole plan: nothing twice, ids are unique, and both controls of a mix stand before any mix."""
    wanted = [(f"graph{number}", [Variant(), Variant("off", repairs=False)]) for number in range(scenarios)]
    cells = plan_cells(wanted, window, every=every)
    assert len({cell.id for cell in cells}) == len(cells)
    pairs = len(window) ** 2 if every else 3 * len(window) - 2
    assert len(cells) == pairs * scenarios * 2
    first_mix = next((index for index, cell in enumerate(cells) if cell.controls), len(cells))
    assert all(control in cells[:first_mix] for cell in cells for control in cell.controls)


def test_the_plan_stays_inside_the_supported_window() -> None:
    """Each pair of the shipped releases, two lines back, is one that the published policy supports."""
    releases = load_releases()
    window = releases.window(releases.newest, 2)
    assert all(frontend_worker(pair.frontend, pair.worker).state == "inside" for pair in plan_pairs(window, every=True))


def test_a_cell_is_a_namespace_of_its_own() -> None:
    """Its id is made of what tells it apart, in letters, digits and dashes."""
    assert Cell("Chat", Pair(V16, V15)).id == "chat-f1-6-1-w1-5-1"
    assert Cell("chat", Pair(V16, V15), Variant("on", repairs=False)).id == "chat-f1-6-1-w1-5-1-on-raw"
    assert Cell("chat", Pair(V16, V15), Variant("on", repairs=False)).title.endswith("(canary on, no repairs)")


def test_a_line_stands_for_its_selected_patch_and_a_patch_for_itself() -> None:
    """A candidate that is not selected yet can be the baseline."""
    releases = load_releases()
    assert releases.baseline("1.5") == V15
    assert releases.baseline("1.6.2") == Version(1, 6, 2)
    assert releases.window(Version(1, 6, 2), 2) == (Version(1, 6, 2), V15, V14)
    for text in ("1", "latest", "v1.6", "1.9"):
        with pytest.raises(InvalidInputError):
            releases.baseline(text)


def releases_file(tmp_path: Path, text: str) -> Path:
    """A releases file."""
    file = tmp_path / "releases.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('selected: {"1.6": 1.6.1, "1.4": 1.4.2}', "no release is selected for 1.5"),
        ('selected: {"1.6": 1.5.1}', "1.5.1 is a patch of 1.5"),
        ('selected: {"1.6": latest}', '"latest" is not a version'),
        ("selected: {}", "no releases"),
        ("[]", "no releases"),
        ("a: [", "is no YAML"),
    ],
)
def test_a_releases_file_with_a_hole_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """A missing or wrong entry is an error that names it, never a smaller matrix."""
    with pytest.raises(InvalidInputError, match=said):
        load_releases(releases_file(tmp_path, text))


def test_a_window_past_the_end_of_the_file_is_refused(tmp_path: Path) -> None:
    """Every line that is missing is named; a window wider than the policy is refused as well."""
    releases = load_releases(releases_file(tmp_path, 'selected: {"1.6": 1.6.1}'))
    with pytest.raises(InvalidInputError) as caught:
        releases.window(V16, 2)
    assert [problem.what for problem in caught.value.problems] == [
        "no release is selected for 1.5",
        "no release is selected for 1.4",
    ]
    with pytest.raises(InvalidInputError, match="wider than what is supported"):
        load_releases().window(V16, 3)
