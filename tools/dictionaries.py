"""Write the dictionaries of options and variables (`src/stator/compat/dictionaries/data`) from the published wheels.

    python tools/dictionaries.py                         write every release on record anew
    python tools/dictionaries.py 1.5.0 1.6.1             write these
    python tools/dictionaries.py --check 1.5.0           compare instead of writing; exit 1 and a diff if they differ
    python tools/dictionaries.py --engine sglang 0.5.18 --python ENV/bin/python

For a release, `ai-dynamo` and `ai-dynamo-runtime` are installed without dependencies into a cache outside the
repository, and each module's own parser-building code is run in an interpreter that has only a few light packages;
engines are replaced by modules of nothing (`evidence/real_parsers.py`). For an engine, its own parser is built by an
interpreter in which the engine's dependencies are really installed: engines cannot be imported without them.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
from evidence import compiled, components, variables
from uv import find_uv_bin

from stator.compat.dictionaries.options import Option, Parser
from stator.compat.dictionaries.release import EngineFile, Module, ReleaseFile

RELEASES = ("1.0.2", "1.1.1", "1.2.1", "1.3.1", "1.4.2", "1.5.0", "1.5.1", "1.6.0", "1.6.1")
DATA = Path(__file__).resolve().parent.parent / "src/stator/compat/dictionaries/data"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stator" / "dictionaries"
SCRIPT = Path(__file__).resolve().parent / "evidence" / "real_parsers.py"
# What the parser-building code imports besides the standard library and engines.
LIGHT = ("pydantic", "msgspec", "pyyaml", "uvloop", "typing-extensions", "aiohttp", "prometheus-client", "packaging")
ACTIONS = {
    "_StoreAction": "store",
    "_StoreTrueAction": "store_true",
    "_StoreFalseAction": "store_false",
    "_StoreConstAction": "store_const",
    "_AppendAction": "append",
    "BooleanOptionalAction": "boolean",
    "_HelpAction": "help",
    "_VersionAction": "version",
    "Action": "custom",
}
# Where the options an engine adds to its own parser come from.
ENGINE_SOURCE = {"sglang": ("sglang/srt/server_args.py", "ServerArgs.add_cli_args")}
TRTLLM_PREFIX = "--trtllm."
REMOVAL = re.compile(r"will be removed in v?(\d+\.\d+)")
DECLARED = re.compile(r"env var: (\S+)")
OBSOLETE = re.compile(r"deprecating flag: (--\S+)")


def uv(*arguments: str) -> None:
    """Run uv quietly; its own message tells what went wrong."""
    subprocess.run([find_uv_bin(), *arguments], check=True)


def installed(release: str, *packages: str) -> Path:
    """The packages of a release, without dependencies, in a folder of the cache."""
    tree = CACHE / release
    if not tree.exists():
        uv("pip", "install", "--quiet", "--no-deps", "--target", str(tree), *packages)
    return tree


def light_python() -> Path:
    """An interpreter with the light packages."""
    environment = CACHE / "light"
    if not environment.exists():
        uv("venv", "--quiet", str(environment))
        uv("pip", "install", "--quiet", "--python", str(environment / "bin" / "python"), *LIGHT)
    return environment / "bin" / "python"


def real_parsers(python: Path, tree: Path, mode: str, *arguments: str) -> dict[str, Any]:
    """Run `real_parsers.py` and read what it prints last."""
    environment = {"PATH": os.defpath, "HOME": str(CACHE), "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), "-W", "ignore", str(SCRIPT), mode, *arguments]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{' '.join(arguments)}: {ran.stderr}")
    result: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    if not result["parsers"]:
        sys.exit(f"{' '.join(arguments)}: no parser was built: {result['stopped']}")
    return result


def options(raw: dict[str, Any]) -> list[Option]:
    """The options of one recorded parser.

    A variable that one option's help declares as its own can be looked at while another is added; it stays with its
    own.
    """
    declared = {name: each["names"] for each in raw["options"] for name in DECLARED.findall(each["help"])}
    for each in raw["options"]:
        each["read"] = [name for name in each["read"] if declared.get(name, each["names"]) == each["names"]]
    return [option(each) for each in raw["options"]]


def option(raw: dict[str, Any]) -> Option:
    """One recorded option in the shape of the data."""
    names = tuple(raw["names"])
    boolean = raw["action"] == "BooleanOptionalAction"
    negations = tuple(
        name for name in names if boolean and f"--{name.removeprefix('--no-')}" in names[: names.index(name)]
    )
    names = tuple(name for name in names if name not in negations)
    longest = next((name for name in names if name.startswith("--")), names[0] if names else "")
    dest = raw["dest"] if raw["dest"] != longest.lstrip("-").replace("-", "_") else ""
    unread = tuple(field for field in ("default", "choices") if "unread" in json.dumps(raw[field]))
    default = None if raw["default"] == argparse.SUPPRESS or "default" in unread else raw["default"]
    return Option(
        names=names,
        negations=negations,
        dest=dest,
        action=ACTIONS[raw["action"]],
        type="str" if raw["type"] in {"", "str"} else raw["type"],
        nargs=raw["nargs"],
        choices=None if raw["choices"] is None or "choices" in unread else tuple(raw["choices"]),
        default=default,
        required=raw["required"] and bool(names),
        env=tuple(raw["read"]),
        obsolete=tuple(OBSOLETE.findall(raw["help"])),
        deprecated=bool(re.search(r"\bdeprecated\b", raw["help"], re.IGNORECASE)),
        removal=next(iter(REMOVAL.findall(raw["help"])), ""),
        unread=unread,
    )


def parser(raw: dict[str, Any], when: str = "") -> Parser:
    """One recorded parser without its options."""
    return Parser(abbreviations=raw["abbreviations"], leaves_unknown=raw["leaves_unknown"], when=when)


def component(python: Path, tree: Path, module: str) -> tuple[list[tuple[Parser, list[Option]]], frozenset[str]]:
    """The parsers of one module with their options, and the variables its sources name."""
    place = components.entry(tree, module)
    assert place is not None  # noqa: S101 - the caller asks for modules that exist
    built = real_parsers(python, tree, "replace", *place)["parsers"]
    stages = [(parser(raw), options(raw)) for raw in built if raw["options"]]
    for when in components.VARIANTS.get(module, ()):
        more = real_parsers(python, tree, "replace", *place, when)["parsers"][len(built) :]
        stages += [(parser(raw, when), options(raw)) for raw in more if raw["options"]]
    known = {spelling for _, found in stages for each in found for spelling in each.spellings}
    for word in sorted(set(components.REWRITTEN.get(module, ())) - known):
        received = real_parsers(python, tree, "replace", *place, word)["parsers"][0]["words"]
        if received != [word]:
            rewritten = Option(names=(word,), action="custom", nargs=0, deprecated=True, becomes=tuple(received))
            stages[0][1].append(rewritten)
    named = frozenset().union(*(variables.read_by(file) for file in variables.imported(tree, module)))
    return stages, named | {name for _, found in stages for each in found for name in each.env}


def engines(tree: Path, release: str) -> dict[str, str]:
    """Engine versions the release was built for, from the extras of its metadata."""
    metadata = (tree / f"ai_dynamo-{release}.dist-info" / "METADATA").read_text(encoding="utf-8")
    pins = re.findall(r"^Requires-Dist: (sglang|vllm|tensorrt-llm)(?:\[[^]]*\])?==([^\s;]+)", metadata, re.MULTILINE)
    return {name.replace("tensorrt-llm", "trtllm"): version for name, version in sorted(pins)}


def release_file(release: str) -> ReleaseFile:
    """Everything about one release."""
    tree = installed(release, f"ai-dynamo=={release}", f"ai-dynamo-runtime=={release}")
    python = light_python()
    modules = [module for module in components.ENTRIES if components.entry(tree, module)]
    with ThreadPoolExecutor(max_workers=2) as pool:
        read = dict(zip(modules, pool.map(lambda module: component(python, tree, module), modules), strict=True))
    named = {module.removeprefix("dynamo."): names for module, (_, names) in read.items()}
    has_prefix = (tree / "dynamo" / "trtllm" / "dynamic_flags.py").exists()
    library = (tree / "dynamo" / "_core.abi3.so").read_bytes()
    literals = compiled.literals(library, frozenset().union(*named.values()))
    return ReleaseFile(
        release=release,
        engines=engines(tree, release),
        modules={
            module.removeprefix("dynamo."): Module(
                parsers=tuple(each for each, _ in stages),
                engine=components.ENGINES.get(module, ""),
                prefixes=(TRTLLM_PREFIX,) if module == "dynamo.trtllm" and has_prefix else (),
            )
            for module, (stages, _) in read.items()
        },
        options=shared_options({module.removeprefix("dynamo."): stages for module, (stages, _) in read.items()}),
        variables={name: owners(name, named) for name in sorted(frozenset().union(*named.values()))},
        binary_variables=tuple(sorted(name for name in literals if not name.endswith("_"))),
        variable_prefixes=tuple(sorted(name for name in literals if name.endswith("_"))),
    )


def shared_options(stages: dict[str, list[tuple[Parser, list[Option]]]]) -> tuple[tuple[str, Option], ...]:
    """Each different option once, with the modules (and the parser, if it is not the first) that have it."""
    rows: dict[bytes, tuple[Option, list[str]]] = {}
    for module, parsers in stages.items():
        for index, (_, found_options) in enumerate(parsers):
            for each in found_options:
                _, modules = rows.setdefault(msgspec.json.encode(each), (each, []))
                modules.append(f"{module}/{index}" if index else module)
    ordered = sorted(rows.values(), key=lambda row: (row[0].names or (row[0].dest,), row[1]))
    return tuple((" ".join(modules), each) for each, modules in ordered)


def owners(name: str, named: dict[str, frozenset[str]]) -> str:
    """The modules that read a variable, or `*`."""
    modules = [module for module, names in named.items() if name in names]
    return "*" if len(modules) == len(named) else " ".join(modules)


def engine_file(name: str, version: str, python: Path) -> EngineFile:
    """The options of one engine version, built by an interpreter that can really import it."""
    tree = installed(f"{name}-{version}", f"{name}=={version}")
    built = real_parsers(python, tree, "complete", *ENGINE_SOURCE[name])["parsers"][-1]
    found = tuple(option(raw) for raw in built["options"] if raw["action"] != "_HelpAction")
    return EngineFile(engine=name, version=version, parser=parser(built), options=found)


def text(value: ReleaseFile | EngineFile) -> str:
    """JSON with one option or variable per line: what changed between two releases is a readable diff."""
    blocks = []
    for key, field in msgspec.to_builtins(value).items():
        if isinstance(field, dict) and key != "parser":
            rows, brackets = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in field.items()], "{}"
        elif isinstance(field, list | tuple):
            rows, brackets = [f"  {json.dumps(row)}" for row in field], "[]"
        else:
            blocks.append(f" {json.dumps(key)}: {json.dumps(field)}")
            continue
        blocks.append("\n".join([f" {json.dumps(key)}: {brackets[0]}", ",\n".join(rows), f" {brackets[1]}"]))
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def main() -> None:
    """Write or compare."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("releases", nargs="*", default=RELEASES, help="releases, or versions of the engine")
    arguments.add_argument("--check", action="store_true", help="compare with the data instead of writing it")
    arguments.add_argument("--engine", choices=sorted(ENGINE_SOURCE), help="read an engine's own options")
    arguments.add_argument("--python", type=Path, help="interpreter in which the engine's dependencies are installed")
    given = arguments.parse_args()
    if given.engine and not given.python:
        arguments.error("--engine needs --python: an engine cannot be imported without its dependencies")
    different = False
    for each in given.releases:
        name = f"{given.engine}-{each}.json" if given.engine else f"{each}.json"
        new = text(engine_file(given.engine, each, given.python) if given.engine else release_file(each))
        target = DATA / name
        if given.check:
            old = target.read_text(encoding="utf-8") if target.exists() else ""
            changes = list(difflib.unified_diff(old.splitlines(), new.splitlines(), name, "wheels", n=0, lineterm=""))
            print(*changes, sep="\n", end="\n" if changes else "")
            different |= bool(changes)
        else:
            target.write_text(new, encoding="utf-8")
            print(f"{name}: {len(new) / 1000:.0f} kB")
    sys.exit(different)


if __name__ == "__main__":
    main()
