"""A container's command line as the process will see it: which program, which module, which arguments.

`command` and `args` may be an argv, or a shell script handed to `sh -c`. Only what can be read without running
anything is claimed: a wrapper script or a variable that is expanded at start is `opaque`, and says why.

The kubelet replaces `$(NAME)` (and `$$` by `$`) in every entry before the container starts. That text is kept as
written here: in an argv it stays one argument whatever its value, in a shell script it counts as an expansion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from posixpath import basename
from typing import Literal, NamedTuple

import msgspec

from stator.model.programs import INERT, LAUNCHER_MODULES, SHELLS, WRAPPERS
from stator.model.shell import UnreadableScriptError, simple_commands

Where = tuple[Literal["command", "args"], int]

_PYTHON = re.compile(r"python[0-9.]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)
# Shell options that take the next word (bash(1), OPTIONS).
_SHELL_OPTIONS_WITH_VALUE = frozenset({"--rcfile", "--init-file"})
# What stands between a wrapper and its program: options, assignments, durations and user ids.
_WRAPPER_OPERAND = re.compile(r"-|[0-9]|[A-Za-z_]\w*=", re.ASCII)
_LEADING_RESERVED = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "time"})
_DECIDING_RESERVED = frozenset({"if", "elif", "while", "until", "for", "case", "select"})
_MAX_NESTED_SHELLS = 8


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """One `python -m MODULE` run found on a command line.

    `argv` are the arguments after the module name, quotes removed, up to the end of the simple command.
    `where` is the entry of the container's `command` or `args` in which the module's name stands: with `in_shell`
    that entry is the whole script.
    """

    module: str
    argv: tuple[str, ...]
    in_shell: bool = False
    where: Where = ("command", 0)


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """What `command` + `args` run. `opaque` is the reason why more may run than `invocations` shows, or `""`."""

    invocations: tuple[Invocation, ...] = ()
    opaque: str = ""

    def of(self, module: str) -> Invocation | None:
        """The first invocation of `module`, if there is one."""
        return next((found for found in self.invocations if found.module == module), None)


class _Argument(NamedTuple):
    """One argument of a process: its text, the container entry it comes from, and what may split it at start."""

    text: str
    where: Where
    expansion: str = ""

    @property
    def program(self) -> str:
        return basename(self.text)


def read_command_line(command: Sequence[str], args: Sequence[str]) -> CommandLine:
    """Read a container's `command` and `args`, which together are one argv (Kubernetes: "Define a Command").

    Never raises: text that cannot be read makes the result opaque. Without a `command` the image's entrypoint,
    which is not known here, gets `args`; what they plainly name is still found.
    """
    return _read(tuple(command), tuple(args))


# A container is read again by each step of its rendering that changes or judges its command line.
@lru_cache(256)
def _read(command: tuple[str, ...], args: tuple[str, ...]) -> CommandLine:
    argv = [_Argument(text, ("command", index)) for index, text in enumerate(command)]
    argv += [_Argument(text, ("args", index)) for index, text in enumerate(args)]
    if not argv:
        return CommandLine(opaque="the image's own entrypoint runs")
    read = _process(argv, in_shell=False, depth=0)
    if not command:
        read = _together([read, CommandLine(opaque="the image's own entrypoint runs with these args")])
    if not (read.invocations or read.opaque):
        return CommandLine(opaque=f"runs `{argv[0].text}`, in which no `python -m MODULE` stands")
    return read


def _together(parts: Iterable[CommandLine]) -> CommandLine:
    """One command line of several, with the first reason to call it opaque."""
    parts = list(parts)
    return CommandLine(
        invocations=tuple(found for part in parts for found in part.invocations),
        opaque=next((part.opaque for part in parts if part.opaque), ""),
    )


def _process(argv: Sequence[_Argument], *, in_shell: bool, depth: int) -> CommandLine:
    """What one process runs, itself or through the programs it wraps."""
    first = argv[0]
    if reason := _unreadable_program(argv):
        return CommandLine(opaque=reason)
    if _PYTHON.fullmatch(first.program):
        return _python(argv, in_shell=in_shell)
    if first.program in SHELLS:
        return _shell(argv, depth=depth)
    return CommandLine() if first.program in INERT else _started_by(argv, in_shell=in_shell, depth=depth)


def _unreadable_program(argv: Sequence[_Argument]) -> str:
    """Why the first word alone makes the rest of the container's life unreadable, or `""`."""
    first = argv[0]
    if first.expansion or first.text.startswith(("$", "`")):
        return f"the program `{first.text}` is only known at start"
    if first.text in (".", "source", "eval"):
        return f"`{first.text}` runs text that is not read here"
    if first.text == "shift" or [word.text for word in argv[:2]] == ["set", "--"]:
        return f"`{first.text}` changes the script's arguments at start"
    return ""


def _started_by(argv: Sequence[_Argument], *, in_shell: bool, depth: int) -> CommandLine:
    """What a program that is neither interpreter nor inert starts, if an interpreter plainly stands in its argv."""
    first = argv[0]
    inner = next((index for index, word in enumerate(argv) if index and _starts_process(word)), None)
    found = _process(argv[inner:], in_shell=in_shell, depth=depth) if inner else CommandLine()
    if first.program in WRAPPERS:
        wrapped = next((word for word in argv[1:] if not _WRAPPER_OPERAND.match(word.text)), first)
        return found if inner else _unread(wrapped)
    if first.program == "torchrun" and not inner:
        return _launched(argv, in_shell=in_shell)
    # Of an unknown program only a plain `python -m MODULE` is believed: the rest may be arguments to anything.
    return _together([CommandLine(invocations=found.invocations), _unread(first)])


def _starts_process(word: _Argument) -> bool:
    return bool(_PYTHON.fullmatch(word.program)) or word.program in SHELLS


def _unread(program: _Argument) -> CommandLine:
    """Nothing known about a binary; a path or a `.sh` is a script that may start anything."""
    if "/" in program.text or program.text.endswith(".sh"):
        return CommandLine(opaque=f"`{program.text}` is not read here and may start anything")
    return CommandLine()


def _python(argv: Sequence[_Argument], *, in_shell: bool) -> CommandLine:
    """The module a Python interpreter runs; its own options come first (python(1), "Command line")."""
    index = 1
    while index < len(argv):
        option = argv[index].text
        if not option.startswith("-") or option == "-":
            return CommandLine(opaque=f"Python runs `{option}`, which is not read here")
        index += 1
        if option.startswith("--"):
            index += option == "--check-hash-based-pycs"
            continue
        letters = re.match(r"-([^mcWX]*)([mcWX]?)(.*)", option, re.DOTALL)
        kind, attached = (letters[2], letters[3]) if letters else ("", "")
        if kind == "c":
            return CommandLine(opaque="Python runs code given with `-c`, which is not read here")
        if kind == "m":
            start = index - 1 if attached else index
            return _module(attached or None, argv[start:], in_shell=in_shell)
        index += bool(kind) and not attached
    return CommandLine(opaque=_expanded(argv))


def _module(attached: str | None, rest: Sequence[_Argument], *, in_shell: bool) -> CommandLine:
    """`rest` starts with the word that holds the module's name: alone, or attached to `-m`."""
    if not rest:
        return CommandLine(opaque="`-m` is not followed by a module")
    arguments = rest[1:]
    module = attached or rest[0].text
    if "$" in module or "`" in module:
        return CommandLine(opaque=f"the module `{module}` is only known at start")
    invocation = Invocation(
        module=module, argv=tuple(word.text for word in arguments), in_shell=in_shell, where=rest[0].where
    )
    read = CommandLine(invocations=(invocation,), opaque=_expanded(rest))
    return _together([read, _launched(rest, in_shell=in_shell)]) if module in LAUNCHER_MODULES else read


def _launched(argv: Sequence[_Argument], *, in_shell: bool) -> CommandLine:
    """The module a launcher starts: the one after its own `-m`."""
    index = next((index for index, word in enumerate(argv) if index and word.text in ("-m", "--module")), None)
    if index is None:
        return CommandLine(opaque=f"`{argv[0].text}` starts what is not read here")
    return _module(None, argv[index + 1 :], in_shell=in_shell)


def _expanded(words: Sequence[_Argument]) -> str:
    expansion = next((word.expansion for word in words if word.expansion), "")
    return f"`{expansion}` is expanded at start and could add arguments" if expansion else ""


def _shell(argv: Sequence[_Argument], *, depth: int) -> CommandLine:
    """`sh [OPTIONS] -c SCRIPT [$0 [$1 …]]`: only the first operand is the script, however long the list is."""
    index, takes_script = 1, False
    while index < len(argv) and (option := argv[index].text)[:1] in ("-", "+") and len(option) > 1:
        index += 1
        if option == "--":
            break
        if option.startswith("--"):
            index += option in _SHELL_OPTIONS_WITH_VALUE
            continue
        takes_script = takes_script or (option[0] == "-" and "c" in option)
        index += option[-1] in "oO"
    if index >= len(argv):
        return CommandLine(opaque="" if takes_script else f"`{argv[0].text}` reads its commands from standard input")
    script, rest = argv[index], argv[index + 1 :]
    if not takes_script:
        return CommandLine(opaque=f"`{script.text}` is a script that is not read here")
    if depth == _MAX_NESTED_SHELLS:
        return CommandLine(opaque="shells are nested too deeply to read")
    return _together([_script(script, rest, depth=depth + 1), CommandLine(opaque=_expanded([script]))])


def _script(script: _Argument, parameters: Sequence[_Argument], *, depth: int) -> CommandLine:
    parts: list[CommandLine] = []
    try:
        parts.extend(
            _command([_Argument(word.text, script.where, word.expansion) for word in words], depth=depth)
            for words in simple_commands(script.text, [word.text for word in parameters])
        )
    except UnreadableScriptError as error:
        parts.append(CommandLine(opaque=f"the shell text cannot be read: {error}"))
    return _together(parts)


def _command(words: Sequence[_Argument], *, depth: int) -> CommandLine:
    """One simple command of a script, after its reserved words and assignments."""
    index = 0
    deciding = ""
    while index < len(words) and (words[index].text in _LEADING_RESERVED or _ASSIGNMENT.match(words[index].text)):
        if words[index].text in _DECIDING_RESERVED:
            deciding = words[index].text
        index += 1
    rest = words[index:]
    if rest and rest[0].text in _DECIDING_RESERVED:
        deciding, rest = rest[0].text, []
    read = _process(rest, in_shell=True, depth=depth) if rest else CommandLine()
    if deciding:
        return _together([read, CommandLine(opaque=f"`{deciding}` decides at start what runs")])
    return read
