"""Finding and reading stator.toml, for whoever understands a table of it.

Two parts of the program have tables there: the local runtime (images, volumes, ignored sidecars) and the check (what
is ignored, and why). What the tables mean is theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from stator.errors import InvalidInputError, Position, Problem

FILE_NAME = "stator.toml"
TABLES = ("images", "volumes", "ignore", "check")


def find(path: Path | None, near: Sequence[str | Path]) -> Path | None:
    """`path`, else the stator.toml beside the first of the sources `near`, else the one in the working directory.

    A source may be a directory or `-` (standard input, which has no directory). None if there is no file.
    """
    return path or next((candidate for candidate in _candidates(near) if candidate.is_file()), None)


def _candidates(near: Sequence[str | Path]) -> Iterator[Path]:
    if near and str(near[0]) != "-":
        source = Path(near[0])
        yield (source if source.is_dir() else source.parent) / FILE_NAME
    yield Path(FILE_NAME)


def read_text(file: Path) -> str:
    """The file's text. Raises InvalidInputError if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InvalidInputError(
            Problem(what="cannot read the configuration", position=Position(str(file)), why=reason or str(error))
        ) from error


def parse(file: Path, text: str) -> dict[str, Any]:
    """The document. Raises InvalidInputError with the position for text that is no TOML."""
    import tomllib  # noqa: PLC0415 - most runs have no such file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Before Python 3.14 the position is in the message only.
        found = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", str(error))
        end = len(text.splitlines())
        why, line, column = (found[1], int(found[2]), int(found[3])) if found else (str(error), end, 0)
        raise InvalidInputError(
            Problem(what="not valid TOML", position=Position(str(file), line, column), why=why)
        ) from error


def line_of(lines: Sequence[str], path: Sequence[str]) -> int:
    """The line that names the last part of `path`, searched below the lines that name the parts before it.

    tomllib keeps no positions. A key is named by a table header or by an assignment; in an inline table it
    stands on its parent's line. Good enough to open the right place in an editor.
    """
    line = 0
    for part in path:
        key = rf"(?<![\w-])[\"']?{re.escape(part)}[\"']?(?![\w-])"
        named = re.compile(rf"^\s*\[.*{key}.*\]|{key}\s*=|^\s*{key}\s*\.")
        line = next((n for n in range(max(line, 1), len(lines) + 1) if named.search(lines[n - 1])), line)
    return line
