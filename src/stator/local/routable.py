"""Does the graph really answer? Ready means that a request succeeded (ai-dynamo/dynamo#11855, #2296).

A frontend says it is healthy before it knows a model, and lists a model before requests to it succeed. So after
every pod is Ready, the models are read through the frontend's address, and one real request is sent.
"""

from __future__ import annotations

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


def models(address: str, *, timeout: float = 5) -> Routable:
    """Ask `http://<address>/v1/models`; `missing` says what failed. Never raises for what the graph does."""
    raise NotImplementedError


def ask(address: str, *, model: str = "", text: str = "Hello", timeout: float = 30) -> Routable:
    """Send one chat completion, or one embedding request if the model does not chat; the first model by default."""
    raise NotImplementedError
