"""A streamed chat completion, judged on its raw bytes: events only, one end, nothing after it.

The form is that of server-sent events (WHATWG HTML, section 9.2.6) as OpenAI's clients read them: every event is one
`data:` line and a blank line, the last one is `[DONE]`. Comments (a line that begins with a colon) are events' company
in that standard and are passed over; any other field or stray text is a violation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stator.matrix.checks.response import beginning, judge_answered
from stator.matrix.exchange import Exchange

CONTENT_TYPE = "text/event-stream"
DONE = "[DONE]"

_FINISHED = ("stop", "length")


def judge_stream(exchange: Exchange, model: str) -> tuple[str, ...]:
    """Every violation of the form, and of what a stream of one choice must hold."""
    if unanswered := judge_answered(exchange, content_type=CONTENT_TYPE):
        return unanswered
    events, stray = _events(exchange.body)
    wrong = list(stray)
    if DONE not in events:
        wrong.append("there is no [DONE]")
    elif after := len(events) - 1 - events.index(DONE):
        wrong.append(f"{after} event{'s' if after > 1 else ''} after [DONE]: {beginning(events[-1])}")
    before = events[: events.index(DONE)] if DONE in events else events
    return (*wrong, *_chunks(before, model))


def _events(body: str) -> tuple[list[str], list[str]]:
    """The data of each event, and what is in the body besides events."""
    events: list[str] = []
    stray: list[str] = []
    *blocks, rest = body.replace("\r\n", "\n").split("\n\n")
    if rest.strip("\n"):
        stray.append(f"the last event has no end: {beginning(rest)}")
        blocks.append(rest)
    for block in blocks:
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        data = [line[len("data:") :].removeprefix(" ") for line in lines if line.startswith("data:")]
        stray += [f"a line that is no data: {beginning(line)}" for line in lines if not line.startswith("data:")]
        if len(data) > 1:
            stray.append(f"an event of {len(data)} data lines")
        if data:
            events.append("\n".join(data))
    return events, stray


def _chunks(events: Sequence[str], model: str) -> tuple[str, ...]:
    wrong: list[str] = []
    chunks: list[dict[str, Any]] = []
    for event in events:
        try:
            chunk = msgspec.json.decode(event)
        except msgspec.DecodeError:
            wrong.append(f"an event is no JSON: {beginning(event)}")
            continue
        if isinstance(chunk, dict):
            chunks.append(chunk)
        else:
            wrong.append(f"an event is no JSON object: {beginning(event)}")
    if len({chunk.get("id") if isinstance(chunk.get("id"), str) else None for chunk in chunks} - {""}) > 1:
        wrong.append("the id changes from event to event")
    for chunk in chunks:
        if "error" in chunk:
            wrong.append(f"an error instead of a chunk: {beginning(str(chunk['error']))}")
        elif chunk.get("object") != "chat.completion.chunk":
            wrong.append(f"object is {chunk.get('object')!r}, not 'chat.completion.chunk'")
        elif chunk.get("model") != model:
            wrong.append(f"model is {chunk.get('model')!r}, not {model!r}")
    return (*dict.fromkeys(wrong), *_course(chunks))


def _course(chunks: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Text comes, then one finish reason, then no more text."""
    wrong: list[str] = []
    text, late = "", False
    reasons: list[Any] = []
    for chunk in chunks:
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            wrong.append("a chunk has no list of choices")
            continue
        for choice in choices:
            if choice.get("index") != 0:
                wrong.append(f"a choice has index {choice.get('index')!r}, not 0")
            delta = choice.get("delta")
            content = (delta.get("content") if isinstance(delta, dict) else None) or ""
            late |= bool(content and reasons)
            text += content if isinstance(content, str) else ""
            if choice.get("finish_reason") is not None:
                reasons.append(choice["finish_reason"])
    if len(reasons) != 1:
        wrong.append(f"{len(reasons)} finish reasons, not one")
    wrong += [f"finish_reason is {reason!r}, not stop or length" for reason in reasons if reason not in _FINISHED]
    if late:
        wrong.append("text after the finish reason")
    if not text:
        wrong.append("there is no text")
    return tuple(dict.fromkeys(wrong))
