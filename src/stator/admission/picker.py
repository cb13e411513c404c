"""The endpoint picker: what it needs of the cluster, and which of its settings its release takes."""

from __future__ import annotations

from collections.abc import Iterator

from stator.admission.subject import Breach, Subject
from stator.model import Component
from stator.versions import Version

# From this release on the picker is written in Rust and takes no configuration of its own.
_WITHOUT_CONFIG = Version(1, 5, 0)


def picker(subject: Subject) -> Iterator[Breach]:
    """Rules of a component of type epp; `eppConfig` belongs to it alone."""
    for component in subject.graph.components:
        if component.type == "epp":
            yield from _picker(subject, component)
        elif component.other.get("eppConfig") is not None:
            yield Breach(
                rule="epp-config",
                path=(*component.path, "eppConfig"),
                what=f"component {component.name}: eppConfig goes with the type epp only",
                remedy="leave it out, or set the type",
            )


def _picker(subject: Subject, component: Component) -> Iterator[Breach]:
    about = f"component {component.name}: "
    if subject.installed.inference_pools is False:
        yield Breach(
            rule="epp-pool",
            path=(*component.path, "type"),
            what=f"{about}the cluster has no InferencePool, which an endpoint picker serves",
            remedy="install the Gateway API Inference Extension (inference.networking.k8s.io), or leave it out",
        )
    version, config = subject.version(component), component.other.get("eppConfig")
    if version is None:
        return
    if version < _WITHOUT_CONFIG:
        if config is None:
            yield Breach(
                rule="epp-config",
                path=(*component.path, "eppConfig"),
                what=f"{about}eppConfig is required",
                why=f"an endpoint picker before {_WITHOUT_CONFIG} has no other configuration, and this is {version}",
                remedy="set eppConfig.configMapRef or eppConfig.config",
                given=str(version),
            )
        if component.replicas not in (None, 1):
            yield Breach(
                rule="epp-replicas",
                path=(*component.path, "replicas"),
                what=f"{about}must have 1 replica, not {component.replicas}",
                why=f"endpoint pickers before {_WITHOUT_CONFIG} do not share their state, and this is {version}",
                remedy="set replicas to 1",
            )
    elif config is not None:
        yield Breach(
            rule="epp-config",
            path=(*component.path, "eppConfig"),
            what=f"{about}eppConfig is not taken any more",
            why=f"an endpoint picker from {_WITHOUT_CONFIG} on reads its environment, and this is {version}",
            remedy="leave it out",
            given=str(version),
        )
