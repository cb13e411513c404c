"""Flags into a command line: at the end of an argv, or behind the module's name inside a shell script.

Where a flag has to go is read with the model's own tokenizer, and a script that was changed is read again: the flags
count as placed only if the module really gets them. A wrapper script that hides the module takes no flags, which is
said and not guessed around.

Flags come as words. In a script they stand unquoted, so that a rank can be computed in place; `$(NAME)` is filled in
by the kubelet before any shell runs (Kubernetes documentation, "Define a Command and Arguments for a Container").
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import msgspec

from stator.model import Invocation, read_command_line
from stator.model.commandline import CommandLine

SHELL = ("sh", "-c")


class Argv(msgspec.Struct, frozen=True):
    """A container's `command` and `args`."""

    command: tuple[str, ...]
    args: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Both as the one argv they are."""
        return (*self.command, *self.args)


class NoPlaceError(Exception):
    """The flags cannot be placed; the text says why."""


def runs_of(line: CommandLine, framework: str) -> list[Invocation]:
    """The runs of the framework's module that can be seen."""
    return [found for found in line.invocations if f"{found.module}.".startswith(f"dynamo.{framework}.")]


def invocation_of(argv: Argv, framework: str) -> Invocation:
    """The first run of the framework's module. Raises NoPlaceError if none can be seen."""
    line = read_command_line(argv.command, argv.args)
    if runs := runs_of(line, framework):
        return runs[0]
    raise NoPlaceError(line.opaque or f"no `python -m dynamo.{framework}` stands in the command line")


def with_flags(argv: Argv, framework: str, flags: Sequence[str], *, needs_shell: bool = False) -> Argv:
    """The command line with `flags` given to the framework's module; `needs_shell` if a flag has to be computed.

    Raises NoPlaceError if they cannot be placed.
    """
    found = invocation_of(argv, framework)
    if found.in_shell and (placed := _in_script(argv, found, flags)):
        return placed
    last = Argv(argv.command, (*argv.args, *flags))
    if found.in_shell and not _gives(last, found, (*found.argv, *flags)):
        raise NoPlaceError(f"the place of `-m {found.module}` in the script is not clear")
    # The words at the end are the module's, by themselves or as a script's parameters (`exec "$@"`).
    if needs_shell:
        return Argv(SHELL, (f"exec {quoted(argv.words)} {' '.join(flags)}",))
    return last


def quoted(words: Sequence[str]) -> str:
    """Words as shell text. Single quotes keep a `$(NAME)` for the kubelet and its value from the shell."""
    return shlex.join(words)


def _in_script(argv: Argv, found: Invocation, flags: Sequence[str]) -> Argv | None:
    """Put the flags behind the module's name, at the first place where the module then has them; None if nowhere.

    The name may also stand in a comment or in text that is printed; reading again tells the places apart.
    """
    entries = {"command": list(argv.command), "args": list(argv.args)}
    field, index = found.where
    script = entries[field][index]
    for place in re.finditer(rf"-m[\s\\]*(['\"]?){re.escape(found.module)}\1(?![\w.])", script):
        entries[field][index] = f"{script[: place.end()]} {' '.join(flags)}{script[place.end() :]}"
        placed = Argv(tuple(entries["command"]), tuple(entries["args"]))
        if _gives(placed, found, (*flags, *found.argv)):
            return placed
    return None


def _gives(argv: Argv, found: Invocation, wanted: Sequence[str]) -> bool:
    """Whether a command line runs the module of `found` with the arguments `wanted`."""
    line = read_command_line(argv.command, argv.args)
    return any(run.module == found.module and run.argv == tuple(wanted) for run in line.invocations)
