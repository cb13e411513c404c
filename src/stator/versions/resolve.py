"""Which runtime release an image holds: what the override says, else what the tag says, else unresolved.

The rules are the operator's own (ai-dynamo/dynamo#10494, runtimeVersionOverride): an override is final, a tag
counts only as a whole, and pre-release and build parts are dropped, so `1.5.0-rc1` passes every gate of 1.5.0.
Nothing is guessed from a repository name, a digest or a date.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stator.versions.version import PART, ResolvedVersion, Version, flaw

# Semantic Versioning 2.0.0, items 9 and 10, after an optional v.
_IDENTIFIER = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_TAG = re.compile(
    rf"[vV]?({PART}\.{PART}\.{PART})"
    rf"(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


# Many containers, few images.
@lru_cache(256)
def resolve(override: str | None, image: str | None) -> ResolvedVersion:
    """The runtime version of a container.

    `override` is the component's `runtimeVersionOverride` (empty counts as not given), `image` the image reference
    of the container that holds the runtime. Raises InvalidVersionError for an override that is not X.Y.Z: it is
    final, so there is no falling back to the tag.
    """
    if override:
        return ResolvedVersion(Version.parse(override), "override", override)
    reference = (image or "").strip()
    if not reference:
        return ResolvedVersion(None, "unresolved", reference, "there is no image")
    named, _, digest = reference.partition("@")
    # A colon before the last slash is a registry's port.
    _, colon, tag = named.rpartition("/")[2].rpartition(":")
    if not colon:
        why = "the image is named by its digest only" if digest else "the image has no tag"
        return ResolvedVersion(None, "unresolved", reference, why)
    found = _TAG.fullmatch(tag)
    if found is None:
        return ResolvedVersion(None, "unresolved", reference, f'tag "{tag}" is not X.Y.Z{flaw(tag)}')
    return ResolvedVersion(Version.parse(found[1]), "tag", reference)
