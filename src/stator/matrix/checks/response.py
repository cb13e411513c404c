"""What all responses have in common: complete, of the right content type, JSON that names what it is."""

from __future__ import annotations

from typing import Any

import msgspec

from stator.matrix.exchange import OK, Exchange


def judge_answered(exchange: Exchange, *, content_type: str = "application/json") -> tuple[str, ...]:
    """A complete 200 of the expected content type; the first thing every check asks."""
    if exchange.error:
        return (f"no complete response: {exchange.error}",)
    if exchange.status != OK:
        return (f"status {exchange.status}: {beginning(exchange.body)}",)
    if exchange.content_type.partition(";")[0].strip().lower() != content_type:
        return (f"content type {exchange.content_type!r}, not {content_type}",)
    return ()


def read_object(exchange: Exchange) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The JSON object of a complete 200, or an empty one and what is wrong."""
    if unanswered := judge_answered(exchange):
        return {}, unanswered
    try:
        body = msgspec.json.decode(exchange.body)
    except msgspec.DecodeError as error:
        return {}, (f"the body is no JSON: {error}",)
    return (body, ()) if isinstance(body, dict) else ({}, ("the body is no JSON object",))


def judge_named(body: dict[str, Any], kind: str, model: str) -> tuple[str, ...]:
    """The object says that it is of this kind and from this model."""
    wanted = (("object", kind), ("model", model))
    return tuple(f"{name} is {body.get(name)!r}, not {value!r}" for name, value in wanted if body.get(name) != value)


def is_count(value: Any) -> bool:
    """A whole number, not negative. JSON has true and 1.0 as well."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def beginning(text: str, length: int = 200) -> str:
    """The first words of a body, on one line."""
    words = " ".join(text.split())
    return words if len(words) <= length else words[:length] + "…"
