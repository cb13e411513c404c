"""Chat completions in one piece: the form of the response, the token limit, the stop word."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from stator.matrix.checks.response import beginning, is_count, judge_named, read_object
from stator.matrix.exchange import Exchange, Request

PATH = "/v1/chat/completions"

_FINISHED = ("stop", "length")


def request(model: str, *, max_tokens: int, text: str = "Say something.", **more: Any) -> Request:
    """A chat completion request with one user message."""
    messages = [{"role": "user", "content": text}]
    return Request.post(PATH, {"model": model, "messages": messages, "max_tokens": max_tokens, **more})


def judge_unary(exchange: Exchange, model: str) -> tuple[str, ...]:
    """One finished choice with text of the assistant, the model's name, and usage that adds up."""
    body, unread = read_object(exchange)
    if unread:
        return unread
    wrong = list(judge_named(body, "chat.completion", model))
    if not (isinstance(body.get("id"), str) and body["id"]):
        wrong.append("there is no id")
    return (*wrong, *_choice(body), *_usage(body))


def judge_limit(exchange: Exchange, model: str, limit: int) -> tuple[str, ...]:
    """No more tokens than asked for, and exactly so many if the limit is why it ended."""
    if unanswered := judge_unary(exchange, model):
        return unanswered
    body = exchange.json()
    tokens, reason = body["usage"]["completion_tokens"], body["choices"][0]["finish_reason"]
    if tokens > limit:
        return (f"{tokens} tokens, though max_tokens is {limit}",)
    if reason == "length" and tokens != limit:
        return (f"finish_reason is length after {tokens} of {limit} tokens",)
    return ()


def judge_stop(exchange: Exchange, model: str, stop: str, limit: int) -> tuple[str, ...]:
    """It ended because of the stop word, before the limit, and the word is not in the text."""
    if unanswered := _judge_stopped_form(exchange, model):
        return unanswered
    body = exchange.json()
    choice = body["choices"][0]
    wrong: list[str] = []
    if choice["finish_reason"] != "stop":
        wrong.append(f"finish_reason is {choice['finish_reason']!r}, not 'stop'")
    if stop in (choice["message"].get("content") or ""):
        wrong.append(f"the text holds the stop word {stop!r}")
    if body["usage"]["completion_tokens"] >= limit:
        wrong.append(f"all {limit} tokens were generated")
    return tuple(wrong)


def _judge_stopped_form(exchange: Exchange, model: str) -> tuple[str, ...]:
    """The unary form, but for the text: nothing may stand before the stop word."""
    return tuple(wrong for wrong in judge_unary(exchange, model) if wrong != _NO_TEXT)


def stop_word(exchange: Exchange) -> str:
    """A stop word that a second answer holds as well: the most frequent letter of a first one (empty: it has none)."""
    try:
        content = exchange.json()["choices"][0]["message"]["content"] or ""
    except (msgspec.DecodeError, KeyError, IndexError, TypeError):
        return ""
    letters = Counter(letter for letter in content if letter.isalpha())
    return min(letters, key=lambda letter: (-letters[letter], letter)) if letters else ""


_NO_TEXT = "the message has no text"


def _choice(body: dict[str, Any]) -> tuple[str, ...]:
    choices = body.get("choices")
    if not (isinstance(choices, list) and len(choices) == 1 and isinstance(choices[0], dict)):
        return ("there is not exactly one choice",)
    choice: dict[str, Any] = choices[0]
    wrong: list[str] = []
    if not (is_count(choice.get("index")) and choice["index"] == 0):
        wrong.append(f"the choice's index is {choice.get('index')!r}, not 0")
    if choice.get("finish_reason") not in _FINISHED:
        wrong.append(f"finish_reason is {choice.get('finish_reason')!r}, not stop or length")
    message = choice.get("message")
    if not isinstance(message, dict):
        return (*wrong, "the choice has no message")
    if message.get("role") != "assistant":
        wrong.append(f"role is {message.get('role')!r}, not 'assistant'")
    if not (isinstance(message.get("content"), str) and message["content"]):
        wrong.append(_NO_TEXT)
    return tuple(wrong)


def _usage(body: dict[str, Any]) -> tuple[str, ...]:
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return ("there is no usage",)
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
    if not all(is_count(count) for count in counts):
        return (f"usage is not three counts: {beginning(str(usage))}",)
    prompt, completion, total = (int(count or 0) for count in counts)
    if prompt + completion != total:
        return (f"usage does not add up: {prompt} + {completion} is not {total}",)
    return () if prompt and completion else ("usage counts no tokens",)
