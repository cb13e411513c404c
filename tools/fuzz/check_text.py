"""Coverage-guided fuzzing: no text may end `stator check` in anything but a report or an error of its own.

Atheris is not a dependency: `pip install atheris`, then `python tools/fuzz/check_text.py -max_total_time=300 CORPUS`.
A new corpus directory is filled with the examples and the manifests of the tests first. What is found becomes a test.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["stator"]):
    from stator.check import CheckOptions, check, read
    from stator.check.formats import FORMATS, write
    from stator.errors import StatorError

ROOT = Path(__file__).parents[2]


def one(data: bytes) -> None:
    """Check one text, and write the report in each format."""
    try:
        report = check(read(["-"], stdin=io.BytesIO(data)), CheckOptions())
    except StatorError as error:
        str(error)
        return
    for name in FORMATS:
        write(name, report, "error")


def main() -> None:
    """Fill an empty corpus, and go."""
    for argument in sys.argv[1:]:
        directory = Path(argument)
        if not argument.startswith("-") and directory.is_dir() and not any(directory.iterdir()):
            for index, path in enumerate(sorted([*ROOT.glob("examples/*.yaml"), *ROOT.glob("tests/**/*.yaml")])):
                if path.stat().st_size < 20_000:
                    (directory / f"{index}.yaml").write_bytes(path.read_bytes())
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
