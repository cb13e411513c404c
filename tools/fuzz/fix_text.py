"""Coverage-guided fuzzing: a fixed text is the old one but for what was fixed, and is fixed for good.

Run like `check_text.py`. Documents without a fixed finding keep their text; a second run fixes nothing more.
"""

from __future__ import annotations

import io
import sys

import atheris
from corpus import fill

with atheris.instrument_imports(include=["stator"]):
    from stator.check import CheckOptions, Reading, check, fixes, read
    from stator.check.report import Report
    from stator.errors import StatorError
    from stator.model import Document
    from stator.model.parse import parse


def checked(reading: Reading) -> Report:
    """The check that fixing asks for."""
    return check(reading, CheckOptions())


def documents(text: bytes) -> list[Document]:
    """The documents of a text that has to be readable. Raises ValueError."""
    found, problems = parse("-", text)
    if problems:
        raise ValueError(problems)
    return found


def one(data: bytes) -> None:
    """Fix everything that can be fixed, also what changes what runs."""
    try:
        done = fixes.fix(read(["-"], stdin=io.BytesIO(data)), checked, unsafe=True)
    except StatorError:
        return
    new = done.files.get("-", data)
    if bool(done.fixed) != (new != data):
        raise ValueError(f"{done.fixed} and the text is {'another' if new != data else 'the same'}")
    if not done.fixed:
        return
    before, after = documents(data), documents(new)
    if sum(one.value != other.value for one, other in zip(before, after, strict=True)) > len(done.fixed):
        raise ValueError(f"more documents changed than findings were fixed: {new!r}")
    again = fixes.fix(read(["-"], stdin=io.BytesIO(new)), checked, unsafe=True)
    if again.fixed or again.report.findings != done.report.findings:
        raise ValueError(f"not fixed for good: {new!r}")


if __name__ == "__main__":
    fill(sys.argv[1:])
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
