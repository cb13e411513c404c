"""Fixing what can be fixed: edits are tried on the text one by one, kept if nothing else changes, and checked again.

A mended manifest is checked like any other: what is found then may be mended in turn, until nothing more can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from stator.check.fixes.writing import MisfitError, RefusedError, Replacement, change
from stator.check.reading import Reading
from stator.check.report import Report
from stator.compat import Finding
from stator.model import Document
from stator.model.parse import as_yaml, parse

# Each round mends everything that does not stand in another fix's way, so few are needed; the bound ends a quarrel
# between two rules.
_ROUNDS = 8
_BOM = b"\xef\xbb\xbf"


class Fixed(msgspec.Struct, frozen=True):
    """A finding that is gone because its edit was made."""

    finding: Finding


class Unfixed(msgspec.Struct, frozen=True):
    """A finding whose edit could not be made in place, and why."""

    finding: Finding
    why: str


class Fixing(msgspec.Struct, frozen=True, kw_only=True):
    """What came of fixing: the new contents by file, and the report on them."""

    report: Report
    files: dict[str, bytes] = {}
    fixed: tuple[Fixed, ...] = ()
    unfixed: tuple[Unfixed, ...] = ()


def fix(reading: Reading, check: Callable[[Reading], Report], *, unsafe: bool = False) -> Fixing:
    """Mend what `check` finds in the sources, the unsafe edits only if asked for. Nothing is written to any file."""
    report = check(reading)
    files: dict[str, bytes] = {}
    fixed: list[Fixed] = []
    for _ in range(_ROUNDS):
        made = _round(reading, report, unsafe=unsafe)
        if not made.files:
            break
        files |= made.files
        reading = reading.with_changed(made.files)
        fixed += made.fixed
        report = check(reading)
    unfixed = _round(reading, report, unsafe=unsafe).unfixed
    return Fixing(report=report, files=files, fixed=tuple(fixed), unfixed=unfixed)


class _Made(NamedTuple):
    files: dict[str, bytes]
    fixed: list[Fixed]
    unfixed: tuple[Unfixed, ...]


def _round(reading: Reading, report: Report, *, unsafe: bool) -> _Made:
    """Every edit that does not touch what an earlier one of this round does."""
    wanted: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.edit is not None and finding.location is not None and (finding.safe or unsafe):
            wanted.setdefault(finding.location.file, []).append(finding)
    files: dict[str, bytes] = {}
    fixed: list[Fixed] = []
    unfixed: list[Unfixed] = []
    for name, findings in wanted.items():
        content = reading.text(name)
        if content is None:
            unfixed += [Unfixed(finding, "the file cannot be read") for finding in findings]
            continue
        edited, done, left = _edited(name, content, findings)
        fixed += done
        unfixed += left
        if edited != content:
            files[name] = edited
    return _Made(files, fixed, tuple(unfixed))


def _edited(name: str, content: bytes, findings: Sequence[Finding]) -> tuple[bytes, list[Fixed], list[Unfixed]]:
    """The content with the edits that can be made, and what became of each finding."""
    text = content.removeprefix(_BOM).decode("utf-8")
    documents, problems = parse(name, content)
    if problems or (text.lstrip().startswith("{") and as_yaml(text) != text):
        return content, [], [Unfixed(finding, "the file is not read as it is written") for finding in findings]
    taken: list[Replacement] = []
    fixed: list[Fixed] = []
    unfixed: list[Unfixed] = []
    for finding in findings:
        try:
            replacements = _tried(name, text, documents, finding)
        except RefusedError as error:
            unfixed.append(Unfixed(finding, str(error)))
            continue
        if set(replacements) <= set(taken):
            fixed.append(Fixed(finding))
        elif not any(_touch(one, other) for one in replacements for other in taken):
            taken += replacements
            fixed.append(Fixed(finding))
    bom = _BOM if content.startswith(_BOM) else b""
    return bom + _applied(text, taken).encode("utf-8"), fixed, unfixed


def _tried(name: str, text: str, documents: Sequence[Document], finding: Finding) -> tuple[Replacement, ...]:
    """The replacements for one finding, if they alone do what they should. Raises RefusedError."""
    for index, document in enumerate(documents):
        if finding.edit is None or finding.location is None:
            break
        try:
            made = change(text, document, finding.location, finding.edit)
        except MisfitError:
            continue
        values = [made.expected if at == index else each.value for at, each in enumerate(documents)]
        again, problems = parse(name, _applied(text, made.replacements).encode("utf-8"))
        if problems or [each.value for each in again] != values:
            raise RefusedError("more than this would change in the file")
        return made.replacements
    raise MisfitError("its place is written in another way than it is read")


def _touch(one: Replacement, other: Replacement) -> bool:
    """Whether two replacements overlap, or begin at the same place so that their order would matter."""
    return one.start < other.end and other.start < one.end if one.start != other.start else True


def _applied(text: str, replacements: Sequence[Replacement]) -> str:
    for start, end, new in sorted(replacements, reverse=True):
        text = text[:start] + new + text[end:]
    return text
