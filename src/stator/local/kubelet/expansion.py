"""`$(VAR)` references as Kubernetes expands them in `command`, `args` and `env` (core/v1 Container).

`$(NAME)` becomes the value of NAME, `$$` becomes `$` (so `$$(NAME)` stays the text `$(NAME)`), a reference to an
undefined name stays as it is, and a `$` before anything else is an ordinary character. One pass from left to right:
what was put in is not looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# Both alternatives are consumed from the left, so `$$$(A)` is `$` followed by a reference, `$$(A)` is not one. A name
# runs to the first `)`, whatever is between; that includes line ends.
_TOKEN = re.compile(r"\$\$|\$\(([^)]*)\)")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`text` with its references replaced from `variables`."""

    def replacement(found: re.Match[str]) -> str:
        if (name := found[1]) is None:
            return "$"
        return variables.get(name, found[0])

    return _TOKEN.sub(replacement, text)


def references(text: str) -> frozenset[str]:
    """The names that `expand` would look up in `text`."""
    return frozenset(found[1] for found in _TOKEN.finditer(text) if found[1] is not None)
