"""Asking a graph for an answer, against a real HTTP server that behaves like a frontend."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from stator.local import routable

CHAT = {"choices": [{"message": {"role": "assistant", "content": "good morning"}}]}
EMBEDDING = {"data": [{"embedding": [0.5, -0.25, 0.125]}]}
MODELS = {"data": [{"id": "tiny"}, {"id": "other"}]}

Frontend = Callable[..., str]


class Handler(BaseHTTPRequestHandler):
    """Answers from a table of path to status and body."""

    answers: ClassVar[dict[str, tuple[int, Any]]] = {}
    asked: ClassVar[list[tuple[str, Any]]] = []

    def do_GET(self) -> None:
        """Answer."""
        self.answer(None)

    def do_POST(self) -> None:
        """Answer, and remember what was asked."""
        self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, body: Any) -> None:
        """Say what the table says; 404 for what it does not hold."""
        self.asked.append((self.path, body))
        status, said = self.answers.get(self.path, (404, {"message": "Model not found"}))
        content = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


@pytest.fixture
def frontend() -> Iterator[Frontend]:
    """Starts answering with these paths; returns the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def answering(models: Any = (200, MODELS), chat: Any = None, embeddings: Any = None) -> str:
        table = {"/v1/models": models, "/v1/chat/completions": chat, "/v1/embeddings": embeddings}
        Handler.answers = {path: answer for path, answer in table.items() if answer}
        Handler.asked = []
        return f"127.0.0.1:{server.server_port}"

    yield answering
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_chat_completion_is_the_answer(frontend: Frontend) -> None:
    """One real request, with the user's text, to the first model that is listed."""
    found = routable.ask(frontend(chat=(200, CHAT)), text="Hi")
    assert found.ok
    assert found.models == ("tiny", "other")
    assert found.answer
    assert (found.answer.model, found.answer.kind, found.answer.text) == ("tiny", "chat", "good morning")
    path, body = Handler.asked[-1]
    assert path == "/v1/chat/completions"
    assert body["messages"] == [{"role": "user", "content": "Hi"}]


def test_a_model_that_does_not_chat_is_asked_for_an_embedding(frontend: Frontend) -> None:
    """The vector's length and beginning are shown."""
    found = routable.ask(frontend(embeddings=(200, EMBEDDING)))
    assert found.ok
    assert found.answer
    assert (found.answer.kind, found.answer.dimensions) == ("embedding", 3)
    assert found.answer.text == "0.5000, -0.2500, 0.1250"


def test_a_chat_model_that_fails_is_not_asked_for_an_embedding(frontend: Frontend) -> None:
    """A listed model whose requests fail is not routable; what came back is said."""
    found = routable.ask(frontend(chat=(503, {"message": "no instances"}), embeddings=(200, EMBEDDING)))
    assert found.missing == '/v1/chat/completions answers 503: {"message": "no instances"}'
    assert [path for path, _ in Handler.asked] == ["/v1/models", "/v1/chat/completions"]


def test_a_model_that_serves_neither(frontend: Frontend) -> None:
    """The chat's refusal is said, as it was asked first."""
    assert routable.ask(frontend()).missing == '/v1/chat/completions answers 404: {"message": "Model not found"}'


def test_no_model_yet(frontend: Frontend) -> None:
    """A healthy frontend before its first worker is not routable."""
    address = frontend(models=(200, {"data": []}))
    expected = "no worker has registered a model with the frontend yet"
    assert routable.models(address).missing == expected
    assert routable.ask(address).missing == expected


def test_another_model_than_those_that_are_served(frontend: Frontend) -> None:
    """Nothing is asked of the wrong one."""
    assert routable.ask(frontend(), model="big").missing == "model 'big' is not among those that are served"


@pytest.mark.parametrize(
    ("models", "missing"),
    [
        ((500, {"message": "oops"}), '/v1/models answers 500: {"message": "oops"}'),
        ((200, b"<html>"), "/v1/models does not answer with JSON"),
        ((200, {"models": []}), "/v1/models does not answer with a list of models"),
    ],
)
def test_what_is_no_list_of_models(frontend: Frontend, models: Any, missing: str) -> None:
    """Said in words, never raised."""
    assert routable.models(frontend(models=models)).missing == missing


@pytest.mark.parametrize(
    ("chat", "missing"),
    [((200, {"choices": []}), "the chat completion has no message"), ((200, b"no"), "does not answer with JSON")],
)
def test_an_answer_that_is_none(frontend: Frontend, chat: Any, missing: str) -> None:
    """A 200 alone is not an answer."""
    assert missing in routable.ask(frontend(chat=chat)).missing


def test_nobody_there() -> None:
    """The address is named."""
    assert routable.models("127.0.0.1:1").missing.startswith("/v1/models on 127.0.0.1:1: ")
