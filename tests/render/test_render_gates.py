"""What a runtime's release and the operator's release switch on."""

from __future__ import annotations

import pytest
from rendered import env_of, main_of, render, worker

from stator.render import RenderOptions
from stator.render.gates import GATES, Gate
from stator.versions import Version


@pytest.mark.parametrize(
    ("image", "override", "env", "enabled", "failures"),
    [
        ("reg/sg:1.4.0", "", "", "false", 1),
        ("reg/sg:1.4.999", "", "", "false", 1),
        ("reg/sg:1.5.0", "", "", "true", 3),
        ("reg/sg:v1.5.0-cuda13", "", "", "true", 3),
        ("reg/sg:custom", "", "", "false", 1),
        ("reg/sg:custom", "1.5.0", "", "true", 3),
        ("reg/sg:1.5.0", "1.4.0", "", "false", 1),
        ("reg/sg:1.5.0", "", "false", "false", 3),
        ("reg/sg:1.4.0", "", "true", "true", 1),
    ],
)
def test_canary_and_liveness_follow_the_runtime_release(
    image: str, override: str, env: str, enabled: str, failures: int
) -> None:
    """Active health checks and the liveness threshold go by the resolved release; a user's value wins."""
    text = worker(
        f"env: [{{name: DYN_HEALTH_CHECK_ENABLED, value: '{env}'}}]" if env else "",
        image=image,
        component=f"runtimeVersionOverride: '{override}'" if override else "",
    )
    manifest = render(text)
    assert env_of(manifest)["DYN_HEALTH_CHECK_ENABLED"] == enabled
    assert main_of(manifest)["livenessProbe"]["failureThreshold"] == failures


def test_an_older_operator_renders_without_the_gates_it_did_not_have() -> None:
    """Operator 1.4 knows neither the canary nor the higher threshold, whatever the runtime."""
    manifest = render(worker(image="reg/sg:1.6.0"), RenderOptions(operator=Version(1, 4, 2)))
    assert env_of(manifest)["DYN_HEALTH_CHECK_ENABLED"] == "false"
    assert main_of(manifest)["livenessProbe"]["failureThreshold"] == 1


@pytest.mark.parametrize(
    ("image", "operator", "present"),
    [
        ("reg/fe:1.6.0", Version(1, 6, 1), True),
        ("reg/fe:1.5.9", Version(1, 6, 1), False),
        ("reg/fe:nightly", Version(1, 6, 1), False),
        ("reg/fe:1.6.0", Version(1, 5, 1), False),
    ],
)
def test_a_frontend_gets_startup_probe_and_strict_prefix_from_1_6(
    image: str, operator: Version, *, present: bool
) -> None:
    """Both need the runtime and the operator at 1.6.0."""
    text = worker(image=image).replace("type: worker", "type: frontend")
    manifest = render(text, RenderOptions(operator=operator))
    assert ("startupProbe" in main_of(manifest)) is present
    assert ("DYN_NAMESPACE_PREFIX_STRICT" in env_of(manifest)) is present
    assert env_of(manifest)["DYN_NAMESPACE_PREFIX"] == "ns-g"


def test_an_unresolved_version_says_so() -> None:
    """The rendered component carries the reason, so that nobody takes it for an old runtime."""
    [component] = render(worker(image="reg/sg:nightly")).components
    assert component.version.source == "unresolved"
    assert "nightly" in component.version.why


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_no_gate_reaches_back_to_a_runtime_older_than_itself(gate: Gate) -> None:
    """A new default never changes what an operator upgrade injects into a runtime that was released before it."""
    assert gate.runtime >= gate.operator
    assert gate.evidence
