"""A release number, and the answer to "which runtime is this?" together with where the answer came from."""

from __future__ import annotations

from typing import Literal

import msgspec

Source = Literal["override", "tag", "runtime-container", "unresolved"]


class Version(msgspec.Struct, frozen=True, order=True):
    """A release, `major.minor.patch`. Pre-release and build parts are dropped before it gets here."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        """`1.5.1`."""
        return f"{self.major}.{self.minor}.{self.patch}"


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
