"""A real Kubernetes API server for one run of the tests, shared by all its workers.

`attach` starts `python apiserver.py DIRECTORY ASSETS` unless it already runs. That process owns etcd, kube-apiserver
and kube-controller-manager, and stops them when nobody holds a shared lock on `users` any more: the kernel drops the
lock of a worker that was killed, so nothing is left behind whatever happens to the tests.

The simulated parts are the kubelet and the scheduler (`kubelet.py`); everything else is what a cluster runs.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import ipaddress
import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
STARTED_WITHIN = 90.0
STOPPED_WITHIN = 15.0
# The controllers whose work the operator relies on. Nodes and volumes do not exist here.
CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "job-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "disruption-controller",
    "clusterrole-aggregation-controller",
    "persistentvolumeclaim-protection-controller",
)


# The process that owns a server may outlive the one that started it, so nobody waits for it; kept from being warned of.
_owners: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Server:
    """How to reach the API server: as a client library, as `kubectl`, and as a person would."""

    url: str
    kubeconfig: Path
    kubectl: str

    def run_kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Standard output of `kubectl ARGUMENTS`; its standard error is in the exception when it fails."""
        done = subprocess.run(
            [self.kubectl, "--kubeconfig", str(self.kubeconfig), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr or done.stdout}")
        return done.stdout

    def restart(self) -> None:
        """Kill the API server and start it again as it was; returns when it is ready.

        For a server that one module of tests has for itself: etcd and the controllers go on.
        """
        directory = self.kubeconfig.parent
        asked = directory / "restart"
        asked.touch()
        end = time.monotonic() + STARTED_WITHIN
        while asked.exists():
            if time.monotonic() > end:
                raise AssertionError(f"the API server did not restart; see the logs in {directory}")
            time.sleep(0.05)

    def wait_established(self, *names: str) -> None:
        """Return when definitions (all, or `crd/NAME`) are served.

        `kubectl wait` fails on a definition that is so new that it has no condition yet.
        """
        end = time.monotonic() + STARTED_WITHIN
        while waiting := [*self._not_established(names)]:
            if time.monotonic() > end:
                raise AssertionError(f"not established: {', '.join(waiting)}")
            time.sleep(0.1)

    def _not_established(self, names: tuple[str, ...]) -> Iterator[str]:
        found = json.loads(self.run_kubectl("get", *(names or ("crd",)), "-o", "json"))
        for item in found.get("items", [found]):
            conditions = item.get("status", {}).get("conditions") or ()
            if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
                yield item["metadata"]["name"]

    def kubeconfig_of(self, namespace: str, account: str) -> Path:
        """A kubeconfig with a token of a service account, to see what its RBAC allows."""
        value = json.loads(self.kubeconfig.read_text())
        value["users"][0]["user"] = {"token": self.run_kubectl("create", "token", account, "-n", namespace).strip()}
        path = self.kubeconfig.with_name(f"kubeconfig-{namespace}-{account}-{secrets.token_hex(4)}")
        path.touch(mode=0o600)
        path.write_text(json.dumps(value))
        return path


def find_assets() -> Path | None:
    """The directory with the server's programs: $KUBEBUILDER_ASSETS, or what `hack/kubernetes/build` makes."""
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        directory = Path(given)
        missing = [name for name in PROGRAMS if not (directory / name).exists()]
        if missing:
            raise FileNotFoundError(f"$KUBEBUILDER_ASSETS={given} lacks {', '.join(missing)}")
        return directory
    script = Path(__file__).parents[2] / "hack" / "kubernetes" / "build"
    built = subprocess.run([str(script)], stdout=subprocess.PIPE, text=True, check=False)
    return Path(built.stdout.strip()) if built.returncode == 0 else None


@contextmanager
def attach(directory: Path, assets: Path, controllers: tuple[str, ...] = CONTROLLERS) -> Iterator[Server]:
    """The server of `directory`, started by whoever comes first and stopped after the last one has left."""
    directory.mkdir(parents=True, exist_ok=True)
    ready = directory / "ready"
    with (directory / "users").open("a") as users:
        with (directory / "start").open("a") as start:
            fcntl.flock(start, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)  # waits for a server that is just stopping
            if not ready.exists():
                _start_owner(directory, assets, controllers, ready)
        yield Server(ready.read_text(), directory / "kubeconfig", str(assets / "kubectl"))


def _start_owner(directory: Path, assets: Path, controllers: tuple[str, ...], ready: Path) -> None:
    with (directory / "owner.log").open("ab") as log:
        owner = subprocess.Popen(
            [sys.executable, __file__, str(directory), str(assets), *controllers],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    _owners.append(owner)
    end = time.monotonic() + STARTED_WITHIN
    while not ready.exists():
        if owner.poll() is not None or time.monotonic() > end:
            owner.terminate()
            raise RuntimeError(f"the API server did not start; see the logs in {directory}")
        time.sleep(0.05)


def serve(directory: Path, assets: Path, controllers: list[str]) -> None:
    """Run the three programs (two, without controllers) until nobody uses `directory` any more."""
    ready = directory / "ready"
    children: list[subprocess.Popen[bytes]] = []
    try:
        url = _start(directory, assets, controllers, children)
        partial = directory / "ready.partial"
        partial.write_text(url)
        partial.rename(ready)
        with (directory / "users").open("a") as users:
            while not _is_unused(users):
                _restart_if_asked(directory, url, children)
                time.sleep(0.1)
            ready.unlink()
            _stop(children)
            children.clear()
    finally:
        ready.unlink(missing_ok=True)
        _stop(children)


def _is_unused(users: IO[str]) -> bool:
    """Whether nobody uses the server any more; if so nobody can begin to."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _restart_if_asked(directory: Path, url: str, children: list[subprocess.Popen[bytes]]) -> None:
    """Do what `Server.restart` asks for."""
    asked = directory / "restart"
    if not asked.exists():
        return
    place = PROGRAMS.index("kube-apiserver")  # they are started in this order
    server = children[place]
    server.kill()
    server.wait()
    with (directory / "kube-apiserver.log").open("ab") as log:
        children[place] = subprocess.Popen(server.args, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    token = (directory / "tokens.csv").read_text().partition(",")[0]
    _wait_ready(f"{url}/readyz", directory / "ca.crt", token, children)
    asked.unlink()


def _start(directory: Path, assets: Path, controllers: list[str], children: list[subprocess.Popen[bytes]]) -> str:
    etcd, peer, port = free_ports(3)
    token = secrets.token_hex(16)
    (directory / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    write_certificates(directory)
    url = f"https://127.0.0.1:{port}"
    write_kubeconfig(directory / "kubeconfig", url, token, directory / "ca.crt")
    shutil.rmtree(directory / "etcd", ignore_errors=True)

    def run(program: str, **flags: str) -> None:
        with (directory / f"{program}.log").open("ab") as log:
            options = [f"--{flag.replace('_', '-')}={value}" for flag, value in flags.items()]
            children.append(
                subprocess.Popen([assets / program, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            )

    run(
        "etcd",
        name="default",
        data_dir=str(directory / "etcd"),
        listen_client_urls=f"http://127.0.0.1:{etcd}",
        advertise_client_urls=f"http://127.0.0.1:{etcd}",
        listen_peer_urls=f"http://127.0.0.1:{peer}",
        initial_advertise_peer_urls=f"http://127.0.0.1:{peer}",
        initial_cluster=f"default=http://127.0.0.1:{peer}",
        unsafe_no_fsync="true",
        quota_backend_bytes=str(4 << 30),
        log_level="warn",
    )
    run(
        "kube-apiserver",
        etcd_servers=f"http://127.0.0.1:{etcd}",
        bind_address="127.0.0.1",
        secure_port=str(port),
        tls_cert_file=str(directory / "server.crt"),
        tls_private_key_file=str(directory / "server.key"),
        token_auth_file=str(directory / "tokens.csv"),
        authorization_mode="RBAC",
        allow_privileged="true",
        service_cluster_ip_range="10.0.0.0/16",
        service_account_issuer="https://kubernetes.default.svc",
        service_account_key_file=str(directory / "accounts.key"),
        service_account_signing_key_file=str(directory / "accounts.key"),
        endpoint_reconciler_type="none",
    )
    _wait_ready(f"{url}/readyz", directory / "ca.crt", token, children)
    if not controllers:
        return url
    run(
        "kube-controller-manager",
        kubeconfig=str(directory / "kubeconfig"),
        controllers=",".join(controllers),
        leader_elect="false",
        secure_port="0",
        root_ca_file=str(directory / "ca.crt"),
        kube_api_qps="200",
        kube_api_burst="400",
    )
    return url


def free_ports(count: int) -> list[int]:
    """Ports on loopback that nobody listens on at this moment."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_ready(url: str, ca: Path, token: str, children: list[subprocess.Popen[bytes]]) -> None:
    context = ssl.create_default_context(cafile=ca)
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 # https, built above
    end = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < end:
        if any(child.poll() is not None for child in children):
            break
        try:
            with urllib.request.urlopen(request, context=context, timeout=2):  # noqa: S310 # as above
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"{url} is not ready, after {STARTED_WITHIN:g} s or because a program ended")


def _stop(children: list[subprocess.Popen[bytes]]) -> None:
    for child in reversed(children):
        child.terminate()
        try:
            child.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def write_kubeconfig(path: Path, url: str, token: str, ca: Path) -> None:
    """A kubeconfig for a server and a bearer token (JSON is YAML)."""
    value = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority": str(ca)}}],
        "users": [{"name": "test", "user": {"token": token}}],
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(value))


def write_certificates(directory: Path) -> None:
    """A certificate authority, the server's certificate, and the key that signs service account tokens."""
    authority, server, accounts = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test-ca")])
    start = dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
    end = start + dt.timedelta(days=2)

    def certificate(name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(ca_name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(end)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )

    ca = (
        certificate(ca_name, authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                crl_sign=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .sign(authority, hashes.SHA256())
    )
    names = [
        x509.DNSName("localhost"),
        x509.DNSName("kubernetes.default.svc"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    leaf = (
        certificate(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]), server)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
        .sign(authority, hashes.SHA256())
    )
    (directory / "ca.crt").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    (directory / "server.crt").write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    for name, key in (("server.key", server), ("accounts.key", accounts)):
        path = directory / name
        path.touch(mode=0o600)
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
            )
        )


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
