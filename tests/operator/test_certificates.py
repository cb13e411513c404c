"""Certificates of the webhook server, over any time in which operators look after them or do not."""

from __future__ import annotations

import socket
import ssl
import tempfile
import threading
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from stator.operator.certificates import (
    LIFETIME,
    OVERLAP,
    RENEWED_BEFORE,
    Certificates,
    advanced,
    from_secret,
    to_secret,
)

HOSTS = ("stator-webhook.stator-system.svc", "127.0.0.1")
START = datetime(2026, 1, 1, tzinfo=UTC)
FIRST = advanced(None, HOSTS, START)


def trusted(certificates: Certificates, authorities: bytes, now: datetime) -> bool:
    """Whether a client that trusts `authorities` accepts the serving certificate at `now`."""
    leaf = x509.load_pem_x509_certificate(certificates.serving.certificate)
    store = x509.verification.Store(x509.load_pem_x509_certificates(authorities))
    verifier = x509.verification.PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName(HOSTS[0]))
    try:
        verifier.verify(leaf, [])
    except x509.verification.VerificationError:
        return False
    return True


@settings(max_examples=25, deadline=None)
@given(gaps=st.lists(st.integers(1, 40 * 24), min_size=1, max_size=12))
def test_the_server_is_trusted_at_any_time(gaps: list[int]) -> None:
    """However rarely operators look, what is served after a look is trusted by who was told at that look."""
    now, current = START, FIRST
    for hours in gaps:
        now += timedelta(hours=hours)
        current = advanced(current, HOSTS, now)
        assert trusted(current, current.authorities, now)


@settings(max_examples=10, deadline=None)
@given(step=st.integers(1, 20), days=st.integers(90, 200))
def test_a_change_of_certificates_never_outruns_trust(step: int, days: int) -> None:
    """With a look a day, what is served next is trusted by an API server that was told at the look before."""
    current, now = FIRST, START
    while now < START + timedelta(days=days):
        before, now = current, now + timedelta(hours=step)
        current = advanced(current, HOSTS, now)
        assert trusted(current, before.authorities, now)


def test_a_year_of_looks_changes_little() -> None:
    """A certificate is renewed every two months, and old authorities do not pile up."""
    current, now, served = FIRST, START, {FIRST.serving}
    for _ in range(365):
        now += timedelta(days=1)
        current = advanced(current, HOSTS, now)
        served.add(current.serving)
        assert len(x509.load_pem_x509_certificates(current.authorities)) <= 3
    assert len(served) == 365 // (LIFETIME - RENEWED_BEFORE).days + 1


def test_nothing_changes_before_it_is_time() -> None:
    """Two looks in a row write nothing."""
    assert advanced(FIRST, HOSTS, START + timedelta(days=1)) is FIRST


def test_a_clock_that_is_behind_replaces_nothing() -> None:
    """A replica whose clock is wrong does not fight the others over the certificate."""
    assert advanced(FIRST, HOSTS, START - timedelta(days=400)) is FIRST


def test_the_secret_keeps_everything() -> None:
    """What one replica writes, another takes over, successor included."""
    renewed = advanced(FIRST, HOSTS, START + LIFETIME - RENEWED_BEFORE)
    assert renewed.successor
    assert from_secret(to_secret(FIRST)) == FIRST
    assert from_secret(to_secret(renewed)) == renewed


OTHER = to_secret(advanced(None, HOSTS, START))


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"tls.key": b""},
        {"tls.key": OTHER["tls.key"]},
        {"ca.crt": b"nothing"},
        {"ca.crt": OTHER["ca.crt"]},
        {"tls.crt": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
    ],
)
def test_a_secret_that_cannot_serve_is_made_anew(broken: dict[str, bytes]) -> None:
    """Somebody emptied or edited it: the operator does not stay down over it."""
    values = to_secret(FIRST) | broken if broken else {}
    assert from_secret(values) is None


def test_a_certificate_for_other_names_is_replaced_at_once() -> None:
    """The operator moved to another namespace, with its Secret."""
    moved = advanced(FIRST, ("stator-webhook.elsewhere.svc",), START)
    assert moved.serving != FIRST.serving
    assert FIRST.authorities in moved.authorities


def test_private_keys_are_in_no_text() -> None:
    """A log line or an error that shows certificates shows no key."""
    key = FIRST.serving.key.decode().splitlines()[1]
    assert key not in repr(FIRST)
    assert b"PRIVATE" not in FIRST.authorities


def test_a_tls_client_accepts_the_server() -> None:
    """OpenSSL, which is stricter about extensions than a verifier in Python, shakes hands with it."""
    current = advanced(None, HOSTS, datetime.now(UTC))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(current.serving.certificate + current.serving.key)
        file.flush()
        context.load_cert_chain(file.name)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            plain, _ = listener.accept()
            with context.wrap_socket(plain, server_side=True) as connection:
                connection.sendall(b"hello")

        server = threading.Thread(target=serve)
        server.start()
        client = ssl.create_default_context(cadata=current.authorities.decode())
        with (
            socket.create_connection(listener.getsockname(), timeout=10) as plain,
            client.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        ):
            assert connection.recv(5) == b"hello"
        server.join(10)


def test_a_successor_for_other_names_is_thrown_away() -> None:
    """It would be served to clients that call by a name it does not have."""
    renewed = advanced(FIRST, HOSTS, START + LIFETIME - RENEWED_BEFORE)
    foreign = advanced(None, ("other",), START).serving
    mixed = msgspec.structs.replace(renewed, successor=foreign)
    after = advanced(mixed, HOSTS, START + LIFETIME - RENEWED_BEFORE + 2 * OVERLAP)
    assert after.serving == FIRST.serving
    assert after.successor != foreign
