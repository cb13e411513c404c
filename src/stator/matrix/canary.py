"""Does the request a worker checks itself with fit its own handler? Tells a bad probe from a bad worker.

An SGLang worker registers a request that the runtime sends to the worker whenever it was idle for a while. If handler
and request do not fit, a worker that serves well never becomes Ready (rule DYN101). Seen from outside, the two look
the same: not Ready. So the worker is watched while nobody asks it anything, and only then asked as a user would.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from stator.compat.predicates.sglang_canary import CHECKS, PAYLOAD
from stator.matrix.scenarios import MOCKER

Fit = Literal["fits", "bad probe", "bad worker", "not probed", "no evidence"]
Handler = Literal["chat", "prefill", "decode", "embedding"]

# Engines that register no request at all (seen on the published wheels 1.4.2 to 1.6.1).
_REGISTER_NOTHING = frozenset({MOCKER})
# What a handler cannot do without (ai-dynamo 1.4 to 1.6, dynamo/sglang: EmbeddingRequest, and the two input modes).
_NEEDED: Mapping[Handler, tuple[frozenset[str], ...]] = {
    "embedding": (frozenset({"model", "input"}),),
    "chat": (frozenset({"token_ids"}), frozenset({"prompt"})),
    "prefill": (frozenset({"token_ids"}), frozenset({"prompt"})),
    "decode": (frozenset({"token_ids"}), frozenset({"prompt"})),
}


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of one worker.

    `ready` and `rejection` are from before anybody asked it anything; `served` is whether a user's request got a
    right answer afterwards, None if none was sent. `env` are its literal variables.
    """

    pod: str
    component: str
    version: str
    engine: str
    handler: Handler
    env: Mapping[str, str]
    ready: bool
    rejection: str = ""
    served: bool | None = None


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """Whether probe and handler fit.

    `payload` is the request if it is set from outside, empty for the runtime's own.
    """

    pod: str
    component: str
    version: str
    handler: Handler
    fit: Fit
    why: str
    payload: str = ""


def judge(seen: Observation) -> Contract:
    """The verdict on one worker."""
    fit, why = _fit(seen)
    return Contract(
        pod=seen.pod,
        component=seen.component,
        version=seen.version,
        handler=seen.handler,
        fit=fit,
        why=why,
        payload=seen.env.get(PAYLOAD, ""),
    )


def _fit(seen: Observation) -> tuple[Fit, str]:
    if seen.env.get(CHECKS, "").strip() != "true":
        return "not probed", f"{CHECKS} is not true"
    if seen.engine in _REGISTER_NOTHING and PAYLOAD not in seen.env:
        return "not probed", f"{seen.engine} registers no request"
    if seen.ready:
        return "fits", f"Ready without a user's request{_expected(seen)}"
    return _rejected(seen)


def _rejected(seen: Observation) -> tuple[Fit, str]:
    if not seen.rejection:
        return "no evidence", "not Ready, and the runtime did not say that its check was rejected"
    if seen.served is None:
        return "no evidence", f"the check was rejected, and no user's request was sent: {seen.rejection}"
    if seen.served:
        return "bad probe", f"the worker serves and rejects its own check{_expected(seen)}: {seen.rejection}"
    return "bad worker", f"the worker rejects its own check and a user's request: {seen.rejection}"


def _expected(seen: Observation) -> str:
    """What the shape of a request that was set from outside lets expect."""
    text = seen.env.get(PAYLOAD, "")
    if not text:
        return " (the runtime's own request)"
    missing = missing_keys(text, seen.handler)
    return f" (the request lacks {', '.join(missing)})" if missing else " (the request has what the handler needs)"


def missing_keys(payload: str, handler: Handler) -> tuple[str, ...]:
    """The keys a handler needs and a payload does not have; the nearest of its shapes counts."""
    try:
        value = msgspec.json.decode(payload)
    except msgspec.DecodeError:
        value = None
    keys = frozenset(value) if isinstance(value, dict) else frozenset[str]()
    return min((tuple(sorted(needed - keys)) for needed in _NEEDED[handler]), key=_length)


def _length(missing: tuple[str, ...]) -> int:
    return len(missing)
