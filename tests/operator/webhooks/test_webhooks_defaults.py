"""What the defaulting webhook writes into graphs and components, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stator.operator.webhooks.defaults import defaults
from stator.operator.webhooks.reviews import AdmissionRequest
from stator.render import RenderOptions

Json = dict[str, Any]

PLAIN = RenderOptions()
GROVE = RenderOptions(provider="grove")
STAMP = "/metadata/annotations"


def request(value: Json, *, old: Json | None = None, kind: str = "DynamoGraphDeployment") -> AdmissionRequest:
    """A question about an object, as it comes over the wire."""
    fields = {
        "uid": "u",
        "kind": {"group": "nvidia.com", "version": value["apiVersion"].partition("/")[2], "kind": kind},
        "operation": "UPDATE" if old else "CREATE",
        "namespace": "ns",
        "name": "g",
        "object": value,
        "oldObject": old,
    }
    return msgspec.convert(fields, AdmissionRequest)


def beta(*components: Json, **metadata: Any) -> Json:
    """A v1beta1 graph."""
    spec = {"components": list(components)}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}


def alpha(**services: Json) -> Json:
    """A v1alpha1 graph."""
    spec = {"services": services}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {}, "spec": spec}


def added(patch: list[Json]) -> dict[str, Any]:
    """Path -> value of a patch, without the stamp of the release."""
    assert all(operation["op"] == "add" for operation in patch)
    return {item["path"]: item["value"] for item in patch if not item["path"].startswith(STAMP)}


def test_missing_replicas_become_one_in_either_version() -> None:
    """A number that is set stays, none included."""
    assert added(defaults(request(beta({"name": "a"}, {"name": "b", "replicas": 0})), PLAIN)) == {
        "/spec/components/0/replicas": 1
    }
    assert added(defaults(request(alpha(**{"a/b": {}})), PLAIN)) == {"/spec/services/a~1b/replicas": 1}


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (None, {STAMP: {"nvidia.com/dynamo-operator-origin-version": "1.6.1"}}),
        ({"a": "b"}, {f"{STAMP}/nvidia.com~1dynamo-operator-origin-version": "1.6.1"}),
        ({"nvidia.com/dynamo-operator-origin-version": "1.2.3"}, {}),
    ],
)
def test_a_new_graph_is_stamped_once(annotations: Json | None, expected: Json) -> None:
    """The release that made it is recorded, and never over another one."""
    metadata = {} if annotations is None else {"annotations": annotations}
    patch = defaults(request(beta({"name": "a", "replicas": 1}, **metadata)), PLAIN)
    assert {item["path"]: item["value"] for item in patch} == expected


def test_a_stored_graph_is_not_stamped() -> None:
    """What an older operator made is not said to be this one's."""
    value = beta({"name": "a", "replicas": 1})
    assert defaults(request(value, old=value), PLAIN) == []


WIDE = {
    "name": "a",
    "replicas": 2,
    "multinode": {"nodeCount": 4},
    "roles": [{"name": "leader"}, {"name": "worker"}],
    "providerOverride": {"apiVersion": "grove.io/v1alpha1", "value": {}},
}


def test_grove_graphs_say_their_minimum_roles_and_targets() -> None:
    """What Grove would take for granted stands in the graph; where Grove does not run it, nothing of that does."""
    assert added(defaults(request(beta(WIDE)), GROVE)) == {
        "/spec/components/0/minAvailable": 1,
        "/spec/components/0/providerOverride/target": "PodCliqueScalingGroupConfig",
        "/spec/components/0/roles/0/replicas": 1,
        "/spec/components/0/roles/1/replicas": 3,
    }
    declined = beta(WIDE, annotations={"nvidia.com/enable-grove": "false"})
    assert added(defaults(request(declined), GROVE)) == {}
    assert added(defaults(request(beta(WIDE)), PLAIN)) == {}


def test_a_minimum_that_was_never_written_is_not_written_by_a_change() -> None:
    """`minAvailable` cannot change, so a change by somebody else must not bring it in."""
    assert "/spec/components/0/minAvailable" not in added(defaults(request(beta(WIDE), old=beta(WIDE)), GROVE))


@pytest.mark.parametrize(("version", "field"), [("v1beta1", "name"), ("v1alpha1", "serviceName")])
def test_a_component_is_named_after_its_object(version: str, field: str) -> None:
    """In the words of the version it was submitted in; only when it is made."""
    value = {"apiVersion": f"nvidia.com/{version}", "kind": "DynamoComponentDeployment", "metadata": {}, "spec": {}}
    assert added(defaults(request(value, kind="DynamoComponentDeployment"), PLAIN)) == {f"/spec/{field}": "g"}
    assert defaults(request(value, old=value, kind="DynamoComponentDeployment"), PLAIN) == []


@pytest.mark.parametrize("spec", [{}, {"components": None}, {"components": ["x"]}, {"services": {"a": None}}])
def test_an_object_of_a_wrong_shape_gets_a_verdict_and_no_crash(spec: Json) -> None:
    """Defaults come before validation: whatever a user sends arrives here first."""
    value = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {}, "spec": spec}
    assert added(defaults(request(value), GROVE)) == {}
