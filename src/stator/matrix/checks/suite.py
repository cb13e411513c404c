"""The checks of a kind of model, in their order.

What can hurt the graph comes last: the stop word ends a request from the frontend's side, and there are releases whose
worker is taken for lost after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from stator.matrix.checks import chat, embeddings, service
from stator.matrix.checks.stream import judge_stream
from stator.matrix.exchange import Exchange, Request

Kind = Literal["chat", "embedding"]
Ask = Callable[[Request], Exchange]

LIMIT = 8
# Long enough that the most frequent letter of one answer is in another one.
STOP_LIMIT = 96
TEXTS = ("hello world", "the quick brown fox jumps over the lazy dog", "hello world")


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """What the model says about itself: `unit`: its vectors have length 1."""

    unit: bool = False


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """How one check went. The raw exchange is kept if it failed."""

    name: str
    violations: tuple[str, ...] = ()
    seconds: float = 0
    exchange: Exchange | None = None

    @property
    def passed(self) -> bool:
        """No violation."""
        return not self.violations


def run_suite(kind: Kind, model: str, ask: Ask, promise: Promise) -> tuple[CheckResult, ...]:
    """Run every check of this kind of model; none is left out because another one failed."""
    own = _chat(model, ask) if kind == "chat" else _embedding(model, ask, promise)
    return (*_service(model, ask), *own)


def probe(kind: Kind, model: str, ask: Ask) -> CheckResult:
    """Send one request as a user does: whether the worker serves at all."""
    if kind == "chat":
        exchange = ask(chat.request(model, max_tokens=LIMIT))
        return _result("unary", exchange, chat.judge_unary(exchange, model))
    exchange = ask(embeddings.request(model, TEXTS[0]))
    return _result("embedding", exchange, embeddings.judge_embeddings(exchange, model, 1))


def _service(model: str, ask: Ask) -> Iterator[CheckResult]:
    exchange = ask(Request(service.MODELS))
    yield _result("models", exchange, service.judge_models(exchange, model))
    exchange = ask(Request(service.HEALTH))
    yield _result("health", exchange, service.judge_health(exchange))


def _chat(model: str, ask: Ask) -> Iterator[CheckResult]:
    unary = ask(chat.request(model, max_tokens=LIMIT, temperature=0))
    yield _result("unary", unary, chat.judge_unary(unary, model))
    exchange = ask(chat.request(model, max_tokens=LIMIT, stream=True))
    yield _result("stream", exchange, judge_stream(exchange, model))
    exchange = ask(chat.request(model, max_tokens=1))
    yield _result("max tokens", exchange, chat.judge_limit(exchange, model, 1))
    stop = chat.stop_word(unary)
    if not stop:
        yield CheckResult(name="stop word", violations=("the first answer has no letter to stop at",), exchange=unary)
        return
    exchange = ask(chat.request(model, max_tokens=STOP_LIMIT, temperature=0, stop=[stop]))
    yield _result("stop word", exchange, chat.judge_stop(exchange, model, stop, STOP_LIMIT))


def _embedding(model: str, ask: Ask, promise: Promise) -> Iterator[CheckResult]:
    unit = promise.unit
    plain = ask(embeddings.request(model, TEXTS[0]))
    wrong = embeddings.judge_embeddings(plain, model, 1, unit=unit)
    good = not wrong
    yield _result("default", plain, wrong)
    for encoding in ("float", "base64"):
        exchange = ask(embeddings.request(model, TEXTS[0], encoding))
        wrong = embeddings.judge_embeddings(exchange, model, 1, encoding=encoding, unit=unit)
        if good and not wrong:
            wrong = embeddings.judge_same(plain, exchange, encodings=("float", encoding), at=(0, 0))
        yield _result(encoding, exchange, wrong)
    batch = ask(embeddings.request(model, TEXTS))
    wrong = embeddings.judge_embeddings(batch, model, len(TEXTS), unit=unit)
    yield _result("batch", batch, wrong or _order(plain if good else None, batch))


def _order(single: Exchange | None, batch: Exchange) -> tuple[str, ...]:
    """The vectors belong to the texts they stand beside: first and last text are the same, the middle is another."""
    together = ("float", "float")
    wrong = embeddings.judge_same(batch, batch, encodings=together, at=(0, 2))
    if single is not None:
        wrong = (*wrong, *embeddings.judge_same(single, batch, encodings=together, at=(0, 0)))
    if not embeddings.judge_same(batch, batch, encodings=together, at=(0, 1)):
        wrong = (*wrong, "two different texts have the same vector")
    return wrong


def _result(name: str, exchange: Exchange, violations: tuple[str, ...]) -> CheckResult:
    return CheckResult(
        name=name,
        violations=violations,
        seconds=round(exchange.seconds, 4),
        exchange=exchange if violations else None,
    )
