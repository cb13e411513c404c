"""What one runtime module accepts: its options, as its argparse parsers have them, and the variables it reads.

These are facts about published wheels, so that a rule can say "1.4.0 no longer knows `--is-prefill-worker`" from data
instead of from memory. Nothing here interprets values; help texts are not kept.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import Any, Literal

import msgspec

Owner = Literal["dynamo", "engine"]

# Greater than every character of a spelling.
_LAST = "\U0010ffff"

# How argparse consumes the option. `custom` is an action class of the component's own; its `nargs` tells if it takes
# a value.
Action = Literal["store", "store_true", "store_false", "store_const", "append", "boolean", "help", "version", "custom"]


class Option(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One option of one parser.

    `names` are the accepted spellings, the documented one first; empty for a positional argument, which is then named
    by `dest`. `negations` are the `--no-` spellings of a `boolean`. `env` are the variables that set the default, in
    the order in which they are asked. `type` is the name of the conversion. `obsolete` are those of the names that the
    help calls so, `removal` is the release it announces for the end. `unread` lists the fields (`default`, `choices`)
    whose value only the engine knows. `becomes` are the words that the module puts in the place of this one before it
    parses. `parser` is the index of the parser in the component's `parsers`.
    """

    names: tuple[str, ...] = ()
    negations: tuple[str, ...] = ()
    dest: str = ""
    action: Action = "store"
    type: str = "str"
    nargs: str | int | None = None
    choices: tuple[Any, ...] | None = None
    default: Any = None
    required: bool = False
    env: tuple[str, ...] = ()
    obsolete: tuple[str, ...] = ()
    deprecated: bool = False
    removal: str = ""
    unread: tuple[str, ...] = ()
    becomes: tuple[str, ...] = ()
    owner: Owner = "dynamo"
    parser: int = 0

    def __hash__(self) -> int:
        """By its names, for a default may be a list, which has no hash."""
        return hash(self.names)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Everything that can be written for this option, negations included."""
        return (*self.names, *self.negations)

    @property
    def takes_value(self) -> bool:
        """Whether the next word of the command line belongs to the option."""
        return self.action in {"store", "append", "custom"} and self.nargs != 0


class Parser(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One argparse parser a module runs over its command line.

    The first parser sees all words; what it leaves goes to the next. `abbreviations`: any unambiguous prefix of a
    spelling is accepted (argparse's `allow_abbrev`). `when` is the environment under which the parser is used at all.
    """

    abbreviations: bool = True
    leaves_unknown: bool = False
    when: str = ""


class ComponentDictionary(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything one module (`dynamo.sglang`) accepts in one release.

    `engine` is the engine whose own options the module passes on, with the version the release was built for (`sglang
    0.5.18`), or `""`; `engine_checked` says whether those options are among `options`. `prefixes` are beginnings that
    are accepted with any ending (`--trtllm.`). `variables` are the ones its Python code or the compiled runtime
    reads.
    """

    module: str
    parsers: tuple[Parser, ...] = ()
    options: tuple[Option, ...] = ()
    variables: frozenset[str] = frozenset()
    engine: str = ""
    engine_checked: bool = False
    prefixes: tuple[str, ...] = ()

    @property
    def passes_through(self) -> bool:
        """Whether options it does not know go on to an engine."""
        return bool(self.engine)

    @cached_property
    def spellings(self) -> dict[str, Option]:
        """Every spelling with its option; where two parsers know the same one, the earlier parser's."""
        return {spelling: option for by_name in reversed(self._by_parser) for spelling, option in by_name.items()}

    def find(self, word: str) -> tuple[Option, ...]:
        """The options that `word` (`--flag` or `--flag=value`) stands for, as argparse decides it.

        The parsers are asked in turn: an exact spelling wins within one, else every option with a spelling that
        begins with the word, if the parser takes abbreviations. More than one option means that the word is refused
        as ambiguous there. So an abbreviation in an earlier parser catches what is an exact spelling in a later one.
        Empty: unknown.
        """
        name = word.partition("=")[0]
        for parser, by_name, spellings in zip(self.parsers, self._by_parser, self._in_order, strict=True):
            if name in by_name:
                return (by_name[name],)
            if parser.abbreviations and name.startswith("--") and name != "--":
                beginning = spellings[bisect_left(spellings, name) : bisect_left(spellings, name + _LAST)]
                if beginning:
                    return tuple({by_name[spelling]: None for spelling in beginning})
        return ()

    @cached_property
    def _by_parser(self) -> tuple[dict[str, Option], ...]:
        return tuple(
            {spelling: option for option in self.options if option.parser == index for spelling in option.spellings}
            for index in range(len(self.parsers))
        )

    @cached_property
    def _in_order(self) -> tuple[list[str], ...]:
        """Each parser's spellings, sorted: those that begin alike stand together."""
        return tuple(sorted(by_name) for by_name in self._by_parser)


class Dictionary(msgspec.Struct, frozen=True, kw_only=True):
    """One release: its modules, and what the compiled runtime reads.

    `engines` are the versions the release was built for. `variable_prefixes` are beginnings (`DYN_SYSTEM_`) under
    which the compiled runtime looks for more names than are listed.
    """

    release: str
    engines: dict[str, str]
    components: dict[str, ComponentDictionary]
    binary_variables: frozenset[str]
    variable_prefixes: tuple[str, ...]

    def component(self, module: str) -> ComponentDictionary | None:
        """What `python -m MODULE` accepts, or None if the release has no such module."""
        return self.components.get(module)
