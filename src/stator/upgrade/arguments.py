"""The differences of two command lines, option by option.

Only the options of one `python -m MODULE` run can be told apart; two command lines of which that cannot be read
differ as a whole. Values of options that sound like a credential are masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stator.model.commandline import Invocation, read_command_line
from stator.render.explain import masked_value
from stator.upgrade.change import Change

_HIDDEN = "..."


def argument_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """How the command line of the container `after` differs from that of `before`."""
    fields = [[container.get(field) or [] for field in ("command", "args")] for container in (before, after)]
    if fields[0] == fields[1]:
        return
    runs = [_only_run(*each) for each in fields]
    old, new = runs
    if old is None or new is None:
        yield Change(subject="command", name="command and args", before=_HIDDEN, after=_HIDDEN)
        return
    if old.module != new.module:
        yield Change(subject="command", name="module", before=old.module, after=new.module)
    changes = list(_options(old.argv, new.argv))
    yield from changes
    if old.module == new.module and not changes:
        yield Change(subject="command", name="how the module is started", before=_HIDDEN, after=_HIDDEN)


def _only_run(command: Sequence[str], args: Sequence[str]) -> Invocation | None:
    read = read_command_line(command, args)
    return read.invocations[0] if len(read.invocations) == 1 and not read.opaque else None


def _options(before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    old, new = _by_option(before), _by_option(after)
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            texts = [_text(name, given[name]) if name in given else None for given in (old, new)]
            yield Change(subject="option", name=name or "arguments", before=texts[0], after=texts[1])
    if old == new and list(before) != list(after):
        yield Change(subject="option", name="(order)", before=_HIDDEN, after=_HIDDEN)


def _by_option(argv: Sequence[str]) -> dict[str, list[str]]:
    """Values by option, in order; words that belong to no option under an empty name."""
    found: dict[str, list[str]] = {}
    option = ""
    for word in argv:
        if word.startswith("-") and not word.lstrip("-")[:1].isdigit():
            option, equals, value = word.partition("=")
            found.setdefault(option, []).extend([value] if equals else [])
            option = "" if equals else option
        else:
            found.setdefault(option, []).append(word)
            option = ""
    return found


def _text(option: str, values: Sequence[str]) -> str:
    name = option.lstrip("-").replace("-", "_")
    return " ".join(masked_value(name, value) for value in values)
