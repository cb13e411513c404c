"""What would mend a finding, said about the manifest and not about its text.

An edit is about the value at its finding's place. How it is written into a file, and whether it can be without
touching anything else, is decided where files are (`stator.check.fixes`).
"""

from __future__ import annotations

import msgspec


class SetEnv(msgspec.Struct, frozen=True, kw_only=True, tag="set-env"):
    """Give the entry of a variable another literal value."""

    name: str
    value: str


class RenameEnv(msgspec.Struct, frozen=True, kw_only=True, tag="rename-env"):
    """Give the entry of a variable another name, and another literal value unless that is empty."""

    name: str
    to: str
    value: str = ""


class RemoveEnv(msgspec.Struct, frozen=True, kw_only=True, tag="remove-env"):
    """Remove the entry of a variable."""

    name: str


class InsertEnv(msgspec.Struct, frozen=True, kw_only=True, tag="insert-env"):
    """Append an entry to the variables of the container that the place is in."""

    name: str
    value: str


class ReplaceWord(msgspec.Struct, frozen=True, kw_only=True, tag="replace-word"):
    """Write another word in an entry of `command` or `args`, which may be a script of which it is one word."""

    word: str
    to: str


class RemoveWord(msgspec.Struct, frozen=True, kw_only=True, tag="remove-word"):
    """Remove an entry of `command` or `args`, with the entry after it if that is its value."""

    word: str
    with_value: bool = False


class RenameField(msgspec.Struct, frozen=True, kw_only=True, tag="rename-field"):
    """Give a field another name."""

    name: str
    to: str


class RemoveField(msgspec.Struct, frozen=True, kw_only=True, tag="remove-field"):
    """Remove a field and all below it."""

    name: str


Edit = SetEnv | RenameEnv | RemoveEnv | InsertEnv | ReplaceWord | RemoveWord | RenameField | RemoveField
