"""Findings that are left out on purpose: where that is written, and what it fits.

    metadata:                                            # on the object itself
      annotations:
        stator.dev/ignore: "DYN407=four GPUs are attached by claim; DYN203=canary"

    [check.ignore."staging/*.yaml"]                      # stator.toml, by file; patterns are relative to it
    DYN203 = "the canary runs one patch ahead"

    --ignore DYN203=reason                               # the command line, everywhere

A reason is always needed. An ignore that fits nothing is reported, so that it does not outlive what it was for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgspec

from stator.compat import Finding, rules
from stator.configuration import line_of, parse, read_text
from stator.errors import InvalidInputError, Position, Problem
from stator.model import Graph

ANNOTATION = "stator.dev/ignore"
_ID = re.compile(r"DYN\d{3}")


class Ignore(msgspec.Struct, frozen=True, kw_only=True):
    """One rule that is not to be reported, and why.

    `object` restricts it to one object, `files` to the files a shell pattern (absolute) fits; empty means all.
    `position` is where it is written; the command line has none.
    """

    rule: str
    reason: str
    object: str = ""
    files: str = ""
    position: Position | None = None

    def fits(self, finding: Finding) -> bool:
        """Whether the finding is meant."""
        if self.rule != finding.rule or (self.object and self.object != finding.object):
            return False
        return not self.files or (finding.location is not None and _is_at(finding.location.file, self.files))


def _is_at(file: str, pattern: str) -> bool:
    return file != "-" and fnmatch(os.path.realpath(file), pattern)


def of_options(texts: Sequence[str]) -> tuple[Ignore, ...]:
    """From `--ignore ID=reason`. Raises InvalidInputError naming every option that is wrong."""
    ignores: list[Ignore] = []
    problems: list[Problem] = []
    for text in texts:
        _take(text, f"--ignore {text!r}", ignores, problems)
    if problems:
        raise InvalidInputError(*problems)
    return tuple(ignores)


def of_graphs(graphs: Iterable[Graph]) -> tuple[Ignore, ...]:
    """From the annotation of each graph. Raises InvalidInputError naming every entry that is wrong."""
    ignores: list[Ignore] = []
    problems: list[Problem] = []
    for graph in graphs:
        position = graph.locate("metadata", "annotations", ANNOTATION)
        for text in filter(None, map(str.strip, graph.annotations.get(ANNOTATION, "").split(";"))):
            _take(text, f"{ANNOTATION}: {text!r}", ignores, problems, object=graph.ref, position=position)
    if problems:
        raise InvalidInputError(*problems)
    return tuple(ignores)


def of_file(file: Path | None) -> tuple[Ignore, ...]:
    """From the table `check.ignore` of stator.toml. Raises InvalidInputError with every problem of it."""
    if file is None:
        return ()
    text = read_text(file)
    lines = text.splitlines()
    ignores: list[Ignore] = []
    problems: list[Problem] = []
    for path, value in _entries(parse(file, text).get("check", {})):
        where = Position(str(file), line_of(lines, ("check", *path)))
        name = ".".join(("check", *path))
        if len(path) == 3 and isinstance(value, str):  # noqa: PLR2004 - ignore, pattern, rule
            pattern = str(file.resolve().parent / path[1])
            _take(f"{path[2]}={value}", name, ignores, problems, files=pattern, position=where)
        else:
            remedy = '[check.ignore."PATTERN"], and below it DYN000 = "reason"'
            problems.append(Problem(what=f"{name}: is not known here", position=where, remedy=remedy))
    if problems:
        raise InvalidInputError(*problems)
    return tuple(ignores)


def _entries(table: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value below a table with the keys that lead to it; `ignore` is the only table there is."""
    if isinstance(table, dict) and (not path or path[0] == "ignore"):
        for key, value in table.items():
            yield from _entries(value, (*path, key))
    else:
        yield path, table


def _take(
    text: str,
    name: str,
    ignores: list[Ignore],
    problems: list[Problem],
    *,
    position: Position | None = None,
    object: str = "",  # noqa: A002 - the field's name
    files: str = "",
) -> None:
    """Add the ignore that `ID=reason` says, or the problem with it."""
    rule, _, reason = (part.strip() for part in text.partition("="))
    if not _ID.fullmatch(rule) or not reason:
        remedy = "write it as DYN203=reason"
        problems.append(Problem(what=f"{name}: is not a rule and a reason", position=position, remedy=remedy))
    elif rule not in {known.id for known in rules()}:
        remedy = "see `stator rules list`"
        problems.append(Problem(what=f"{name}: there is no rule {rule}", position=position, remedy=remedy))
    else:
        ignores.append(Ignore(rule=rule, reason=reason, object=object, files=files, position=position))
