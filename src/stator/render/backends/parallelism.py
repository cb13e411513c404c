"""How many GPUs a vLLM engine spans, as its command line says."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

_TENSOR = ("--tensor-parallel-size", "-tp")
_PIPELINE = ("--pipeline-parallel-size", "-pp")
_DATA = ("--data-parallel-size", "-dp")


class UnreadableSizeError(Exception):
    """A size is no literal number; the text says which."""


class Parallelism(msgspec.Struct, frozen=True):
    """The three sizes; each is 1 where the command line is silent."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    data_given: bool = False

    @property
    def world(self) -> int:
        """GPUs of one engine."""
        return self.tensor * self.pipeline


def parallelism(argv: Sequence[str]) -> Parallelism:
    """The sizes in vLLM's arguments, as `--flag N` or `--flag=N`; the last one counts, as in its own parser.

    Raises UnreadableSizeError where a size is only known at start (`$TP`).
    """
    data = _size(argv, _DATA)
    return Parallelism(_size(argv, _TENSOR) or 1, _size(argv, _PIPELINE) or 1, data or 1, data is not None)


def option(argv: Sequence[str], names: Sequence[str]) -> str | None:
    """The value of an option given under one of its names, the last one; None if it is absent."""
    value = None
    for index, word in enumerate(argv):
        name, equals, attached = word.partition("=")
        if name in names:
            value = attached if equals else "".join(argv[index + 1 : index + 2])
    return value


def _size(argv: Sequence[str], names: Sequence[str]) -> int | None:
    text = option(argv, names)
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UnreadableSizeError(f'{names[0]} is "{text}", which is no literal number')
    return int(text)
