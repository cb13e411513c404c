"""ConfigMaps and Secrets as the environment of a container sees them: text by key, bytes by key."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from stator.model.resources import SecretData


def config_map(value: Mapping[str, Any]) -> Mapping[str, str]:
    """The text values of a valid ConfigMap; binary ones that are no UTF-8 text cannot become environment variables."""
    values = dict(value.get("data", {}))
    for key, encoded in value.get("binaryData", {}).items():
        try:
            values[key] = base64.b64decode(encoded).decode()
        except UnicodeDecodeError:
            continue
    return values


def secret(value: Mapping[str, Any]) -> SecretData:
    """The values of a valid Secret; `stringData` wins over `data` (Kubernetes API reference, Secret)."""
    values = {key: base64.b64decode(encoded) for key, encoded in value.get("data", {}).items()}
    return SecretData(values | {key: text.encode() for key, text in value.get("stringData", {}).items()})
