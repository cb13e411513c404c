"""Finding a runtime's version from the override and the image."""

from __future__ import annotations

import pytest

from stator.versions import InvalidVersionError, ResolvedVersion, Version, resolve


@pytest.mark.parametrize(
    ("image", "core"),
    [
        ("registry.example/sglang-runtime:1.5.0", Version(1, 5, 0)),
        ("  sglang-runtime:1.5.1  ", Version(1, 5, 1)),
        ("sglang-runtime:v1.2.3-cuda13", Version(1, 2, 3)),
        ("sglang-runtime:V1.2.3", Version(1, 2, 3)),
        ("sglang-runtime:1.5.0-rc1", Version(1, 5, 0)),
        ("sglang-runtime:1.6.0-ci-abc+build.7", Version(1, 6, 0)),
        ("localhost:5000/img:1.5.0", Version(1, 5, 0)),
        ("localhost:5000/img:1.5.0@sha256:0123abcd", Version(1, 5, 0)),
    ],
)
def test_a_tag_that_is_a_release_as_a_whole_is_the_version(image: str, core: Version) -> None:
    """Registry port, digest, v, pre-release and build parts do not stand in the way of a release tag."""
    assert resolve(None, image) == ResolvedVersion(core, "tag", image.strip())


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (None, "there is no image"),
        ("", "there is no image"),
        (" ", "there is no image"),
        ("img", "the image has no tag"),
        ("localhost:5000/img", "the image has no tag"),
        ("img@sha256:0123abcd", "the image is named by its digest only"),
        ("img:latest", 'tag "latest" is not X.Y.Z'),
        ("img:sha-12ab34", 'tag "sha-12ab34" is not X.Y.Z'),
        ("img:20261006", 'tag "20261006" is not X.Y.Z: a part has more than four digits'),
        ("img:2026-10-06", 'tag "2026-10-06" is not X.Y.Z'),
        ("img:1.5", 'tag "1.5" is not X.Y.Z: the patch part is missing'),
        ("img:1.5.0.post1", 'tag "1.5.0.post1" is not X.Y.Z: a fourth part follows'),
        ("img:01.2.3", 'tag "01.2.3" is not X.Y.Z: a part has a leading zero'),
        ("img:1.5.20261006", 'tag "1.5.20261006" is not X.Y.Z: a part has more than four digits'),
        ("img:1.5.0_cuda13", 'tag "1.5.0_cuda13" is not X.Y.Z: what follows the patch part does not fit'),
        ("img:1.5.0-01", 'tag "1.5.0-01" is not X.Y.Z: what follows the patch part does not fit'),
        ("img:١.٥.٠", 'tag "١.٥.٠" is not X.Y.Z'),  # noqa: RUF001 - digits, but not ASCII ones
    ],
)
def test_anything_else_is_unresolved_and_says_why(image: str | None, why: str) -> None:
    """An image whose release cannot be read is a result of its own with a reason a person understands."""
    assert resolve(None, image) == ResolvedVersion(None, "unresolved", (image or "").strip(), why)


def test_the_override_is_final() -> None:
    """A declared version beats the tag, and an empty one counts as not declared."""
    assert resolve("1.4.0", "img:1.5.0") == ResolvedVersion(Version(1, 4, 0), "override", "1.4.0")
    assert resolve("", "img:1.5.0") == ResolvedVersion(Version(1, 5, 0), "tag", "img:1.5.0")


@pytest.mark.parametrize("override", ["1.2", "v1.5.0", "1.5.0-rc1", " 1.5.0", "01.5.0", "1.5.0.1", "１.5.0", "latest"])  # noqa: RUF001
def test_an_override_that_is_no_version_is_an_error_whatever_the_tag_says(override: str) -> None:
    """A mistyped override never falls back to the tag: that would hide the mistake."""
    with pytest.raises(InvalidVersionError) as raised:
        resolve(override, "img:1.5.0")
    assert [problem.what for problem in raised.value.problems] == [f'"{override}" is not a version']


def test_reports_show_where_a_version_came_from() -> None:
    """`1.5.1 (tag)` and `unresolved (…)` are what every report prints."""
    assert str(resolve(None, "img:1.5.1")) == "1.5.1 (tag)"
    assert str(resolve(None, "img:latest")) == 'unresolved (tag "latest" is not X.Y.Z)'
