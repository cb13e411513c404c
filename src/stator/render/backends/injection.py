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


def invocation_of(argv: Argv, framework: str) -> Invocation:
    """The first run of the framework's module. Raises NoPlaceError if none can be seen."""
    line = read_command_line(argv.command, argv.args)
    for found in line.invocations:
        if f"{found.module}.".startswith(f"dynamo.{framework}."):
            return found
    raise NoPlaceError(line.opaque or f"no `python -m dynamo.{framework}` stands in the command line")


def with_flags(argv: Argv, framework: str, flags: Sequence[str], *, needs_shell: bool = False) -> Argv:
    """The command line with `flags` given to the framework's module; `needs_shell` if a flag has to be computed.

    Raises NoPlaceError if they cannot be placed.
    """
    found = invocation_of(argv, framework)
    if found.in_shell:
        return _in_script(argv, found, flags)
    if needs_shell:
        return Argv(SHELL, (f"exec {quoted(argv.words)} {' '.join(flags)}",))
    return Argv(argv.command, (*argv.args, *flags))


def quoted(words: Sequence[str]) -> str:
    """Words as shell text. Single quotes keep a `$(NAME)` for the kubelet and its value from the shell."""
    return shlex.join(words)


def _in_script(argv: Argv, found: Invocation, flags: Sequence[str]) -> Argv:
    """Put the flags behind the module's name, at the first place where the module then has them.

    The name may also stand in a comment or in text that is printed; reading again tells the places apart.
    """
    entries = {"command": list(argv.command), "args": list(argv.args)}
    field, index = found.where
    script = entries[field][index]
    wanted = (*flags, *found.argv)
    for place in re.finditer(rf"-m[\s\\]*{re.escape(found.module)}(?![\w.])", script):
        entries[field][index] = f"{script[: place.end()]} {' '.join(flags)}{script[place.end() :]}"
        line = read_command_line(entries["command"], entries["args"])
        if any(run.module == found.module and run.argv == wanted for run in line.invocations):
            return Argv(tuple(entries["command"]), tuple(entries["args"]))
    raise NoPlaceError(f"the place of `-m {found.module}` in the script is not clear")
