"""Command lines against the dictionaries of the release: options it does not know or is about to drop, and values.

Only what a module's own parser refuses is said. A word counts as an unknown option if some release on record has it as
an option of Dynamo's, and the release in question has not, as a whole or as an abbreviation: so an engine's option is
never taken for a mistake. A release that is not on record is judged by its minor line, if all of that line's recorded
releases agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache

import msgspec

from stator.compat.dictionaries import ComponentDictionary, Option, dictionary, releases
from stator.compat.facts import ContainerFacts
from stator.compat.given import place, words
from stator.compat.outcome import Outcome
from stator.compat.rule import Rule, rules
from stator.model.commandline import Invocation
from stator.versions import Version


class _Word(msgspec.Struct, frozen=True, kw_only=True):
    """What is on record of one spelling, of the modules that `_line` gives.

    `accepted`: one of them takes it. `passed_on`: one of them has an engine that may take what it does not.
    `choices` are the values that each of them lists, empty where any will do; `removal` is the announced end in the
    last of them.
    """

    accepted: bool
    passed_on: bool
    choices: tuple[tuple[str, ...], ...]
    removal: str


def unknown_option(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """Options of Dynamo's that the release does not have: outcomes `gone` and `later`."""
    del rule
    for run, index, name, word in _words(facts):
        release = facts.version.core
        known = () if word.accepted else _known(run.module, name)
        if release and known and (run.module, name) not in _told_by_others(release):
            yield Outcome(
                key="gone" if known[-1] < release else "later",
                # The engine's own parser gets what is left, and not all of their options are on record.
                certainty="possible" if word.passed_on else "certain",
                where=place(facts, run, index),
                values={
                    "flag": name,
                    "module": run.module,
                    "known": str(known[-1] if known[-1] < release else known[0]),
                },
            )


def refused_choice(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """Options of Dynamo's with a fixed list of values, given one that is not in it: outcome `choice`."""
    del rule
    for run, index, name, word in _words(facts):
        if not all(word.choices):
            continue
        _, equals, attached = run.argv[index].partition("=")
        value = attached if equals else run.argv[index + 1] if index + 1 < len(run.argv) else ""
        if not value or value.startswith("-") or "$" in value or "`" in value:
            continue
        if all(value not in choices for choices in word.choices):
            values = {"flag": name, "value": value, "choices": ", ".join(word.choices[-1])}
            yield Outcome(key="choice", where=place(facts, run, index), values=values)


def deprecated_option(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """Options of Dynamo's for which the release announces an end: outcome `removal`.

    Spellings that are merely called obsolete say nothing: the examples of every release use some.
    """
    del rule
    for run, index, name, word in _words(facts):
        release = facts.version.core
        if release and word.removal and (run.module, name) not in _told_by_others(release):
            values = {"flag": name, "module": run.module, "removal": word.removal}
            yield Outcome(key="removal", where=place(facts, run, index), values=values)


def _words(facts: ContainerFacts) -> Iterator[tuple[Invocation, int, str, _Word]]:
    """The words that may be options: the invocation, the index in its `argv`, the spelling, and what is on record."""
    release = facts.version.core
    for run in facts.command_line.invocations if release else ():
        for index, text in words(run):
            name = text.partition("=")[0]
            if word := _word(release, run.module, name):
                yield run, index, name, word


# Several rules ask about a word, and all graphs use the same few hundred.
@lru_cache(1024)
def _word(release: Version | None, module: str, name: str) -> _Word | None:
    """What is on record, None if nothing is of this module."""
    line = _line(release, module)
    if not line:
        return None
    options = [_option(part, name) for part in line]
    return _Word(
        accepted=any(_accepts(part, name) for part in line),
        passed_on=any(part.passes_through for part in line),
        choices=tuple(map(_choices, options)),
        removal=options[-1].removal if options[-1] else "",
    )


@cache
def _line(release: Version | None, module: str) -> tuple[ComponentDictionary, ...]:
    """What is on record for this release, else for its minor line; empty if nothing, or if one lacks the module."""
    if release is None:
        return ()
    exact = dictionary(release)
    near = [exact] if exact else [dictionary(other) for other in releases() if _same_line(other, release)]
    found = [book.component(module) if book else None for book in near]
    return tuple(part for part in found if part) if all(found) else ()


def _same_line(one: Version, other: Version) -> bool:
    return (one.major, one.minor) == (other.major, other.minor)


def _accepts(module: ComponentDictionary, name: str) -> bool:
    return bool(module.find(name)) or any(name.startswith(prefix) for prefix in module.prefixes)


def _option(module: ComponentDictionary, name: str) -> Option | None:
    """The one option of Dynamo's always used parsers that `name` stands for."""
    found = module.find(name)
    if len(found) != 1 or found[0].owner != "dynamo" or module.parsers[found[0].parser].when:
        return None
    return found[0]


@lru_cache(1024)
def _known(module: str, name: str) -> tuple[Version, ...]:
    """The releases on record that have `name` as an option of Dynamo's."""
    return tuple(release for release in releases() if _is_option_of_dynamo(release, module, name))


def _is_option_of_dynamo(release: Version, module: str, name: str) -> bool:
    book = dictionary(release)
    part = book.component(module) if book else None
    return part is not None and name in part.spellings and _option(part, name) is not None


def _choices(option: Option | None) -> tuple[str, ...]:
    if option is None or option.nargs is not None or option.action != "store" or "choices" in option.unread:
        return ()
    return tuple(str(choice) for choice in option.choices or () if choice is not None)


@cache
def _told_by_others(release: Version) -> frozenset[tuple[str, str]]:
    """Modules and their options of which a rule of their own speaks for this release, with a better remedy."""
    return frozenset(
        (module, flag)
        for rule in rules()
        if rule.predicate == "gone" and release in rule.affected
        for module in rule.looks_for["modules"]
        for flag in rule.looks_for.get("flags", ())
    )
