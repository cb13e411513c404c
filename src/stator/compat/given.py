"""Which options a container's command line gives, with their values and the lines they stand on.

Spellings are compared exactly, `--flag` or `--flag=value`: rules that look for an option name each spelling they mean.
What follows `--` is no option. A value that is only known at start (`$(NAME)`, `$NAME`) is given as None.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from stator.compat.facts import ContainerFacts
from stator.model.commandline import Invocation

Where = tuple[str | int, ...]


class Given(msgspec.Struct, frozen=True):
    """One option as written. `value` is the attached or the next word, empty without one, None if not known yet.

    `where` is the option's place, `value_where` its value's.
    """

    flag: str
    value: str | None
    where: Where
    value_where: Where


def runs(facts: ContainerFacts, modules: Sequence[str]) -> tuple[Invocation, ...]:
    """The invocations of any of the modules."""
    return tuple(run for run in facts.command_line.invocations if run.module in modules)


def words(run: Invocation) -> Iterator[tuple[int, str]]:
    """The words that may be options, with their indices in `argv`."""
    for index, word in enumerate(run.argv):
        if word == "--":
            return
        if word.startswith("-") and " " not in word.partition("=")[0]:
            yield index, word


def given(facts: ContainerFacts, modules: Sequence[str], flags: Collection[str]) -> Iterator[Given]:
    """Every use of one of the flags by one of the modules, in order."""
    for run in runs(facts, modules):
        for index, word in words(run):
            flag, equals, attached = word.partition("=")
            if flag in flags:
                value = attached if equals else _next(run.argv, index)
                where = place(facts, run, index)
                value_where = where if equals or not value else place(facts, run, index + 1)
                yield Given(flag, None if "$" in value or "`" in value else value, where, value_where)


def place(facts: ContainerFacts, run: Invocation, index: int) -> Where:
    """Where `run.argv[index]` stands: an entry of `command` or `args`; in a shell script, the script."""
    field, start = run.where
    if run.in_shell:
        return (field, start)
    if field == "args":
        return ("args", start + 1 + index)
    left = len(facts.body.get("command") or ()) - start - 1
    return ("command", start + 1 + index) if index < left else ("args", index - max(left, 0))


def _next(argv: Sequence[str], index: int) -> str:
    following = argv[index + 1] if index + 1 < len(argv) else ""
    return "" if following.startswith("-") else following
