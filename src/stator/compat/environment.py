"""What can be said about an environment variable of a container that has not been started yet."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from stator.compat.facts import ContainerFacts

Origin = Literal["literal", "value-from", "env-from", "absent"]

# `$(NAME)` is replaced by the kubelet, `$$` stands for `$` (Kubernetes documentation, dependent variables).
_EXPANSION = re.compile(r"(?<!\$)(?:\$\$)*\$\([^)]+\)")


class Setting(msgspec.Struct, frozen=True):
    """A variable as the merged container sets it.

    `text` is the value the process will see if it is written out, else None. `origin` says why not: `value-from` is
    an entry whose value is read or put together at start, `env-from` no entry but a source that could carry it.
    """

    origin: Origin
    text: str | None = None


_ABSENT, _FROM_ENV_FROM, _FROM_VALUE = Setting("absent"), Setting("env-from"), Setting("value-from")


def setting(facts: ContainerFacts, name: str) -> Setting:
    """How `name` is set: an entry of its own beats every `envFrom` source."""
    entry = facts.entry(name)
    if entry is None:
        return _FROM_ENV_FROM if facts.could_come_from_env_from(name) else _ABSENT
    if entry.get("valueFrom"):
        return _FROM_VALUE
    text = entry.get("value") or ""
    return _FROM_VALUE if expands(text) else Setting("literal", text)


def expands(text: str) -> bool:
    """Whether the kubelet may replace a part of `text`."""
    return "$(" in text and _EXPANSION.search(text) is not None
