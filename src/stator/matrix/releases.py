"""Which releases a matrix is made of: one selected patch per minor line, with no silent gap.

The list is data (`releases.yaml`), so that a new release is one edit and one review. Which lines belong together is not
said there but by the published window (`stator.versions.windows`): a line inside it without an entry is an error.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import yaml

from stator.errors import InvalidInputError, Position, Problem
from stator.versions import InvalidVersionError, Version, frontend_worker

SHIPPED = Path(__file__).parent / "releases.yaml"

_LINE = re.compile(r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})")


class Releases(msgspec.Struct, frozen=True, kw_only=True):
    """The selected patch of each minor line, newest first, and the file that says so."""

    file: str
    selected: tuple[Version, ...]

    @property
    def newest(self) -> Version:
        """The newest selected release."""
        return self.selected[0]

    def baseline(self, text: str) -> Version:
        """`1.6` is the selected patch of that line; `1.6.2` is that very release, selected or not.

        Raises InvalidInputError for anything else.
        """
        if found := _LINE.fullmatch(text):
            return self._patch_of(int(found[1]), int(found[2]))
        try:
            return Version.parse(text)
        except InvalidVersionError as error:
            raise InvalidInputError(
                Problem(what=f"baseline {text!r} is no release", remedy="give X.Y or X.Y.Z, like 1.6")
            ) from error

    def window(self, baseline: Version, span: int) -> tuple[Version, ...]:
        """The baseline and the selected patches of the `span` lines before it, newest first.

        Raises InvalidInputError naming every line without an entry, or if the span is wider than what a frontend and
        a worker may be apart.
        """
        lines = [baseline.minor - back for back in range(1, span + 1)]
        oldest = Version(baseline.major, max(lines[-1], 0), 0) if lines else baseline
        if frontend_worker(baseline, oldest).state != "inside":
            raise InvalidInputError(
                Problem(
                    what=f"a window of {span} is wider than what is supported",
                    why=frontend_worker(baseline, oldest).words,
                    remedy="give a smaller --window",
                )
            )
        problems: list[Problem] = []
        chosen = [baseline]
        for line in lines:
            try:
                chosen.append(self._patch_of(baseline.major, line))
            except InvalidInputError as error:
                problems += error.problems
        if problems:
            raise InvalidInputError(*problems)
        return tuple(chosen)

    def _patch_of(self, major: int, minor: int) -> Version:
        for version in self.selected:
            if (version.major, version.minor) == (major, minor):
                return version
        known = ", ".join(f"{version.major}.{version.minor}" for version in self.selected)
        raise InvalidInputError(
            Problem(
                what=f"no release is selected for {major}.{minor}",
                position=Position(self.file),
                why=f"selected are {known}",
                remedy="choose among them, or select the line's newest patch in a file of your own (--releases): "
                "without it the matrix would have a hole",
            )
        )


def load_releases(path: Path | None = None) -> Releases:
    """Read a releases file, the shipped one by default. Raises InvalidInputError with every problem of it."""
    file = path or SHIPPED
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(
            Problem(what=f"{file} cannot be read", why=(error.strerror or str(error)).lower())
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInputError(Problem(what=f"{file} is no YAML", why=" ".join(str(error).split()))) from error
    table = document.get("selected") if isinstance(document, dict) else None
    if not isinstance(table, dict) or not table:
        raise InvalidInputError(
            Problem(what="no releases", position=Position(str(file)), remedy='write selected: {"1.6": 1.6.1}')
        )
    problems: list[Problem] = []
    selected = [version for line, text in table.items() if (version := _entry(file, line, text, problems))]
    problems += _gaps(file, selected)
    if problems:
        raise InvalidInputError(*problems)
    return Releases(file=str(file), selected=tuple(sorted(selected, reverse=True)))


def _entry(file: Path, line: Any, text: Any, problems: list[Problem]) -> Version | None:
    try:
        version = Version.parse(str(text))
    except InvalidVersionError as error:
        problems.append(_placed(error, file, line))
        return None
    if f"{version.major}.{version.minor}" == str(line):
        return version
    problems.append(
        Problem(
            what=f"line {line} selects {version}",
            position=Position(str(file)),
            why=f"{version} is a patch of {version.major}.{version.minor}",
            remedy="write the line in quotes, with a patch of its own",
        )
    )
    return None


def _placed(error: InvalidVersionError, file: Path, line: Any) -> Problem:
    """The version's problem with the place it stands at."""
    first = error.problems[0]
    return Problem(what=f"line {line}: {first.what}", position=Position(str(file)), why=first.why, remedy=first.remedy)


def _gaps(file: Path, selected: list[Version]) -> list[Problem]:
    """A line between two others that has no entry."""
    problems = []
    for major in sorted({version.major for version in selected}):
        lines = {version.minor for version in selected if version.major == major}
        problems += [
            Problem(
                what=f"no release is selected for {major}.{minor}",
                position=Position(str(file)),
                why="there are older and newer lines in the file",
                remedy="add the line with its newest patch",
            )
            for minor in range(min(lines), max(lines))
            if minor not in lines
        ]
    return problems
