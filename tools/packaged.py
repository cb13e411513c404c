#!/usr/bin/env python3
"""Write what is edited as YAML and read at every start as JSON: rules, option tables, schemas.

    .venv/bin/python tools/packaged.py

The YAML files are the source. Parsing them took a third of the time of `stator check`, so the package reads one JSON
file for each directory, which a test compares with them: run this after one of them was changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stator.model.parse import parse

PACKAGE = Path(__file__).parent.parent / "src" / "stator"
FOLDERS = ("compat/rules", "compat/options", "model/schemas")


def packaged(folder: Path) -> str:
    """The directory's files by name, a line for each so that a change of one is a change of one line."""
    lines = [f"{json.dumps(file.name)}: {_compact(_document(file))}" for file in sorted(folder.glob("*.yaml"))]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _document(file: Path) -> Any:
    documents, problems = parse(str(file), file.read_bytes())
    if problems or len(documents) != 1:
        raise SystemExit("\n".join(map(str, problems)) or f"{file}: holds {len(documents)} documents")
    return documents[0].value


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    for name in FOLDERS:
        (PACKAGE / f"{name}.json").write_text(packaged(PACKAGE / name))
