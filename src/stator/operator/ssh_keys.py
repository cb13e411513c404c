"""A pair of SSH keys: the private one as OpenSSH keeps it, the public one as a line of `authorized_keys`."""

from __future__ import annotations

from typing import NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


class KeyPair(NamedTuple):
    """Both keys as OpenSSH reads them from files."""

    private: bytes
    public: bytes

    def __repr__(self) -> str:
        """Without the private key."""
        return f"KeyPair({self.public.decode()})"


def key_pair() -> KeyPair:
    """A new pair on P-256, which every OpenSSH takes, also one that is restricted to FIPS 186."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return KeyPair(private, public + b"\n")
