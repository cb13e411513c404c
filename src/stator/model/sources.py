"""From the names a user gives to the bytes to parse: files, directories, standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from stator.errors import Position, Problem

STDIN = "-"
_SUFFIXES = (".yaml", ".yml", ".json")


class Source(NamedTuple):
    """The content of one file; `name` is what positions show."""

    name: str
    content: bytes


def read_sources(names: Sequence[str], stdin: TextIO | BinaryIO | None) -> Iterator[Source | Problem]:
    """The content of every source in the order given, each once; directories recursively, by name, without hidden ones.

    `stdin` is what `-` reads; None is the process's own.
    """
    seen: set[str] = set()
    for name in names:
        for file in _files(name):
            if isinstance(file, Problem):
                yield file
            elif (identity := file if file == STDIN else os.path.realpath(file)) not in seen:
                seen.add(identity)
                yield _read(file, stdin)


def _files(name: str) -> Iterator[str | Problem]:
    if name == STDIN or not Path(name).is_dir():
        yield name
        return
    found = False
    for file in _walk(Path(name)):
        found = True
        yield file
    if not found:
        yield Problem(
            what="holds no manifests",
            position=Position(name),
            why=f"no file in this directory ends in {', '.join(_SUFFIXES)}",
            remedy="name the directory or file that holds them",
        )


def _walk(directory: Path) -> Iterator[str | Problem]:
    """Manifests below a directory: links to directories are not followed, so that the walk ends."""
    pending = [directory]
    while pending:
        path = pending.pop()
        if path is not directory and (path.is_symlink() or not path.is_dir()):
            if path.name.endswith(_SUFFIXES) and not path.is_dir():
                yield str(path)
            continue
        try:
            entries = sorted(path.iterdir(), reverse=True)
        except OSError as error:
            yield _unreadable(str(path), error)
            continue
        pending += [entry for entry in entries if not entry.name.startswith(".")]


def _read(name: str, stdin: TextIO | BinaryIO | None) -> Source | Problem:
    try:
        if name != STDIN:
            return Source(name, Path(name).read_bytes())
        content = (sys.stdin.buffer if stdin is None else stdin).read()
    except (OSError, ValueError) as error:
        return _unreadable(name, error)
    return Source(name, content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)


def _unreadable(name: str, error: OSError | ValueError) -> Problem:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    remedy = "check the name" if isinstance(error, FileNotFoundError) else "check that it is a readable file"
    return Problem(what="cannot be read", position=Position(name), why=why.lower(), remedy=remedy)
