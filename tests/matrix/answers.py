"""Right answers of a runtime, to be broken by tests."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

from stator.matrix.exchange import Exchange, Request

MODEL = "tiny"
STREAM = "text/event-stream"


def answer(body: Any, *, status: int = 200, content_type: str = "application/json", error: str = "") -> Exchange:
    """A response with this body: text as it is, anything else as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return Exchange(request=Request("/"), status=status, content_type=content_type, body=text, error=error)


def completion(
    content: str | None = "hello", *, tokens: int = 2, reason: str = "length", **more: Any
) -> dict[str, Any]:
    """A chat completion as the frontends send it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content},
                "finish_reason": reason,
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": tokens, "total_tokens": 3 + tokens},
        **more,
    }


def chunk(content: str | None, reason: str | None = None) -> dict[str, Any]:
    """One event of a stream."""
    delta = {"role": "assistant"} | ({"content": content} if content is not None else {})
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}],
    }


def stream(*events: Any) -> Exchange:
    """A stream of these events: text as it is, anything else as JSON."""
    data = (event if isinstance(event, str) else json.dumps(event) for event in events)
    return answer("".join(f"data: {event}\n\n" for event in data), content_type=STREAM)


def good_stream(*contents: str) -> list[Any]:
    """The events of a right stream."""
    return [*(chunk(content) for content in contents or ("he", "llo")), chunk(None, "length"), "[DONE]"]


def embeddings(*vectors: list[float], encoding: str = "float", **more: Any) -> dict[str, Any]:
    """An embeddings response."""
    return {
        "object": "list",
        "model": MODEL,
        "data": [
            {"object": "embedding", "index": index, "embedding": encoded(vector) if encoding == "base64" else vector}
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
        **more,
    }


def encoded(vector: list[float]) -> str:
    """Base64 of little-endian 32-bit floats."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
