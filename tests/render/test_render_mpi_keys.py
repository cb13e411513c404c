"""The Secret by which the leader of TensorRT-LLM on several nodes reaches its workers."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from multinode import lws
from rendered import pod_of

from stator.render import RenderOptions
from stator.render.objects.mpi_keys import mpi_key_secret, wants_mpi_keys


@pytest.mark.parametrize(
    ("framework", "nodes", "wanted"), [("trtllm", 2, True), ("trtllm", 1, False), ("sglang", 2, False)]
)
def test_only_several_nodes_of_trtllm_want_keys(framework: str, nodes: int, *, wanted: bool) -> None:
    """Nobody else logs in anywhere."""
    assert wants_mpi_keys(lws("-m", f"dynamo.{framework}", nodes=nodes)) is wanted


def test_the_secret_has_what_the_pods_mount() -> None:
    """Its name and entries are those that the leader's and the workers' scripts read."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    secret = mpi_key_secret("ns", RenderOptions().mpi_secret, private=private, public=public)
    for role in ("leader", "worker"):
        pod = pod_of(lws("-m", "dynamo.trtllm"), "Dec", role)
        [volume] = [item for item in pod["volumes"] if item.get("secret")]
        assert volume["secret"]["secretName"] == secret["metadata"]["name"]
        for entry in secret["stringData"]:
            assert f"/{entry} " in pod["containers"][0]["args"][0]
    assert (secret["metadata"]["namespace"], sorted(secret["stringData"])) == (
        "ns",
        ["private.key", "private.key.pub"],
    )
