"""Reading sources for a check: a file that cannot be used is reported and does not keep others from being checked."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import BinaryIO

import msgspec

from stator.errors import InvalidInputError, Problem
from stator.model import Inventory, load
from stator.model.sources import STDIN, read_sources


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What could be read. `unread` are the names of the files that could not be used, `problems` says why."""

    inventory: Inventory = Inventory()
    unread: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read(sources: Sequence[str], *, namespace: str | None = None, stdin: BinaryIO | None = None) -> Reading:
    """Load all sources that can be loaded.

    Raises InvalidInputError if nothing is left, or if a problem cannot be led back to a file.
    """
    content = (stdin or sys.stdin.buffer).read() if STDIN in sources else b""
    names = list(sources)
    unread: list[str] = []
    problems: list[Problem] = []
    while True:
        try:
            inventory = load(names, namespace=namespace, stdin=io.BytesIO(content))
        except InvalidInputError as error:
            bad = {problem.position.file for problem in error.problems if problem.position}
            problems += error.problems
            unread += sorted(bad)
            names = [name for name in _files(sources, content) if name not in unread]
            if not bad or not names:
                raise InvalidInputError(*problems) from error
        else:
            return Reading(inventory=inventory, unread=tuple(unread), problems=tuple(problems))


def _files(sources: Sequence[str], content: bytes) -> list[str]:
    """The name of every single file, directories opened up."""
    found = read_sources(sources, io.BytesIO(content))
    return [source.name for source in found if not isinstance(source, Problem)]
