"""Which registries a pull Secret is for, without its credentials.

Only Secrets whose names the operator was started with are looked at. Of them the names of registries are kept; a
Secret that cannot be read has none.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import msgspec

from stator.render.pull_secrets import registry_of

Json = dict[str, Any]

# Entry of the Secret's data, and where in its JSON the registries are (Kubernetes documentation, "Docker config
# Secrets").
_DOCKER_CONFIG_JSON, _DOCKER_CONFIG = ".dockerconfigjson", ".dockercfg"


def registries(secret: Mapping[str, Any]) -> tuple[str, ...]:
    """The registry hosts that the Secret has credentials for, as images name them; sorted."""
    data = secret.get("data") or {}
    keys = {*_keys(data.get(_DOCKER_CONFIG_JSON), "auths"), *_keys(data.get(_DOCKER_CONFIG), "")}
    return tuple(sorted({_host(key) for key in keys} - {""}))


def _keys(encoded: Any, below: str) -> tuple[str, ...]:
    try:
        value = msgspec.json.decode(base64.b64decode(encoded or "e30="))
    except (TypeError, ValueError, binascii.Error):
        return ()
    value = value.get(below) if below and isinstance(value, dict) else value
    return tuple(value) if isinstance(value, dict) else ()


def _host(key: str) -> str:
    """The host in a key such as `https://index.docker.io/v1/` or `ghcr.io/team`."""
    _, _, rest = key.rpartition("://")
    host, _, _ = rest.partition("/")
    return registry_of(f"{host}/x") if host else ""
