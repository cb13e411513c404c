"""Removes the values of Secrets from what processes say, before it gets into a status or a log.

A value of several lines is removed as a whole and line by line, since a log is written by lines. Short values are
left alone: `8000` or `true` stands in any output without being a secret there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MASK = "***"
# In a status, which quotes little and is shown everywhere, shorter values count than in a whole log.
_SHORTEST_IN_STATUS = 4
_SHORTEST_IN_LOG = 8


class Concealer:
    """Knows the secret values of one graph."""

    def __init__(self, secrets: Iterable[str]) -> None:
        secrets = frozenset(secrets)
        self._status = _pattern(secrets, _SHORTEST_IN_STATUS)
        texts = secrets | {line.strip() for secret in secrets for line in secret.splitlines()}
        self._log = _pattern({text for text in texts if "\n" not in text}, _SHORTEST_IN_LOG)
        self._log_bytes = re.compile(self._log.pattern.encode()) if self._log else None
        self.longest = max((len(text.encode()) for text in texts), default=0)

    def text(self, text: str) -> str:
        """A text for a status, without secret values."""
        return self._status.sub(_MASK, text) if self._status else text

    @property
    def for_logs(self) -> Concealer | None:
        """This, if there is anything to look for in a log."""
        return self if self._log_bytes else None

    def line(self, line: bytes) -> bytes:
        """Output without a line end, or the beginning of such, without secret values."""
        return self._log_bytes.sub(_MASK.encode(), line) if self._log_bytes else line


def _pattern(secrets: Iterable[str], shortest: int) -> re.Pattern[str] | None:
    """Any of the secrets; the longest first, so that none is half hidden by one that it begins with."""
    found = sorted((text for text in secrets if len(text) >= shortest), key=lambda text: (-len(text), text))
    return re.compile("|".join(re.escape(text) for text in found)) if found else None
