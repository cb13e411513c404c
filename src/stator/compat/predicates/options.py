"""Options, variables and modules that a release does not take, or does not take with this value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stator.compat.edits import Edit, RemoveEnv, RemoveWord, RenameEnv, ReplaceWord, SetEnv
from stator.compat.environment import setting
from stator.compat.facts import ContainerFacts
from stator.compat.given import Given, given, runs
from stator.compat.outcome import Outcome
from stator.compat.rule import Rule


def gone(facts: ContainerFacts, rule: Rule) -> Sequence[Outcome]:
    """Options and variables the release no longer takes: outcomes `flag` and `variable`.

    `looks_for`: `modules`; `flags` and `variables`, each with what to write instead; `harmless`, the literal texts of a
    variable that mean what happens without it; `edits`, for a flag `word: NEW` or `remove: switch|value` (only
    `when` its value is one of these), for a variable `rename: NEW` (to `value`, if given) or `remove: entry`.
    """
    if facts.version.core is None:
        return ()
    flags = rule.looks_for.get("flags", {})
    found = [
        Outcome(
            key="flag", where=use.where, values={"flag": use.flag, "instead": flags[use.flag]}, edit=_of_flag(use, rule)
        )
        for use in given(facts, rule.looks_for["modules"], flags)
    ]
    return (*found, *_variables(facts, rule))


def _of_flag(use: Given, rule: Rule) -> Edit | None:
    how: dict[str, Any] = rule.looks_for.get("edits", {}).get(use.flag, {})
    if "when" in how and use.value not in how["when"]:
        return None
    if "word" in how:
        return ReplaceWord(word=use.flag, to=how["word"])
    return RemoveWord(word=use.flag, with_value=how["remove"] == "value") if "remove" in how else None


def _of_variable(name: str, rule: Rule) -> Edit | None:
    how: dict[str, Any] = rule.looks_for.get("edits", {}).get(name, {})
    if "rename" in how:
        return RenameEnv(name=name, to=how["rename"], value=how.get("value", ""))
    return RemoveEnv(name=name) if "remove" in how else None


def _variables(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    harmless = rule.looks_for.get("harmless", [""])
    for name, instead in rule.looks_for.get("variables", {}).items():
        found = setting(facts, name)
        if found.origin == "value-from" or (found.text is not None and found.text.strip().lower() not in harmless):
            yield Outcome(
                key="variable",
                certainty="possible" if found.text is None else "certain",
                where=("env", name),
                values={"variable": name, "instead": instead},
                edit=_of_variable(name, rule),
            )


def refused_value(facts: ContainerFacts, rule: Rule) -> Sequence[Outcome]:
    """Options and variables with a literal value the release refuses: outcomes `flag` and `variable`.

    `looks_for`: `modules`; `flags`, `variables`; `values`, the refused texts; `instead`, the one to write.
    """
    if facts.version.core is None:
        return ()
    modules, values = rule.looks_for["modules"], rule.looks_for["values"]
    by_flag = [
        Outcome(
            key="flag",
            where=use.value_where,
            values={"flag": use.flag, "value": use.value},
            edit=ReplaceWord(word=use.value, to=rule.looks_for["instead"]),
        )
        for use in given(facts, modules, rule.looks_for.get("flags", ()))
        if use.value is not None and use.value in values
    ]
    by_variable = [
        Outcome(
            key="variable",
            where=("env", name),
            values={"variable": name, "value": text},
            edit=SetEnv(name=name, value=rule.looks_for["instead"]),
        )
        for name in rule.looks_for.get("variables", ())
        if (text := setting(facts, name).text) is not None and text in values
    ]
    return (*by_flag, *by_variable)


def missing_module(facts: ContainerFacts, rule: Rule) -> Sequence[Outcome]:
    """Modules the release does not have: outcome `module`. `looks_for`: `modules`, each with what to run instead."""
    if facts.version.core is None:
        return ()
    modules = rule.looks_for["modules"]
    return [
        Outcome(
            key="module",
            where=run.where,
            values={"module": run.module, "instead": modules[run.module]},
            edit=ReplaceWord(word=run.module, to=modules[run.module]),
        )
        for run in runs(facts, tuple(modules))
    ]
