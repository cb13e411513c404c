"""Stand-ins for the packages below until they are there. Goes away as a whole."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from stator.compat import ContainerFacts, Verdict
from stator.model.commandline import CommandLine, Invocation
from stator.versions import ResolvedVersion, Version

_TAG = re.compile(r"[vV]?(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?(?:\+\S+)?")


def resolve(override: str | None, image: str | None) -> ResolvedVersion:
    """Resolve by override, then tag."""
    if override:
        parts = [int(part) for part in override.split(".")]
        return ResolvedVersion(Version(*parts), "override", override)
    name = (image or "").partition("@")[0].rpartition("/")[2]
    if found := _TAG.fullmatch(name.partition(":")[2]):
        return ResolvedVersion(Version(*map(int, found.groups())), "tag", image or "")
    return ResolvedVersion(None, "unresolved", image or "", "no X.Y.Z tag")


def read_command_line(command: Sequence[str], args: Sequence[str]) -> CommandLine:
    """Find `-m MODULE`."""
    words = [word for text in (*command, *args) for word in (shlex.split(text) if " " in text else [text])]
    found = [i for i, word in enumerate(words[:-1]) if word == "-m"]
    return CommandLine(invocations=tuple(Invocation(module=words[i + 1], argv=tuple(words[i + 2 :])) for i in found))


def evaluate(_facts: ContainerFacts) -> Verdict:
    """Nothing to say."""
    return Verdict()
