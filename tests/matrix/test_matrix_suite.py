"""The checks together: all of them run, in order, and a graph that answers wrongly is caught by the right one."""

from __future__ import annotations

import json
from typing import Any

from answers import MODEL, answer, chunk, completion, embeddings, stream

from stator.matrix.checks import Promise, run_suite
from stator.matrix.checks.service import judge_health, judge_models
from stator.matrix.checks.suite import probe
from stator.matrix.exchange import Exchange, Request

MODELS = {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
HEALTH = {"status": "healthy", "instances": [{"endpoint": "generate"}]}
VECTORS = {"hello world": [0.6, 0.8]}


class Graph:
    """Answers as a runtime does; `flaw` names what it does wrongly."""

    def __init__(self, flaw: str = "") -> None:
        self.flaw = flaw
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Exchange:
        """Answer one request."""
        self.asked.append(request)
        if request.path == "/v1/models":
            return answer({**MODELS, "data": []} if self.flaw == "models" else MODELS)
        if request.path == "/health":
            return answer({**HEALTH, "instances": []} if self.flaw == "health" else HEALTH)
        body = json.loads(request.body)
        return self._embed(body) if request.path == "/v1/embeddings" else self._chat(body)

    def _chat(self, body: dict[str, Any]) -> Exchange:
        if body.get("stream"):
            reason = [] if self.flaw == "stream" else [chunk(None, "length")]
            return stream(chunk("banana"), *reason, "[DONE]")
        if "stop" in body:
            return answer(completion("b" if self.flaw != "stop" else "banana", tokens=1, reason="stop"))
        tokens = body["max_tokens"] + (self.flaw == "limit" and body["max_tokens"] == 1)
        return answer(completion("banana", tokens=tokens))

    def _embed(self, body: dict[str, Any]) -> Exchange:
        encoding = body.get("encoding_format", "float")
        texts = [body["input"]] if isinstance(body["input"], str) else list(body["input"])
        vectors = [VECTORS.get(text, [0.8, 0.6]) for text in texts]
        if self.flaw == "batch" and len(texts) > 1:
            vectors.reverse()
            vectors = [vectors[1], vectors[0], vectors[2]]
        if self.flaw == "same":
            vectors = [[0.6, 0.8] for _ in texts]
        if self.flaw == "base64":
            encoding = "float"
        return answer(embeddings(*vectors, encoding=encoding))


def failed(kind: Any, flaw: str) -> list[str]:
    """The checks that a graph with this flaw fails."""
    return [check.name for check in run_suite(kind, MODEL, Graph(flaw), Promise(unit=True)) if not check.passed]


def test_a_graph_that_answers_rightly_passes_every_check() -> None:
    """Chat and embedding, and nothing of a passed check's exchange is kept."""
    for kind, names in (
        ("chat", ["models", "health", "unary", "stream", "max tokens", "stop word"]),
        ("embedding", ["models", "health", "default", "float", "base64", "batch"]),
    ):
        checks = run_suite(kind, MODEL, Graph(), Promise(unit=True))  # type: ignore[arg-type]
        assert [check.name for check in checks] == names
        assert all(check.passed and check.exchange is None for check in checks)


def test_each_flaw_is_caught_by_its_check() -> None:
    """And by no other, so that the name of a failed check says what is wrong."""
    assert failed("chat", "models") == ["models"]
    assert failed("chat", "health") == ["health"]
    assert failed("chat", "stream") == ["stream"]
    assert failed("chat", "limit") == ["max tokens"]
    assert failed("chat", "stop") == ["stop word"]
    assert failed("embedding", "base64") == ["base64"]
    assert failed("embedding", "batch") == ["batch"]
    assert failed("embedding", "same") == ["batch"]


def test_the_raw_exchange_of_a_failed_check_is_kept() -> None:
    """Request and response, as they were."""
    check = next(check for check in run_suite("chat", MODEL, Graph("stream"), Promise()) if not check.passed)
    assert check.exchange
    assert "[DONE]" in check.exchange.body


def test_a_graph_that_answers_nothing_fails_every_check() -> None:
    """Nothing passes because there was nothing to look at."""

    def dead(request: Request) -> Exchange:
        return Exchange(request=request, error="ConnectionRefusedError")

    for kind in ("chat", "embedding"):
        assert not any(check.passed for check in run_suite(kind, MODEL, dead, Promise()))  # type: ignore[arg-type]
        assert not probe(kind, MODEL, dead).passed  # type: ignore[arg-type]


def test_a_model_listed_twice_or_not_at_all_is_found() -> None:
    """The list of models is judged by itself as well."""
    twice = {**MODELS, "data": MODELS["data"] * 2}  # type: ignore[operator]
    assert "twice" in judge_models(answer(twice), MODEL)[0]
    assert "not among" in judge_models(answer(MODELS), "other")[0]
    assert judge_models(answer("x"), MODEL)


def test_healthy_without_a_worker_is_not_healthy() -> None:
    """A frontend says that it is healthy before it knows any worker."""
    assert judge_health(answer(HEALTH)) == ()
    assert judge_health(answer({"status": "healthy", "instances": []}))
    assert judge_health(answer({**HEALTH, "status": "unhealthy"}))
