"""What is read off a pull Secret: registries, and nothing else."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from stator.operator.caches import as_pull_secret
from stator.operator.pull_secrets import registries


def secret(key: str = ".dockerconfigjson", value: Any = None, text: str | None = None) -> dict[str, Any]:
    """A Secret of the cluster."""
    encoded = text if text is not None else base64.b64encode(json.dumps(value).encode()).decode()
    metadata = {"name": "regcred", "namespace": "ns", "uid": "u", "annotations": {"last-applied": "hunter2"}}
    return {"metadata": metadata, "data": {key: encoded}}


def auths(*keys: str) -> Any:
    """Credentials for registries."""
    return {"auths": {key: {"auth": "hunter2"} for key in keys}}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (secret(value=auths("nvcr.io")), ("nvcr.io",)),
        (secret(value=auths("https://index.docker.io/v1/")), ("docker.io",)),
        (secret(value=auths("ghcr.io/team", "reg.example:5000")), ("ghcr.io", "reg.example:5000")),
        (secret(".dockercfg", {"https://old.example": {"auth": "hunter2"}}), ("old.example",)),
    ],
)
def test_registries_are_named_as_images_name_them(found: dict[str, Any], expected: tuple[str, ...]) -> None:
    """Whatever form a tool wrote them in."""
    assert registries(found) == expected


@pytest.mark.parametrize(
    "found",
    [
        secret(text="no base64!"),
        secret(text=base64.b64encode(b"{").decode()),
        secret(value=[1]),
        secret(value={"auths": ["nvcr.io"]}),
        secret(value={"auths": {"": {}}}),
        secret("other", auths("nvcr.io")),
        {"metadata": {"name": "empty"}},
        {"metadata": {"name": "null"}, "data": None},
    ],
)
def test_a_secret_that_cannot_be_read_is_for_no_registry(found: dict[str, Any]) -> None:
    """A broken Secret breaks no operator."""
    assert registries(found) == ()


def test_nothing_secret_is_kept() -> None:
    """Neither credentials nor what a client wrote into annotations."""
    kept = as_pull_secret(secret(value=auths("nvcr.io")), {})
    assert kept == {"metadata": {"name": "regcred", "namespace": "ns"}, "registries": ("nvcr.io",)}
