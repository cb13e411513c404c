"""The operator release that made a graph: it is stamped on the graph once, and decides what an old graph may keep."""

from __future__ import annotations

import re

from stator.render import names
from stator.render.context import Context
from stator.versions import InvalidVersionError, Version

_RELEASE = re.compile(r"[vV]?(\d+)\.(\d+)\.(\d+)(-[^+]+)?")


def made_since(context: Context, release: Version) -> bool:
    """Whether the graph was made by an operator of that release or later.

    One without a stamp is yet to be made, by the operator of the options. A pre-release is older than its release.
    """
    stamp = context.graph.annotations.get(names.ORIGIN_VERSION)
    if stamp is None:
        return context.options.operator >= release
    found = _RELEASE.match(stamp)
    try:
        made = Version.parse(".".join(found.groups()[:3])) if found else None
    except InvalidVersionError:
        made = None
    return bool(found and made and (made > release or (made == release and not found[4])))
