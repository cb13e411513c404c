"""Command lines against the dictionaries of the release: options it does not know or is about to drop, and values.

Only what a module's own parser refuses is said. A word counts as an unknown option if some release on record has it as
an option of Dynamo's, and the release in question has not, as a whole or as an abbreviation: so an engine's option is
never taken for a mistake. A release that is not on record is judged by its minor line, if all of that line's recorded
releases agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from stator.compat.dictionaries import ComponentDictionary, Option, dictionary, releases
from stator.compat.facts import ContainerFacts
from stator.compat.given import place, words
from stator.compat.outcome import Outcome
from stator.compat.rule import Rule, rules
from stator.versions import Version


def unknown_option(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """Options of Dynamo's that the release does not have: outcomes `gone` and `later`."""
    del rule
    release = facts.version.core
    for run in facts.command_line.invocations if release else ():
        line = _line(release, run.module)
        for index, word in words(run) if line else ():
            name = word.partition("=")[0]
            if any(_accepts(module, name) for module in line):
                continue
            known = _known(run.module, name)
            if release and known and (run.module, name) not in _told_by_others(release):
                yield Outcome(
                    key="gone" if known[-1] < release else "later",
                    # The engine's own parser gets what is left, and not all of their options are on record.
                    certainty="possible" if any(part.passes_through for part in line) else "certain",
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
    for run in facts.command_line.invocations:
        line = _line(facts.version.core, run.module)
        for index, word in words(run) if line else ():
            name, equals, attached = word.partition("=")
            value = attached if equals else run.argv[index + 1] if index + 1 < len(run.argv) else ""
            if not value or value.startswith("-") or "$" in value or "`" in value:
                continue
            lists = [_choices(module, name) for module in line]
            if all(choices and value not in choices for choices in lists):
                values = {"flag": name, "value": value, "choices": ", ".join(lists[-1])}
                yield Outcome(key="choice", where=place(facts, run, index), values=values)


def deprecated_option(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """Options of Dynamo's for which the release announces an end: outcome `removal`.

    Spellings that are merely called obsolete say nothing: the examples of every release use some.
    """
    del rule
    release = facts.version.core
    for run in facts.command_line.invocations if release else ():
        line = _line(release, run.module)
        for index, word in words(run) if line else ():
            name = word.partition("=")[0]
            option = _option(line[-1], name)
            if release and option and option.removal and (run.module, name) not in _told_by_others(release):
                values = {"flag": name, "module": run.module, "removal": option.removal}
                yield Outcome(key="removal", where=place(facts, run, index), values=values)


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
    """The releases on record that have `name` as an option of Dynamo's; graphs use the same few hundred words."""
    return tuple(release for release in releases() if _is_option_of_dynamo(release, module, name))


def _is_option_of_dynamo(release: Version, module: str, name: str) -> bool:
    book = dictionary(release)
    part = book.component(module) if book else None
    return part is not None and name in part.spellings and _option(part, name) is not None


def _choices(module: ComponentDictionary, name: str) -> Sequence[str]:
    option = _option(module, name)
    plain = option is not None and option.nargs is None and option.action == "store" and "choices" not in option.unread
    return [str(choice) for choice in option.choices or () if choice is not None] if plain and option else ()


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
