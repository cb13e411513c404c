"""Embeddings: how many, in which order, finite numbers of one dimension, unit length where the model promises it."""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Sequence
from typing import Any

from stator.matrix.checks.response import beginning, is_count, judge_named, read_object
from stator.matrix.exchange import Exchange, Request

PATH = "/v1/embeddings"

# Engines compute in 16-bit floats: the largest difference seen between two answers to the same text is 6.5e-4.
NEAR = 5e-3
# The length of a unit vector out of such numbers.
_UNIT = 2e-2

Vector = tuple[float, ...]


def request(model: str, given: str | Sequence[str], encoding: str = "") -> Request:
    """An embeddings request for one text or several."""
    form = {"encoding_format": encoding} if encoding else {}
    return Request.post(PATH, {"model": model, "input": given, **form})


def judge_embeddings(
    exchange: Exchange, model: str, count: int, *, encoding: str = "float", unit: bool = False
) -> tuple[str, ...]:
    """`count` vectors, indexed in order, all finite, of one dimension, in the encoding that was asked for."""
    body, unread = read_object(exchange)
    if unread:
        return unread
    wrong = list(judge_named(body, "list", model))
    usage = body.get("usage")
    if not (isinstance(usage, dict) and is_count(usage.get("prompt_tokens")) and usage["prompt_tokens"]):
        wrong.append("usage counts no tokens")
    data = body.get("data")
    if not (isinstance(data, list) and all(isinstance(entry, dict) for entry in data)):
        return (*wrong, "data is no list of objects")
    if len(data) != count:
        wrong.append(f"{len(data)} embeddings for {count} input{'s' if count > 1 else ''}")
    if [entry.get("index") for entry in data] != list(range(len(data))):
        wrong.append(f"the order is {[entry.get('index') for entry in data]}")
    return (*wrong, *_vectors(data, encoding=encoding, unit=unit))


def _vectors(data: Sequence[dict[str, Any]], *, encoding: str, unit: bool) -> tuple[str, ...]:
    wrong: list[str] = []
    sizes: set[int] = set()
    for position, entry in enumerate(data):
        if entry.get("object") != "embedding":
            wrong.append(f"entry {position} is {entry.get('object')!r}, not 'embedding'")
        try:
            vector = decode(entry.get("embedding"), encoding)
        except ValueError as error:
            wrong.append(f"embedding {position}: {error}")
            continue
        sizes.add(len(vector))
        if not all(math.isfinite(number) for number in vector):
            wrong.append(f"embedding {position} has a number that is not finite")
        elif not any(vector):
            wrong.append(f"embedding {position} is all zeros")
        elif unit and abs(math.hypot(*vector) - 1) > _UNIT:
            wrong.append(f"embedding {position} has length {math.hypot(*vector):.4f}, not 1")
    if len(sizes) > 1:
        wrong.append(f"the dimensions differ: {sorted(sizes)}")
    return tuple(wrong)


def judge_same(one: Exchange, other: Exchange, *, encodings: tuple[str, str], at: tuple[int, int]) -> tuple[str, ...]:
    """Two vectors of two good responses that must be equal but for rounding: `at` says which of each."""
    first = vectors(one, encodings[0])[at[0]]
    second = vectors(other, encodings[1])[at[1]]
    if len(first) != len(second):
        return (f"{len(first)} dimensions here, {len(second)} there",)
    apart = max(abs(mine - theirs) for mine, theirs in zip(first, second, strict=True))
    return (f"the same text has vectors that differ by {apart:.4f}",) if apart > NEAR else ()


def vectors(exchange: Exchange, encoding: str) -> tuple[Vector, ...]:
    """The vectors of a response that was found right."""
    return tuple(decode(entry["embedding"], encoding) for entry in exchange.json()["data"])


def decode(value: Any, encoding: str) -> Vector:
    """One vector: a list of numbers, or base64 of little-endian 32-bit floats. Raises ValueError saying what it is."""
    if encoding == "base64":
        if not isinstance(value, str):
            raise ValueError(f"{type(value).__name__}, not base64 text")
        try:
            raw = base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise ValueError(f"no base64: {beginning(value, 40)}") from error
        if not raw or len(raw) % 4:
            raise ValueError(f"{len(raw)} bytes are no 32-bit floats")
        return struct.unpack(f"<{len(raw) // 4}f", raw)
    if not (isinstance(value, list) and value):
        raise ValueError(f"{type(value).__name__}, not a list of numbers")
    if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in value):
        raise ValueError("something in it is no number")
    return tuple(float(number) for number in value)
