"""Certificates of the webhook server: made, renewed before they expire, and handed over without a gap.

Pure: the clock is an argument, and so is what is in force. Every serving certificate has an authority of its own whose
key is thrown away once it has signed, so whoever reads them can act as the webhook server and as nothing else.

A renewal takes two steps. First the successor is made, and its authority is trusted beside the present one, while the
present certificate still serves. A day later, when every API server has been told, the successor serves. The old
authority is trusted until it expires.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=90)
RENEWED_BEFORE = timedelta(days=30)
OVERLAP = timedelta(days=1)
# How far the clocks of two machines may be apart.
SKEW = timedelta(hours=1)

_PEM = serialization.Encoding.PEM
# Keys of the Secret.
_AUTHORITIES, _CERTIFICATE, _KEY = "ca.crt", "tls.crt", "tls.key"
_NEXT_CERTIFICATE, _NEXT_KEY = "next.crt", "next.key"


class Pair(msgspec.Struct, frozen=True):
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        """Without the key."""
        return f"Pair(serial={x509.load_pem_x509_certificate(self.certificate).serial_number:x})"


class Certificates(msgspec.Struct, frozen=True, kw_only=True):
    """What is in force: the pair that serves, its successor if there is one, and the authorities to trust (PEM)."""

    serving: Pair
    authorities: bytes
    successor: Pair | None = None


def advanced(current: Certificates | None, hosts: tuple[str, ...], now: datetime) -> Certificates:
    """What must be in force at `now` (aware) for a server of these names; the same value if nothing has to change.

    `hosts` are DNS names and IP addresses. A certificate that is not valid yet is left alone: the clock is behind.
    """
    if current is None or not _serves(current.serving, hosts) or _end(current.serving.certificate) <= now:
        return _first(current, hosts, now)
    if current.successor is not None and not _serves(current.successor, hosts):
        current = msgspec.structs.replace(current, successor=None)
    if current.successor is None:
        if _end(current.serving.certificate) - RENEWED_BEFORE > now:
            return current
        pair, authority = _made(hosts, now)
        return Certificates(
            serving=current.serving,
            authorities=_valid(current.authorities, now) + authority,
            successor=pair,
        )
    made = _parsed(current.successor.certificate).not_valid_before_utc + SKEW
    if now - made < OVERLAP:
        return current
    return Certificates(serving=current.successor, authorities=_valid(current.authorities, now))


def to_secret(certificates: Certificates) -> dict[str, bytes]:
    """The contents of the Secret that keeps them."""
    values = {
        _AUTHORITIES: certificates.authorities,
        _CERTIFICATE: certificates.serving.certificate,
        _KEY: certificates.serving.key,
    }
    if certificates.successor:
        values |= {_NEXT_CERTIFICATE: certificates.successor.certificate, _NEXT_KEY: certificates.successor.key}
    return values


def from_secret(values: Mapping[str, bytes]) -> Certificates | None:
    """What the Secret keeps; None if it is not (or no longer) something that can serve."""
    serving = _pair(values.get(_CERTIFICATE, b""), values.get(_KEY, b""))
    authorities = values.get(_AUTHORITIES, b"")
    if serving is None or not _signed(serving, authorities):
        return None
    successor = _pair(values.get(_NEXT_CERTIFICATE, b""), values.get(_NEXT_KEY, b""))
    if successor is not None and not _signed(successor, authorities):
        successor = None
    return Certificates(serving=serving, authorities=authorities, successor=successor)


def _first(current: Certificates | None, hosts: tuple[str, ...], now: datetime) -> Certificates:
    """A certificate that has to serve at once; what is trusted by now stays trusted."""
    pair, authority = _made(hosts, now)
    return Certificates(serving=pair, authorities=(_valid(current.authorities, now) if current else b"") + authority)


def _made(hosts: tuple[str, ...], now: datetime) -> tuple[Pair, bytes]:
    """A serving pair, and the certificate of its authority."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    serial = x509.random_serial_number()
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"stator webhook authority {serial:x}"[:64])])
    authority = (
        _builder(issuer, issuer, authority_key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stator webhook")])
    leaf = (
        _builder(subject, issuer, key, now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    private = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Pair(leaf.public_bytes(_PEM), private), authority.public_bytes(_PEM)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - SKEW)
        .not_valid_after(now.astimezone(UTC) + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _parsed(certificate: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(certificate)


def _end(certificate: bytes) -> datetime:
    return _parsed(certificate).not_valid_after_utc


def _serves(pair: Pair, hosts: Iterable[str]) -> bool:
    """Whether a certificate is for all of these names."""
    names = _parsed(pair.certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return all(_general_name(host) in names for host in hosts)


def _pair(certificate: bytes, key: bytes) -> Pair | None:
    """The pair, if the two can be read and belong together."""
    try:
        public = serialization.load_pem_private_key(key, None).public_key()
        parsed = _parsed(certificate)
        parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (ValueError, TypeError, x509.ExtensionNotFound):
        return None
    return Pair(certificate, key) if parsed.public_key() == public else None


def _signed(pair: Pair, authorities: bytes) -> bool:
    """Whether one of the authorities signed the pair's certificate."""
    try:
        found = x509.load_pem_x509_certificates(authorities)
    except ValueError:
        return False
    leaf = _parsed(pair.certificate)
    for authority in found:
        try:
            leaf.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return True
    return False


def _valid(authorities: bytes, now: datetime) -> bytes:
    """The authorities that have not expired."""
    kept = [each for each in x509.load_pem_x509_certificates(authorities) if each.not_valid_after_utc > now]
    return b"".join(each.public_bytes(_PEM) for each in kept)
