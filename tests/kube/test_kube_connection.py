"""Which cluster is talked to, and what is said when that cannot be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from stator.kube.connection import load_configuration
from stator.kube.errors import ConfigurationError

_KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: staging
contexts: [{name: staging, context: {cluster: one, user: one}}]
clusters: [{name: one, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: one, user: {}}]
"""


def test_an_unknown_context_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    """A mistyped `--context` shows what could have been meant."""
    file = tmp_path / "kubeconfig"
    file.write_text(_KUBECONFIG)
    assert load_configuration(file, "staging").context_name == "staging"
    with pytest.raises(ConfigurationError, match="there is no context 'stagin': there are staging"):
        load_configuration(file, "stagin")
