"""What each fuzzer starts from: the examples and the manifests of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_LARGEST = 20_000


def fill(arguments: Sequence[str]) -> None:
    """Fill each empty directory among a fuzzer's arguments."""
    for argument in arguments:
        directory = Path(argument)
        if not argument.startswith("-") and directory.is_dir() and not any(directory.iterdir()):
            for index, path in enumerate(sorted([*_ROOT.glob("examples/*.yaml"), *_ROOT.glob("tests/**/*.yaml")])):
                if path.stat().st_size < _LARGEST:
                    (directory / f"{index}.yaml").write_bytes(path.read_bytes())
