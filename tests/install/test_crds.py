"""The custom resource definitions, as values. What a server makes of them is in `tests/cluster/test_install.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from stator.install.crds import custom_resource_definitions

WEBHOOK = {"service": {"namespace": "stator-system", "name": "stator", "path": "/convert"}}
BY_NAME = {crd["spec"]["names"]["shortNames"][0]: crd for crd in custom_resource_definitions(WEBHOOK)}


def nodes(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema object below one, with its path."""
    yield path, schema
    for name, inner in (schema.get("properties") or {}).items():
        yield from nodes(inner, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from nodes(schema[keyword], f"{path}[]")


def spec_of(short: str, version: str) -> dict[str, Any]:
    """The schema of a kind's `spec`."""
    [found] = [item for item in BY_NAME[short]["spec"]["versions"] if item["name"] == version]
    return dict(found["schema"]["openAPIV3Schema"]["properties"]["spec"])


@pytest.mark.parametrize("short", BY_NAME)
def test_a_definition_fits_the_annotation_of_a_client_side_apply(short: str) -> None:
    """`kubectl apply` without --server-side writes the whole object into an annotation of at most 256 KiB."""
    assert len(msgspec.json.encode(BY_NAME[short])) < 200 * 1024


def test_without_a_conversion_webhook_only_the_new_version_is_served() -> None:
    """Nothing could translate v1alpha1, so it is known (objects may be stored in it) and not served."""
    served = {
        (crd["spec"]["names"]["kind"], version["name"]): version["served"]
        for crd in custom_resource_definitions(None)
        for version in crd["spec"]["versions"]
    }
    assert not served["DynamoGraphDeployment", "v1alpha1"]
    assert served["DynamoGraphDeployment", "v1beta1"]
    assert served["DynamoModel", "v1alpha1"]
    assert all("conversion" not in crd["spec"] for crd in custom_resource_definitions(None))


@pytest.mark.parametrize(("short", "version", "path"), [
    ("dgd", "v1beta1", ".components[].podTemplate.spec.containers[]"),
    ("dgd", "v1beta1", ".components[].eppConfig.config"),
    ("dgd", "v1beta1", ".providerOverride.value"),
    ("dgd", "v1alpha1", ".services[].extraPodSpec"),
    ("dgd", "v1alpha1", ".services[].extraPodSpec.mainContainer"),
    ("dcd", "v1beta1", ".podTemplate.spec"),
    ("dwm", "v1alpha1", ".data"),
])  # fmt: skip
def test_bodies_that_are_not_ours_keep_every_field(short: str, version: str, path: str) -> None:
    """A field that Kubernetes gains later, and that this schema does not know, is not pruned."""
    assert dict(nodes(spec_of(short, version)))[path]["x-kubernetes-preserve-unknown-fields"] is True


def test_components_and_containers_are_maps_to_server_side_apply() -> None:
    """Two managers can each own fields of the same component, or containers beside each other."""
    found = dict(nodes(spec_of("dgd", "v1beta1")))
    for path in (".components", ".components[].podTemplate.spec.containers"):
        assert found[path]["x-kubernetes-list-type"] == "map"
        assert found[path]["x-kubernetes-list-map-keys"] == ["name"]
