"""Ranges of releases with holes in them, as text in rule files.

    range  = clause *( "," clause )                  every clause must hold
    clause = ( ">=" | ">" | "<=" | "<" ) X.Y.Z
           | ( "==" | "!=" ) ( X.Y.Z | X.Y.* )       X.Y.* is the whole minor line

A hole is a `!=` clause: `>=1.0.0,<1.6.0,!=1.5.2`. There is no "or": two ranges are two rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Literal

import msgspec

from stator.errors import Problem
from stator.versions.version import PART, InvalidVersionError, Version

Operator = Literal[">=", ">", "<=", "<", "==", "!="]

_Parts = tuple[int, ...]
_HOLDS: dict[str, Callable[[_Parts, _Parts], bool]] = {">=": ge, ">": gt, "<=": le, "<": lt, "==": eq, "!=": ne}
_CLAUSE = re.compile(rf"\s*(>=|<=|==|!=|>|<)\s*({PART}\.{PART}\.(?:{PART}|\*))\s*")


class Clause(msgspec.Struct, frozen=True):
    """One comparison. `line` compares the minor line (`X.Y.*`) and ignores the patch."""

    operator: Operator
    version: Version
    line: bool = False

    def __contains__(self, version: Version) -> bool:
        parts = slice(2 if self.line else 3)
        return _HOLDS[self.operator](
            msgspec.structs.astuple(version)[parts], msgspec.structs.astuple(self.version)[parts]
        )

    def __str__(self) -> str:
        """`>=1.0.0` or `!=1.5.*`."""
        named = f"{self.version.major}.{self.version.minor}.*" if self.line else str(self.version)
        return f"{self.operator}{named}"


class VersionRange(msgspec.Struct, frozen=True):
    """The releases for which every clause holds; `version in range` asks."""

    clauses: tuple[Clause, ...]

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """Read the grammar above. Raises InvalidVersionError naming the clause that does not fit."""
        return cls(tuple(_clause(part, text) for part in text.split(",")))

    def __contains__(self, version: Version) -> bool:
        return all(version in clause for clause in self.clauses)

    def __str__(self) -> str:
        """The text that parses to this range, without spaces."""
        return ",".join(map(str, self.clauses))


def _clause(part: str, text: str) -> Clause:
    found = _CLAUSE.fullmatch(part)
    line = found is not None and found[2].endswith("*")
    if found is None or (line and found[1] not in {"==", "!="}):
        raise InvalidVersionError(
            Problem(
                what=f'"{text}" is not a version range',
                why=f'clause "{part.strip()}" is not an operator and a version',
                remedy="write clauses like >=1.0.0,<1.6.0,!=1.5.2; X.Y.* goes with == and != only",
            )
        )
    version = Version.parse(found[2].replace("*", "0"))
    return Clause(found[1], version, line)  # type: ignore[arg-type]  # the expression lets no other operator through
