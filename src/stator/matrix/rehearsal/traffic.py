"""Clients that use a graph while it changes, and judge every answer as strictly as the matrix does.

A client is a thread that sends one request at a time, each on a connection of its own, at a steady pace; a slow answer
makes it skip beats rather than pile them up. Chat clients alternate between whole and streamed answers.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

import msgspec

from stator.matrix.checks import Kind, chat, embeddings
from stator.matrix.checks.stream import judge_stream
from stator.matrix.exchange import Exchange, Request, send

# Long enough that a worker is often stopped in the middle of an answer.
_TOKENS = 24
# Raw exchanges kept as evidence.
_KEPT = 20


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """One request: in which phase it was sent, how long it took in seconds, and what was wrong with the answer.

    `status` is the answer's, 0 without one.
    """

    phase: int
    at: float
    seconds: float
    status: int = 0
    violations: tuple[str, ...] = ()
    exchange: Exchange | None = None


class Pacing(msgspec.Struct, frozen=True, kw_only=True):
    """`clients` send at once, `rate` requests a second together; `timeout` is of one request, in seconds."""

    clients: int = 4
    rate: float = 10
    timeout: float = 60


class Traffic:
    """The clients of one rehearsal. `phase` is written by the conductor and noted with every request."""

    def __init__(self, address: str, kind: Kind, model: str, pacing: Pacing) -> None:
        self.phase = 0
        self._address, self._kind, self._model, self._pacing = address, kind, model, pacing
        self._sent: list[Sent] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._kept = 0
        self._clients = [
            threading.Thread(target=self._client, args=(number,), daemon=True) for number in range(pacing.clients)
        ]

    def start(self) -> None:
        """Begin to send."""
        for client in self._clients:
            client.start()

    def halt(self) -> None:
        """Send no more; answers that are under way are not waited for."""
        self._over.set()

    def end(self) -> None:
        """Send no more, and wait for the last answers."""
        self.halt()
        for client in self._clients:
            client.join()

    def sent(self) -> tuple[Sent, ...]:
        """Everything answered so far."""
        with self._lock:
            return tuple(self._sent)

    def _client(self, number: int) -> None:
        pause = self._pacing.clients / self._pacing.rate
        # Clients begin one after the other, so that requests are spread over the pace.
        beat = time.monotonic() + pause * number / self._pacing.clients
        for turn in itertools.count(number):
            if self._over.wait(max(beat - time.monotonic(), 0)):
                return
            beat = max(beat + pause, time.monotonic())
            self._send(turn)

    def _send(self, turn: int) -> None:
        request, judge = self._request(turn)
        phase, at = self.phase, time.time()
        exchange = send(self._address, request, timeout=self._pacing.timeout)
        violations = judge(exchange)
        with self._lock:
            keep = bool(violations) and self._kept < _KEPT
            self._kept += keep
            self._sent.append(
                Sent(
                    phase=phase,
                    at=round(at, 3),
                    seconds=exchange.seconds,
                    status=exchange.status,
                    violations=violations,
                    exchange=exchange if keep else None,
                )
            )

    def _request(self, turn: int) -> tuple[Request, Callable[[Exchange], tuple[str, ...]]]:
        model = self._model
        if self._kind == "embedding":
            request = embeddings.request(model, f"text {turn}")
            return request, lambda exchange: embeddings.judge_embeddings(exchange, model, 1)
        if turn % 2:
            request = chat.request(model, max_tokens=_TOKENS, text=f"Say {turn}.", stream=True)
            return request, lambda exchange: judge_stream(exchange, model)
        request = chat.request(model, max_tokens=_TOKENS, text=f"Say {turn}.")
        return request, lambda exchange: chat.judge_limit(exchange, model, _TOKENS)
