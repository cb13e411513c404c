"""Reading the dictionaries that ship with the package: one JSON file per release, one per engine version.

The files are written by `tools/dictionaries.py` from the published wheels. An option or variable that several modules
share stands once, with the modules it belongs to, so that the difference between two releases is a few lines.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from stator.compat.dictionaries.options import ComponentDictionary, Dictionary, Option, Parser
from stator.versions import Version

DATA = Path(__file__).with_name("data")


class Module(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A module as the file has it, without its options."""

    parsers: tuple[Parser, ...]
    engine: str = ""
    prefixes: tuple[str, ...] = ()


class ReleaseFile(msgspec.Struct, frozen=True, kw_only=True):
    """`data/<release>.json`.

    Modules are named without `dynamo.`. `options` are pairs: the modules, separated by blanks, each with `/1` if the
    option belongs to its second parser; and the option. `variables` maps a name to the modules whose sources read it,
    `*` for all.
    """

    release: str
    engines: dict[str, str]
    modules: dict[str, Module]
    options: tuple[tuple[str, Option], ...]
    variables: dict[str, str]
    binary_variables: tuple[str, ...]
    variable_prefixes: tuple[str, ...]


class EngineFile(msgspec.Struct, frozen=True, kw_only=True):
    """`data/<engine>-<version>.json`: the options the engine adds to its own parser."""

    engine: str
    version: str
    parser: Parser
    options: tuple[Option, ...]


@cache
def releases() -> tuple[Version, ...]:
    """The releases that are on record, oldest first."""
    names = (entry.name.removesuffix(".json") for entry in DATA.iterdir() if entry.name.endswith(".json"))
    numbers = (name.split(".") for name in names if name[0].isdigit())
    return tuple(sorted(Version(*map(int, number)) for number in numbers))


@cache
def dictionary(release: Version) -> Dictionary | None:
    """What `release` accepts, or None if that release is not on record (which says nothing about it)."""
    source = DATA / f"{release}.json"
    if not source.is_file():
        return None
    read = msgspec.json.decode(source.read_bytes(), type=ReleaseFile)
    options: dict[str, list[Option]] = {module: [] for module in read.modules}
    for owners, option in read.options:
        for owner in owners.split():
            module, _, index = owner.partition("/")
            options[module].append(msgspec.structs.replace(option, parser=int(index)) if index else option)
    variables: dict[str, set[str]] = {module: set(read.binary_variables) for module in read.modules}
    for variable, owners in read.variables.items():
        for module in read.modules if owners == "*" else owners.split():
            variables[module].add(variable)
    return Dictionary(
        release=read.release,
        engines=read.engines,
        components={
            f"dynamo.{module}": _component(read, module, options[module], variables[module]) for module in read.modules
        },
        binary_variables=frozenset(read.binary_variables),
        variable_prefixes=read.variable_prefixes,
    )


def _component(read: ReleaseFile, name: str, options: list[Option], variables: set[str]) -> ComponentDictionary:
    """One module, with the engine's own parser appended if the engine version is on record."""
    module = read.modules[name]
    parsers = list(module.parsers)
    version = read.engines.get(module.engine, "")
    engine = _engine(module.engine, version)
    if engine is not None:
        options += [msgspec.structs.replace(option, owner="engine", parser=len(parsers)) for option in engine.options]
        parsers.append(engine.parser)
    return ComponentDictionary(
        module=f"dynamo.{name}",
        parsers=tuple(parsers),
        options=tuple(options),
        variables=frozenset(variables),
        engine=f"{module.engine} {version}".strip(),
        engine_checked=engine is not None,
        prefixes=module.prefixes,
    )


@cache
def _engine(name: str, version: str) -> EngineFile | None:
    source = DATA / f"{name}-{version}.json"
    return msgspec.json.decode(source.read_bytes(), type=EngineFile) if name and source.is_file() else None
