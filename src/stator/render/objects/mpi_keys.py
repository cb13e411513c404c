"""The Secret with the key pair by which a multi-node TensorRT-LLM leader reaches its workers.

Rendering makes no keys: an object that is new at each look would never be equal to the one in the cluster. Whoever
applies a graph makes the Secret once per namespace, where `wants_mpi_keys` says so, and never replaces it: pods that
run keep the old keys.
"""

from __future__ import annotations

from typing import Any

from stator.render.manifest import Manifest

Json = dict[str, Any]

PRIVATE, PUBLIC = "private.key", "private.key.pub"


def wants_mpi_keys(manifest: Manifest) -> bool:
    """Whether pods of the graph mount the Secret."""
    return any(component.backend == "trtllm" and len(component.pods) > 1 for component in manifest.components)


def mpi_key_secret(namespace: str, name: str, *, private: bytes, public: bytes) -> Json:
    """The Secret around a key pair: an OpenSSH private key, and its public key as a line of `authorized_keys`."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/component": "mpi-ssh", "app.kubernetes.io/managed-by": "stator"},
        },
        "stringData": {PRIVATE: private.decode(), PUBLIC: public.decode()},
    }
