"""A runtime's command line as the runtime's own parser reads it.

The runtimes parse with argparse, so this does too: the option table of the release is handed to a real
`argparse.ArgumentParser`. Abbreviations, `=` forms, negations, `--` and words that only look like an option then
mean here what they mean there. Only Dynamo's own options are known; what is left over goes to the engine's parser
and is not judged. The types and choices of values are not checked either.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NoReturn

import msgspec

from stator.versions import Version, VersionRange

_PACKAGED = Path(__file__).with_name("options.json")

Kind = Literal["switch", "value", "values", "optional", "exit"]


class Option(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of an option table (`options/*.yaml`); `releases` is a range as text, empty for all."""

    flags: tuple[str, ...]
    kind: Kind
    releases: str = ""

    def exists(self, release: Version | None) -> bool:
        """Whether the release has this option; an unknown release counts as having every one."""
        return not self.releases or release is None or release in VersionRange.parse(self.releases)


class Arguments(msgspec.Struct, frozen=True):
    """What was given, by the option's first name without dashes.

    `switches` holds the last word on each switch that was given, `values` every value in order, `rest` what the
    parser left for the engine.
    """

    switches: Mapping[str, bool]
    values: Mapping[str, tuple[str, ...]]
    rest: tuple[str, ...]


# Several rules ask about the same container one after the other.
@lru_cache(maxsize=64)
def read_arguments(backend: str, release: Version | None, argv: tuple[str, ...]) -> Arguments | None:
    """Read `argv`, the words after `python -m dynamo.<backend>`. None if the parser would end the process.

    That is an ambiguous abbreviation, a missing value, a value for a switch, or `--help` and the like.
    """
    try:
        found, rest = _parser(backend, release).parse_known_args(list(argv))
    except _RefusedError:
        return None
    given = {name: value for name, value in vars(found).items() if value is not None}
    return Arguments(
        {name: value for name, value in given.items() if isinstance(value, bool)},
        {name: tuple(value) for name, value in given.items() if not isinstance(value, bool)},
        tuple(rest),
    )


class _RefusedError(Exception):
    """The runtime would print a usage message and exit."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _RefusedError(message)


class _Exit(argparse.Action):
    def __call__(self, *_: object) -> NoReturn:
        raise _RefusedError


@cache
def _parser(backend: str, release: Version | None) -> _Parser:
    parser = _Parser(add_help=False)
    for option in _tables()[f"{backend}.yaml"]:
        if option.exists(release):
            _add(parser, option)
    return parser


def _add(parser: _Parser, option: Option) -> None:
    name = option.flags[0].lstrip("-")
    if option.kind == "exit":
        parser.add_argument(*option.flags, dest=name, action=_Exit, nargs=0)
    elif option.kind == "switch":
        parser.add_argument(*option.flags, dest=name, action=argparse.BooleanOptionalAction)
    elif option.kind == "value":
        parser.add_argument(*option.flags, dest=name, action="append")
    elif option.kind == "optional":
        parser.add_argument(*option.flags, dest=name, action="append", nargs="?", const="")
    else:
        parser.add_argument(*option.flags, dest=name, action="extend", nargs="*")


@cache
def _tables() -> Mapping[str, tuple[Option, ...]]:
    """Every table by its file's name; `tools/packaged.py` makes the one file of them."""
    return msgspec.json.decode(_PACKAGED.read_bytes(), type=dict[str, tuple[Option, ...]])
