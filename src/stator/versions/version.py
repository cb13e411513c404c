"""A release number, and the answer to "which runtime is this?" together with where the answer came from."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from stator.errors import Problem, StatorError

Source = Literal["override", "tag", "runtime-container", "unresolved"]

# Four digits are more than any release needs and fewer than a date written without separators.
PART = r"(?:0|[1-9][0-9]{0,3})"
_CORE = re.compile(rf"({PART})\.({PART})\.({PART})")
# The ways a text misses X.Y.Z that people ask about; a leading v is looked past, so that image tags get the same words.
_FLAWS = (
    (re.compile(r"[vV]?[0-9]+\.[0-9]+"), "the patch part is missing"),
    (re.compile(r"[vV]?[0-9]+\.[0-9]+\.[0-9]+\..+"), "a fourth part follows"),
    (re.compile(r"[vV]?(?:[0-9]+\.){0,2}0[0-9].*"), "a part has a leading zero"),
    (re.compile(r"[vV]?(?:[0-9]+\.){0,2}[0-9]{5}.*"), "a part has more than four digits"),
    (re.compile(r"[vV]?[0-9]+\.[0-9]+\.[0-9]+[-+_].*"), "what follows the patch part does not fit"),
    (re.compile(r"[vV][0-9]+\.[0-9]+\.[0-9]+"), "a v stands in front"),
)


class InvalidVersionError(StatorError):
    """A text that had to be a version or a range is none. The caller knows the position and adds it."""


class Version(msgspec.Struct, frozen=True, order=True):
    """A release, `major.minor.patch`. Pre-release and build parts are dropped before it gets here."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        """`1.5.1`."""
        return f"{self.major}.{self.minor}.{self.patch}"

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read exactly `X.Y.Z`: ASCII digits, no sign, no leading zero, at most four digits a part.

        Raises InvalidVersionError for anything else, `v1.5.0`, `1.5` and `1.5.0-rc1` among it.
        """
        found = _CORE.fullmatch(text)
        if found is None:
            raise InvalidVersionError(
                Problem(
                    what=f'"{text}" is not a version',
                    why=f"a version is exactly X.Y.Z{flaw(text)}",
                    remedy="write the release as three plain numbers, for example 1.5.1",
                )
            )
        return cls(*map(int, found.groups()))


def flaw(text: str) -> str:
    """What keeps a nearly right text from being `X.Y.Z`, as `: reason`; empty when there is nothing to add."""
    return next((f": {words}" for pattern, words in _FLAWS if pattern.fullmatch(text)), "")


class ResolvedVersion(msgspec.Struct, frozen=True):
    """A component's runtime version with its source.

    `core` is None if and only if `source` is `unresolved`: a result of its own, never a silent "old".
    `text` is what was read (the override or the image reference); `why` says why it did not resolve.
    """

    core: Version | None
    source: Source
    text: str = ""
    why: str = ""

    def __str__(self) -> str:
        """`1.5.1 (tag)` or `unresolved (tag "latest" is not X.Y.Z)`."""
        return f"{self.core} ({self.source})" if self.core else f"unresolved ({self.why})"
