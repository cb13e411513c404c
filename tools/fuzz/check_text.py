"""Coverage-guided fuzzing: no text may end `stator check` in anything but a report or an error of its own.

Atheris is not a dependency: `pip install atheris`, then `python tools/fuzz/check_text.py -max_total_time=300 CORPUS`.
A new corpus directory is filled with the examples and the manifests of the tests first. What is found becomes a test.
"""

from __future__ import annotations

import io
import sys

import atheris
from corpus import fill

with atheris.instrument_imports(include=["stator"]):
    from stator.check import CheckOptions, check, read
    from stator.check.formats import FORMATS, write
    from stator.errors import StatorError


def one(data: bytes) -> None:
    """Check one text, and write the report in each format."""
    try:
        report = check(read(["-"], stdin=io.BytesIO(data)), CheckOptions())
    except StatorError as error:
        str(error)
        return
    for name in FORMATS:
        write(name, report, "error")


if __name__ == "__main__":
    fill(sys.argv[1:])
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
