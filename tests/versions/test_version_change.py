"""`--set`: a graph as it would be with a component at another release."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from stator.errors import InvalidInputError
from stator.model import Component, Graph
from stator.model.load import load
from stator.versions import Version, with_versions_where_named

TO = Version(1, 6, 1)


def graph(name: str = "g", *, image: str = "reg:5000/a/sglang-runtime:v1.5.1-cuda13@sha256:00", **fields: Any) -> Graph:
    """A graph with one worker called Decode."""
    spec = {"containers": [{"name": "main", "image": image}], **fields.pop("pod", {})}
    component = {"name": "Decode", "type": "decode", "podTemplate": {"spec": spec}, **fields}
    document = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name},
        "spec": {"components": [component]},
    }
    return load(["-"], stdin=io.StringIO(json.dumps(document))).graphs[0]


def moved(given: Graph, key: str = "decode") -> Component:
    """Its worker at TO."""
    return with_versions_where_named([given], {key: TO})[0].components[0]


@pytest.mark.parametrize("key", ["Decode", "decode", "DECODE"])
def test_only_the_tag_is_edited_and_a_digest_is_dropped(key: str) -> None:
    """The digest names the old image, the suffix may not exist for the new release; registry and `v` stay."""
    assert moved(graph(), key).main["image"] == "reg:5000/a/sglang-runtime:v1.6.1"


def test_a_tag_that_names_no_release_gets_an_override() -> None:
    """There is nothing to edit in `:latest`, so the override says the release."""
    part = moved(graph(image="reg/sglang-runtime:latest"))
    assert (part.main["image"], part.runtime_version_override) == ("reg/sglang-runtime:latest", "1.6.1")


def test_an_override_moves_with_the_tag() -> None:
    """An override is final: left as it was it would undo the change."""
    assert moved(graph(runtimeVersionOverride="1.5.1")).runtime_version_override == "1.6.1"


def roles(*images: str) -> list[dict[str, Any]]:
    """A leader and a worker with pod templates of their own."""
    containers = ([{"name": "main", "image": image}] for image in images)
    return [
        {"name": name, "podTemplate": {"spec": {"containers": found}}}
        for name, found in zip(("leader", "worker"), containers, strict=True)
    ]


@pytest.mark.parametrize(
    ("images", "moved_to", "override"),
    [
        (("r/a:1.5.1", "r/b:v1.5.1"), ("r/a:1.6.1", "r/b:v1.6.1"), None),
        (("r/a:1.5.1", "r/b:latest"), ("r/a:1.6.1", "r/b:latest"), "1.6.1"),
    ],
)
def test_roles_with_pods_of_their_own_are_moved(
    images: tuple[str, str], moved_to: tuple[str, str], override: str | None
) -> None:
    """Leader and worker are one engine: both are at the release, by tag or by the override."""
    document = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g"},
        "spec": {
            "components": [{"name": "Decode", "type": "decode", "multinode": {"nodeCount": 2}, "roles": roles(*images)}]
        },
    }
    part = moved(load(["-"], stdin=io.StringIO(json.dumps(document))).graphs[0])
    found = [role["podTemplate"]["spec"]["containers"][0]["image"] for role in part.other["roles"]]
    assert (tuple(found), part.runtime_version_override) == (moved_to, override)


def test_the_container_that_holds_the_runtime_is_moved() -> None:
    """Beside a native engine that is the init container `runtime`, and the engine's own image stays."""
    init = {"name": "runtime", "image": "reg/sglang-runtime:1.5.1", "restartPolicy": "Always"}
    part = moved(graph(image="lmsys/sglang:v0.5.18", pod={"initContainers": [init]}))
    assert part.pod_spec["initContainers"][0]["image"] == "reg/sglang-runtime:1.6.1"
    assert part.main["image"] == "lmsys/sglang:v0.5.18"


def test_a_setting_that_fits_no_graph_is_an_error_that_names_the_components() -> None:
    """A typo is not an upgrade that changes nothing."""
    with pytest.raises(InvalidInputError, match=r"no component 'worker'.*Decode \(decode\)"):
        with_versions_where_named([graph()], {"worker": TO})
