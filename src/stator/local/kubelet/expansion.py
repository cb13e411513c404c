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

# Bytes of one argument, or of one `NAME=VALUE`, that a process can be given (execve(2), MAX_ARG_STRLEN, less its NUL).
LONGEST = 131_071


class TooLongError(ValueError):
    """The expanded text is longer than `LONGEST`. Variables that repeat each other grow by powers: it is not made."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`text` with its references replaced from `variables`. Raises TooLongError."""
    parts: list[str] = []
    length = end = 0
    for found in _TOKEN.finditer(text):
        name = found[1]
        parts += text[end : found.start()], "$" if name is None else variables.get(name, found[0])
        length += len(parts[-2]) + len(parts[-1])
        end = found.end()
        if length > LONGEST:
            raise TooLongError
    return "".join([*parts, text[end:]])


def references(text: str) -> frozenset[str]:
    """The names that `expand` would look up in `text`."""
    return frozenset(found[1] for found in _TOKEN.finditer(text) if found[1] is not None)
