"""POSIX shell text to simple commands, as far as it can be read without running it.

Quoting, line continuations, comments, redirections, here-documents, control operators and the positional
parameters are understood (POSIX.1-2017, Shell Command Language, sections 2.2, 2.3 and 2.7, plus bash's `$'…'`,
`<<<`, `&>` and `<(…)`). Expansions are kept as written: a word says whether one of them could turn it into
several words or none. So are the positional parameters in a function's body, which are those of its calls. Command
substitutions are not entered and nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_BLANK = " \t"
_METACHARACTERS = frozenset(" \t\n;&|<>()")
_REDIRECTION = re.compile(r"(?:[0-9]+|\{\w+\})?(<<<|<<-?|<>|<&|>>|>&|>\||<(?!\()|>(?!\())|(&>>?)")
_CONTROL = re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|()\n]")
_PARAMETER = re.compile(r"\$(?:([A-Za-z_]\w*)|([0-9@*])|([#?$!-])|\{([0-9]{1,9}|[@*])\})", re.ASCII)
_OPENING = re.compile(r"\$\$?\(|\$\{|[<>]\(|`")
# `name ()` and bash's `function name`, before the body (POSIX 2.9.5).
_FUNCTION = re.compile(
    r"(?:function[ \t]+[\w.:-]+(?:[ \t]*\([ \t]*\))?|[A-Za-z_][\w.:-]*[ \t]*\([ \t]*\))(?=\s|[{(]|$)", re.ASCII
)
_BEFORE_A_COMMAND = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "time", "{"})
_CLOSING = {"{": "}", "(": ")"}
_KEPT_WHOLE = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
# The commands `[` and `[[`, which begin no pattern.
_TEST = re.compile(r"\[{1,2}(?=[ \t\n]|$)")
_PLAIN = re.compile(r"[^ \t\n\\'\"$`*?\[;&|<>()]+")
_ANSI_C = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}


class UnreadableScriptError(ValueError):
    """The text ends inside a quotation or a substitution."""


class Word(NamedTuple):
    """One word of a command, quotes removed.

    `expansion` is the first unquoted expansion in it, as written: at start it may become several words or none.
    It is `""` where the word is exactly one word whatever happens.
    """

    text: str
    expansion: str = ""


def simple_commands(script: str, parameters: Sequence[str] = ()) -> Iterator[tuple[Word, ...]]:
    """The simple commands of `script` in the order they are written; redirections and comments are left out.

    `parameters` are `$0`, `$1`, … of the shell. Subshells, groups and pipelines are flattened; reserved words
    (`if`, `{`, `!`, …) are still the first words of their commands.

    Raises UnreadableScriptError, after the commands before the unreadable place were yielded.
    """
    return _Script(script, parameters).commands()


class _Script:
    """The text and the place of reading."""

    def __init__(self, text: str, parameters: Sequence[str]) -> None:
        self.text = text
        self.at = 0
        self.zero = parameters[0] if parameters else ""
        self.positional = tuple(parameters[1:])
        self.here_documents: list[tuple[str, bool]] = []
        # What ends the function's body that is being read, and what was opened inside it.
        self.body: list[str] = []

    def commands(self) -> Iterator[tuple[Word, ...]]:
        words: list[Word] = []
        defines = False
        while self.skip_blank():
            if redirection := _REDIRECTION.match(self.text, self.at):
                self.at = redirection.end()
                self.redirect(redirection[1] or redirection[2])
            elif (found := _FUNCTION.match(self.text, self.at)) and not words:
                self.at = found.end()
                defines = True
            elif control := _CONTROL.match(self.text, self.at):
                self.at = control.end()
                if words:
                    yield tuple(words)
                    words = []
                if control[0] == "\n":
                    self.skip_here_documents()
                defines = self.enclose(control[0], defines=defines)
            else:
                read = self.word()
                if read and all(word.text in _BEFORE_A_COMMAND for word in words):
                    defines = self.enclose(read[0].text, defines=defines)
                words += read
        if words:
            yield tuple(words)

    def enclose(self, mark: str, *, defines: bool) -> bool:
        """Keep track of a function's body; `defines` says that its name was read, and so the answer says."""
        if self.body and mark == self.body[-1]:
            self.body.pop()
        elif mark in _CLOSING and (defines or self.body):
            self.body.append(_CLOSING[mark])
        return defines and mark == "\n"

    def skip_blank(self) -> bool:
        """Go to the next token; False at the end of the text."""
        while self.at < len(self.text):
            if self.text[self.at] in _BLANK:
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return True
        return False

    def redirect(self, operator: str) -> None:
        if not self.skip_blank() or _CONTROL.match(self.text, self.at):
            return
        target = self.word()
        if operator in ("<<", "<<-"):
            self.here_documents.append((target[0].text if target else "", operator == "<<-"))

    def skip_here_documents(self) -> None:
        """A here-document's body starts on the line after its operator (POSIX 2.7.4)."""
        for delimiter, strip_tabs in self.here_documents:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line, self.at = self.text[self.at : end], end + 1
                if (line.lstrip("\t") if strip_tabs else line) == delimiter:
                    break
        self.here_documents = []

    def word(self) -> list[Word]:
        """The word that starts here: one, or as many as `$@` makes of it."""
        field = _Field()
        while self.at < len(self.text) and (
            (character := self.text[self.at]) not in _METACHARACTERS or self.text[self.at : self.at + 2] in ("<(", ">(")
        ):
            if plain := _PLAIN.match(self.text, self.at):
                field.add(plain[0])
                self.at = plain.end()
            elif character == "\\":
                self.escaped(field)
            elif character == "'":
                field.add_quoted(self.until_quote(self.at + 1))
            elif character == '"' or self.text.startswith('$"', self.at):
                self.at += 1 if character == '"' else 2
                self.double_quoted(field)
            elif self.text.startswith("$'", self.at):
                self.ansi_c_quoted(field)
            elif character in "$`<>":
                self.expansion(field, quoted=False)
            elif test := _TEST.match(self.text, self.at):
                field.add(test[0])
                self.at = test.end()
            else:  # a pattern: the shell puts the matching file names in its place
                field.add(character)
                field.expansion = field.expansion or character
                self.at += 1
        return field.words()

    def escaped(self, field: _Field) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following != "\n":
            field.add_quoted(following or "\\")

    def until_quote(self, start: int) -> str:
        end = self.text.find("'", start)
        if end < 0:
            raise UnreadableScriptError("a single quote is not closed")
        self.at = end + 1
        return self.text[start:end]

    def double_quoted(self, field: _Field) -> None:
        field.quoted = True
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == '"':
                self.at += 1
                return
            if character == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                self.escaped(field)
            elif character in "$`":
                self.expansion(field, quoted=True)
            else:
                field.add(character)
                self.at += 1
        raise UnreadableScriptError("a double quote is not closed")

    def ansi_c_quoted(self, field: _Field) -> None:
        self.at += 2
        field.quoted = True
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == "'":
                return
            if character == "\\":
                following = self.text[self.at : self.at + 1]
                self.at += 1
                character = _ANSI_C.get(following, following)
            field.add(character)
        raise UnreadableScriptError("a $' quote is not closed")

    def expansion(self, field: _Field, *, quoted: bool) -> None:
        """What starts with `$`, a backtick, `<(` or `>(`: positional parameters are filled in, the rest is kept."""
        start = self.at
        parameter = _PARAMETER.match(self.text, start)
        if parameter and not self.text.startswith("$$(", start):
            self.at = parameter.end()
            if (name := parameter[2] or parameter[4]) and self.body:
                field.add_expansion(parameter[0], single=quoted and name not in "@*")
            elif name:
                field.add_parameter(self.value(name), list_of=name == "@" or not quoted, quoted=quoted)
            else:
                field.add_expansion(parameter[0], single=quoted or bool(parameter[3]))
            return
        opening = _OPENING.match(self.text, start)
        if not opening:
            field.add("$")
            self.at += 1
            return
        self.at = self.closing(opening.end(), {"(": ")", "{": "}", "`": "`"}[opening[0][-1]])
        written = self.text[start : self.at]
        single = quoted or written.startswith(("$((", "<", ">"))
        field.add_expansion(written, single=single)

    def value(self, name: str) -> tuple[str, ...]:
        if name in "@*":
            return self.positional
        if name == "0":
            return (self.zero,)
        return self.positional[int(name) - 1 : int(name)]

    def closing(self, start: int, closer: str) -> int:
        """The place after `closer`, which ends what was opened before `start`; quotes and nesting are respected."""
        expected, at = [closer], start
        while expected:
            if at >= len(self.text):
                raise UnreadableScriptError(f"`{expected[-1]}` is missing")
            character = self.text[at]
            if character == "\\":
                at += 1
            elif character == expected[-1]:
                expected.pop()
            elif character == "'" and expected[-1] != '"':
                at = self.text.find("'", at + 1)
                if at < 0:
                    raise UnreadableScriptError("a single quote is not closed")
            elif character in '"`':
                expected.append(character)
            elif character == "(" and (expected[-1] == ")" or self.text[at - 1] == "$"):
                expected.append(")")
            elif character == "{" and self.text[at - 1] == "$":
                expected.append("}")
            at += 1
        return at


class _Field:
    """A word in the making."""

    def __init__(self) -> None:
        self.texts: list[str] = [""]
        self.expansion = ""
        self.quoted = False
        self.vanishes = False

    def add(self, text: str) -> None:
        self.texts[-1] += text

    def add_quoted(self, text: str) -> None:
        self.quoted = True
        self.add(text)

    def add_expansion(self, written: str, *, single: bool) -> None:
        self.add(written)
        if not single:
            self.expansion = self.expansion or written

    def add_parameter(self, values: Sequence[str], *, list_of: bool, quoted: bool) -> None:
        if not quoted and any(not _KEPT_WHOLE.fullmatch(value) for value in values):
            self.expansion = self.expansion or " ".join(values)
        if not list_of:
            self.add(" ".join(values))
        elif values:
            self.add(values[0])
            self.texts += values[1:]
        # `"$@"` without parameters, and an unset parameter without quotes, leave no word at all (POSIX 2.5.2).
        self.vanishes = self.vanishes or (list_of and not values)

    def words(self) -> list[Word]:
        if self.texts == [""] and (self.vanishes or not self.quoted):
            return []
        return [Word(text, self.expansion) for text in self.texts]
