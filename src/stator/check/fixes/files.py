"""Whole files: written so that a reader sees the old one or the new one, and shown as differences."""

from __future__ import annotations

import difflib
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write(files: Mapping[str, bytes]) -> None:
    """Replace the content of each file by name, keeping its mode; a link is followed. Raises OSError with the name."""
    for name, content in files.items():
        target = Path(os.path.realpath(name))
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(stat.S_IMODE(target.stat().st_mode))
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def difference(name: str, before: bytes, after: bytes) -> str:
    """A unified difference, as `git apply` and `patch` take it; empty if there is none."""
    old, new = (content.decode("utf-8").splitlines(keepends=True) for content in (before, after))
    lines = difflib.unified_diff(old, new, f"a/{name.lstrip('/')}", f"b/{name.lstrip('/')}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
