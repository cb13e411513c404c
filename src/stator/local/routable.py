"""Does the graph really answer? Ready means that a request succeeded (ai-dynamo/dynamo#11855, #2296).

A frontend says it is healthy before it knows a model, and lists a model before requests to it succeed. So after
every pod is Ready, the models are read through the frontend's address, and one real request is sent.
"""

from __future__ import annotations

import http.client
import time
from typing import Any

import msgspec


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the graph answered. `kind` is the endpoint that served it; an embedding's `text` is its beginning."""

    model: str
    kind: str
    text: str
    seconds: float
    dimensions: int = 0


class Routable(msgspec.Struct, frozen=True, kw_only=True):
    """Whether requests reach a model: the models listed, the answer, and in words what is missing."""

    models: tuple[str, ...] = ()
    answer: Answer | None = None
    missing: str = ""

    @property
    def ok(self) -> bool:
        """Nothing is missing."""
        return not self.missing


_TEXT_LENGTH = 300
_MAX_TOKENS = 32
_SHOWN_NUMBERS = 5
_OK = 200

# A frontend that does not know an endpoint for a model says so with one of these; anything else is the model's answer.
_NOT_SERVED = frozenset({400, 404, 405, 422, 501})


class _UnansweredError(Exception):
    """In words: what was asked, and what came back instead of an answer. `status` is 0 without an HTTP answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


def models(address: str, *, timeout: float = 5) -> Routable:
    """Ask `http://<address>/v1/models`; `missing` says what failed. Never raises for what the graph does."""
    try:
        listed = _listed(_request(address, "/v1/models", None, timeout))
    except _UnansweredError as error:
        return Routable(missing=str(error))
    return Routable(models=listed, missing="" if listed else "no worker has registered a model with the frontend yet")


def ask(address: str, *, model: str = "", text: str = "Hello", timeout: float = 30) -> Routable:
    """Send one chat completion, or one embedding request if the model does not chat; the first model by default.

    Never raises for what the graph does.
    """
    found = models(address, timeout=timeout)
    if not found.ok:
        return found
    if model and model not in found.models:
        return Routable(models=found.models, missing=f"model {model!r} is not among those that are served")
    chosen = model or found.models[0]
    try:
        answer = _chat_or_embedding(address, chosen, text, timeout)
    except _UnansweredError as error:
        return Routable(models=found.models, missing=str(error))
    return Routable(models=found.models, answer=answer)


def _chat_or_embedding(address: str, model: str, text: str, timeout: float) -> Answer:
    try:
        return _chat(address, model, text, timeout)
    except _UnansweredError as no_chat:
        if no_chat.status not in _NOT_SERVED:
            raise
        try:
            return _embedding(address, model, text, timeout)
        except _UnansweredError as no_embedding:
            if no_embedding.status in _NOT_SERVED:
                raise no_chat from no_embedding
            raise


def _chat(address: str, model: str, text: str, timeout: float) -> Answer:
    began = time.monotonic()
    body = {"model": model, "max_tokens": _MAX_TOKENS, "messages": [{"role": "user", "content": text}]}
    answer = _request(address, "/v1/chat/completions", body, timeout)
    try:
        said = answer["choices"][0]["message"]["content"] or ""
    except (KeyError, IndexError, TypeError) as error:
        raise _UnansweredError("the chat completion has no message") from error
    return Answer(model=model, kind="chat", text=said[:_TEXT_LENGTH], seconds=time.monotonic() - began)


def _embedding(address: str, model: str, text: str, timeout: float) -> Answer:
    began = time.monotonic()
    answer = _request(address, "/v1/embeddings", {"model": model, "input": text}, timeout)
    try:
        vector = [float(number) for number in answer["data"][0]["embedding"]]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise _UnansweredError("the embedding response has no vector") from error
    shown = ", ".join(f"{number:.4f}" for number in vector[:_SHOWN_NUMBERS])
    return Answer(model=model, kind="embedding", text=shown, dimensions=len(vector), seconds=time.monotonic() - began)


def _listed(answer: Any) -> tuple[str, ...]:
    try:
        return tuple(str(entry["id"]) for entry in answer["data"])
    except (KeyError, TypeError) as error:
        raise _UnansweredError("/v1/models does not answer with a list of models") from error


def _request(address: str, path: str, body: object, timeout: float) -> Any:
    """GET, or POST if there is a body; the decoded JSON of a 200."""
    connection = http.client.HTTPConnection(address, timeout=timeout)
    try:
        payload = None if body is None else msgspec.json.encode(body)
        method = "GET" if payload is None else "POST"
        connection.request(method, path, payload, {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise _UnansweredError(f"{path} on {address}: {str(error) or type(error).__name__}") from error
    finally:
        connection.close()
    if response.status != _OK:
        said = " ".join(content.decode("utf-8", "replace").split())[:_TEXT_LENGTH]
        raise _UnansweredError(f"{path} answers {response.status}: {said}", response.status)
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise _UnansweredError(f"{path} does not answer with JSON") from error
