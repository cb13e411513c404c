"""Build the real parsers of one component, in the interpreter that has its release on the path, and print them as JSON.

    PYTHONPATH=TREE python real_parsers.py replace|complete FILE FUNCTION [NAME=VALUE...] [--WORD...]

The component's own function runs; every `parse_args` and `parse_known_args` it calls is recorded and answered with the
defaults, so that nothing is parsed and nothing starts. `Class.method` instead of a function is called with one fresh
parser (that is how an engine adds its options). The environment is empty but for NAME=VALUE; every variable the
component reads while it adds an option is noted with that option. The function gets the words as its command line, and
what it hands to each parser is noted too: a component may rewrite words before it parses.

With `replace`, a module that cannot be imported (an engine, its GPU libraries) is replaced by one whose every
attribute exists and does nothing, and is listed under `replaced`: the output proves the options the component adds,
and says nothing about options, defaults or choices that come out of what was replaced.
"""

# ruff: noqa: SLF001 - argparse and os have no public way to see what was added and what was asked

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import inspect
import io
import json
import os
import sys
import types
from typing import Any

RECORDED: list[tuple[argparse.ArgumentParser, bool, list[str]]] = []
REPLACED: set[str] = set()
READ: list[str] = []  # variables read since the last option was added
# Tried by the standard library and its friends on other systems only.
ELSEWHERE = {"org", "java"}


class Nothing:
    """A value that has every attribute and can be called, subclassed, subscripted, iterated (empty) and compared."""

    __name__ = "nothing"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __setattr__(self, name: str, value: object) -> None:
        """Forget it: what is nothing stays nothing."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing, except that a decorator gives back what it decorates."""
        decorated = len(args) == 1 and not kwargs and (callable(args[0]) or isinstance(args[0], classmethod | property))
        return args[0] if decorated else Nothing()

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        # As a base class it leaves nothing behind, so that it cannot conflict with the other bases.
        return ()

    def __instancecheck__(self, instance: object) -> bool:
        return False

    __subclasscheck__ = __instancecheck__

    def __getitem__(self, item: object) -> Any:
        return Nothing()

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __or__(self, other: object) -> Any:
        return Nothing()

    __ror__ = __or__

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __repr__(self) -> str:
        return "nothing"

    @staticmethod
    def __get_pydantic_core_schema__(source: Any, handler: Any) -> Any:
        return {"type": "any"}


class Replacement(types.ModuleType):
    """A module of nothing."""

    __version__ = "0.0.0"
    __path__: list[str] = []  # noqa: RUF012 - the import system reads it from the module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Nothing()


class ReplaceMissing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: gives a module of nothing for what no other finder knows, except Dynamo's own."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Offer a module of nothing."""
        del path, target
        # Submodules of a package that is really there are missing for a reason; let the importer see the error.
        top = fullname.partition(".")[0]
        known = top in sys.modules and top not in REPLACED
        if known or top in {"dynamo", *ELSEWHERE, *sys.stdlib_module_names}:
            return None
        REPLACED.add(top)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        """Make it."""
        return Replacement(spec.name)

    def exec_module(self, module: Any) -> None:
        """Run nothing in it."""
        del module


def defaults(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """What parsing an empty command line would give, without its checks."""
    return argparse.Namespace(**{a.dest: a.default for a in parser._actions if a.default is not argparse.SUPPRESS})


def record_parsing() -> None:
    """Make every parser note itself instead of parsing."""

    def words(args: Any) -> list[str]:
        return sys.argv[1:] if args is None else list(args or ())

    def parse_args(self: argparse.ArgumentParser, args: Any = None, *_: Any, **__: Any) -> argparse.Namespace:
        RECORDED.append((self, False, words(args)))
        return defaults(self)

    def parse_known_args(self: argparse.ArgumentParser, args: Any = None, *_: Any, **__: Any) -> tuple[Any, list[str]]:
        RECORDED.append((self, True, words(args)))
        return defaults(self), []

    argparse.ArgumentParser.parse_args = parse_args
    argparse.ArgumentParser.parse_known_args = parse_known_args


def reader() -> str:
    """File of the code that asked the environment."""
    frame = sys._getframe(3)
    while frame.f_back and frame.f_code.co_filename.startswith(("<frozen", os.__file__)):
        frame = frame.f_back
    return frame.f_code.co_filename


def record_environment() -> None:
    """Note which variables the component reads, and keep them with the option that is added next."""
    getitem, contains = os._Environ.__getitem__, os._Environ.__contains__
    container = argparse._ActionsContainer
    add, add_group = container.add_argument, container.add_argument_group

    def noted(name: Any) -> None:
        if isinstance(name, str) and name not in READ and "/dynamo/" in reader():
            READ.append(name)

    def read(self: Any, name: Any) -> Any:
        noted(name)
        return getitem(self, name)

    def look(self: Any, name: Any) -> bool:
        noted(name)
        return contains(self, name)

    def add_argument(self: Any, *names: Any, **settings: Any) -> argparse.Action:
        action = add(self, *names, **settings)
        action.read = tuple(READ)
        READ.clear()
        return action

    def add_argument_group(self: Any, *names: Any, **settings: Any) -> Any:
        READ.clear()
        return add_group(self, *names, **settings)

    os._Environ.__getitem__, os._Environ.__contains__ = read, look
    container.add_argument, container.add_argument_group = add_argument, add_argument_group


def plain(value: Any) -> Any:
    """A JSON value, or the text of what is none."""
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, list | tuple | set | frozenset) or type(value).__name__ in {"dict_keys", "dict_values"}:
        return [plain(item) for item in value]
    return {"unread": str(value)}


def option(action: argparse.Action) -> dict[str, Any]:
    """One action, with the argparse class its own class comes from."""
    kind = next(cls for cls in type(action).__mro__ if cls.__module__ == "argparse").__name__
    return {
        "names": list(action.option_strings),
        "dest": action.dest,
        "action": kind,
        "nargs": action.nargs,
        "type": getattr(action.type, "__name__", str(action.type)) if action.type else "",
        # The compiled runtime names its parsers in a different order each time; sorted, the order says nothing.
        "choices": None if action.choices is None else sorted(plain(list(action.choices)), key=str),
        "default": plain(action.default),
        "required": action.required,
        "read": list(getattr(action, "read", ())),
        "help": "" if action.help in {None, argparse.SUPPRESS} else action.help,
    }


def call(file: str, function: str) -> None:
    """Run the function that builds the parsers."""
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    READ.clear()
    owner, _, method = function.rpartition(".")
    if owner:
        parser = argparse.ArgumentParser()
        getattr(getattr(module, owner), method)(parser)
        RECORDED.append((parser, False, []))
        return
    takes_argv = bool(inspect.signature(getattr(module, function)).parameters)
    result = getattr(module, function)(*([sys.argv[1:]] if takes_argv else []))
    if inspect.iscoroutine(result):
        result = asyncio.run(result)
    if isinstance(result, argparse.ArgumentParser):
        RECORDED.append((result, False, []))


def main() -> None:
    """Run the component's function and print what it built."""
    mode, file, function, *given = sys.argv[1:]
    os.environ.update(dict(entry.split("=", 1) for entry in given if not entry.startswith("--")))
    sys.argv[1:] = [word for word in given if word.startswith("--")]
    if mode == "replace":
        sys.meta_path.append(ReplaceMissing())
    record_parsing()
    record_environment()
    stopped = ""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            call(file, function)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what follows parsing may need what is replaced
            stopped = f"{type(error).__name__}: {error}"
    parsers = [
        {
            "abbreviations": getattr(parser, "allow_abbrev", None),
            "leaves_unknown": known,
            "words": received,
            "options": [option(action) for action in parser._actions],
        }
        for parser, known, received in RECORDED
    ]
    print(json.dumps({"parsers": parsers, "replaced": sorted(REPLACED), "stopped": stopped}))


if __name__ == "__main__":
    main()
