"""Tells a bad probe from a bad worker."""

from __future__ import annotations

import msgspec
import pytest

from stator.matrix.canary import Observation, judge, missing_keys

SEEN = Observation(
    pod="worker-0",
    component="Worker",
    version="1.5.1",
    engine="dynamo.sglang",
    handler="embedding",
    env={"DYN_HEALTH_CHECK_ENABLED": "true"},
    ready=False,
    rejection="Health check error response from generate: ValidationError",
)


@pytest.mark.parametrize(
    ("changes", "fit"),
    [
        ({"served": True}, "bad probe"),
        ({"served": False}, "bad worker"),
        ({"served": None}, "no evidence"),
        ({"rejection": "", "served": True}, "no evidence"),
        ({"ready": True}, "fits"),
        ({"env": {"DYN_HEALTH_CHECK_ENABLED": "false"}}, "not probed"),
        ({"env": {}}, "not probed"),
        ({"engine": "dynamo.mocker"}, "not probed"),
    ],
)
def test_the_verdict_follows_from_what_was_seen(changes: dict[str, object], fit: str) -> None:
    """A worker that rejects its own check and serves users has a bad probe; one that serves nobody is bad itself."""
    assert judge(msgspec.structs.replace(SEEN, **changes)).fit == fit


def test_a_request_that_lacks_what_the_handler_needs_is_named() -> None:
    """The payload that was set from outside is held against the handler's shape."""
    env = {**SEEN.env, "DYN_HEALTH_CHECK_PAYLOAD": '{"token_ids":[1]}'}
    contract = judge(msgspec.structs.replace(SEEN, env=env, served=True))
    assert "lacks input, model" in contract.why
    assert contract.payload == '{"token_ids":[1]}'


@pytest.mark.parametrize(
    ("payload", "handler", "missing"),
    [
        ('{"model":"m","input":"Test"}', "embedding", ()),
        ('{"input":"Test"}', "embedding", ("model",)),
        ('{"token_ids":[1]}', "chat", ()),
        ('{"prompt":"x"}', "decode", ()),
        ('{"model":"m","input":"Test"}', "prefill", ("token_ids",)),
        ('{"model":"m","input":"T","token_ids":[1]}', "chat", ()),
        ("[]", "embedding", ("input", "model")),
        ("no JSON", "chat", ("token_ids",)),
    ],
)
def test_the_shape_a_handler_needs(payload: str, handler: str, missing: tuple[str, ...]) -> None:
    """Embedding wants model and input, generation token ids or a prompt."""
    assert missing_keys(payload, handler) == missing  # type: ignore[arg-type]
