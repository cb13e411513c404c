#!/usr/bin/env python3
"""The options of the parser that reads `python -m dynamo.sglang ARGS` first, over releases: the table stator reads by.

    pip download --no-deps --only-binary :all: -d WHEELS ai-dynamo==1.5.0      (and so on)
    PYTHON tools/evidence/dynamo_options.py WHEELS/ai_dynamo-*.whl > src/stator/compat/options/sglang.yaml

The wheels' own argument groups are run, each in a process of its own, with stand-ins for the compiled runtime and the
engine, and whatever else is not installed: none of it adds an option to this parser. The table begins at the first
wheel in version order: an option it has is written without a lower bound.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import json
import subprocess
import sys
import tempfile
import types
import zipfile
from pathlib import Path
from unittest.mock import MagicMock

GROUPS = (
    ("dynamo.common.configuration.groups.runtime_args", "DynamoRuntimeArgGroup"),
    ("dynamo.sglang.backend_args", "DynamoSGLangArgGroup"),
)
KINDS = {None: "value", "*": "values", "?": "optional"}
HEADER = """\
# The options of Dynamo's own parser in `python -m dynamo.sglang`, which reads the command line before SGLang's does.
# Abbreviations are resolved among these alone. Made by tools/evidence/dynamo_options.py from the published wheels.
#   kind: switch (--x and --no-x, no value), value (one), values (any number), optional (0 or 1), exit (prints, ends)
#   releases: where the option exists; every affected release if not given
"""

Row = tuple[tuple[str, ...], str]


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module that nothing else finds; whatever is asked of it is a mock."""

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec:
        """A package of that name."""
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> MagicMock:
        """The mock, with names of parsers as plain texts: they become choices."""
        mock = MagicMock(name=spec.name)
        mock.get_reasoning_parser_names.return_value = mock.get_tool_parser_names.return_value = ["x"]
        return mock

    def exec_module(self, module: object) -> None:
        """A mock has nothing to run."""


class Listing(argparse.ArgumentParser):
    """A parser that prints its rows instead of parsing."""

    def parse_args(self, *_: object) -> None:  # type: ignore[override]  # nothing is parsed
        """Print the rows as JSON."""
        print(json.dumps([row(action) for action in self._actions]))


def inside(folder: str) -> None:
    """Print the rows of the wheel unpacked in `folder`."""
    sys.path.insert(0, folder)
    sys.meta_path.append(StandIns())
    # The package's own __init__ starts the engine's imports; its argument groups need only its place.
    package = types.ModuleType("dynamo.sglang")
    package.__path__ = [f"{folder}/dynamo/sglang"]
    package.__version__ = ""  # type: ignore[attr-defined]  # a group prints it with --version
    sys.modules["dynamo.sglang"] = package
    parser = Listing()
    for module, group in GROUPS:
        getattr(importlib.import_module(module), group)().add_arguments(parser)
    parser.parse_args()


def row(action: argparse.Action) -> Row:
    """The names and the kind of one option."""
    if isinstance(action, argparse.BooleanOptionalAction):
        return tuple(name for name in action.option_strings if not name.startswith("--no-")), "switch"
    return tuple(action.option_strings), "exit" if action.nargs == 0 else KINDS[action.nargs]


def rows(wheel: Path) -> set[Row]:
    """The rows of a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        command = [sys.executable, __file__, "--inside", folder]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {(tuple(names), kind) for names, kind in json.loads(text)}


def version(wheel: Path) -> tuple[int, int, int]:
    """The release of a wheel, post releases counted as the release."""
    major, minor, patch = wheel.name.split("-")[1].split(".")[:3]
    return int(major), int(minor), int(patch)


def bounds(present: list[bool], releases: list[str]) -> str:
    """The range of releases in which a row is there. Raises ValueError if it comes back after it went."""
    first, last = present.index(True), len(present) - present[::-1].index(True) - 1
    if not all(present[first : last + 1]):
        raise ValueError(releases)
    lower = [f">={releases[first]}"] if first else []
    upper = [f"<{releases[last + 1]}"] if last + 1 < len(releases) else []
    return ",".join(lower + upper)


def main() -> None:
    """Print the table."""
    wheels = sorted(map(Path, sys.argv[1:]), key=version)
    tables = [rows(wheel) for wheel in wheels]
    releases = [".".join(map(str, version(wheel))) for wheel in wheels]
    print(HEADER, end="")
    for names, kind in sorted(set().union(*tables), key=lambda found: found[0][-1]):
        where = bounds([(names, kind) in table for table in tables], releases)
        print(f"- {{flags: [{', '.join(names)}], kind: {kind}" + (f', releases: "{where}"' if where else "") + "}")


if __name__ == "__main__":
    inside(sys.argv[2]) if sys.argv[1] == "--inside" else main()
