"""What is known of the cluster from files: definitions, chart values, keys of ConfigMaps and Secrets."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from graphs import found, frontend, graph, report, worker

from stator.check.definitions import platform
from stator.compat import Platform
from stator.errors import InvalidInputError
from stator.install.crds import custom_resource_definitions
from stator.model import Document
from stator.render import RenderOptions
from stator.versions import Version

Json = dict[str, Any]
NAME = "dynamographdeployments.nvidia.com"


def definitions() -> list[Json]:
    """The definitions as this project installs them."""
    return copy.deepcopy([dict(item) for item in custom_resource_definitions({"strategy": "Webhook"})])


def dgd(items: list[Json]) -> Json:
    """The definition of graphs among them."""
    return next(item for item in items if item["metadata"]["name"] == NAME)


def of_files(directory: Path, items: list[Json] = [], values: str | None = None) -> Platform:  # noqa: B006 - only read
    """The platform from files in a directory."""
    (directory / "crds.yaml").write_text(yaml.safe_dump_all(items))
    (directory / "values.yaml").write_text(values or "")
    return platform([str(directory / "crds.yaml")] if items else [], str(directory / "values.yaml") if values else None)


def beta(item: Json) -> Json:
    """The schema of v1beta1's components."""
    schema = next(version for version in item["spec"]["versions"] if version["name"] == "v1beta1")
    fields: Json = schema["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["components"]["items"]
    return fields["properties"]


def test_the_definitions_of_this_project_prune_nothing_of_a_usual_graph(tmp_path: Path) -> None:
    """A current definition takes everything this project can read, so nothing is found."""
    known = of_files(tmp_path, definitions())
    assert set(known.definitions) >= {"DynamoGraphDeployment", "DynamoComponentDeployment"}
    made = graph(frontend(), worker(sharedMemorySize="8Gi", main={"resources": {"limits": {"nvidia.com/gpu": "1"}}}))
    assert found(made, platform=known) == set()


def test_a_field_the_installed_definition_has_not_is_found_at_its_line(tmp_path: Path) -> None:
    """An older definition drops a field that every newer one has."""
    items = definitions()
    del beta(dgd(items))["sharedMemorySize"]
    made = graph(frontend(), worker(sharedMemorySize="8Gi"))
    (finding,) = report(made, platform=of_files(tmp_path, items)).findings
    assert (finding.rule, finding.severity, finding.component) == ("DYN601", "error", "Worker")
    assert "spec.components[1].sharedMemorySize" in finding.message
    assert finding.location is not None
    assert "sharedMemorySize" in yaml.safe_dump(made, sort_keys=False).splitlines()[finding.location.line - 1]


def test_a_version_that_is_not_served_or_not_converted_is_found(tmp_path: Path) -> None:
    """An object in a version the cluster does not know cannot be applied; without a webhook it loses its fields."""
    made = graph(frontend(), worker())
    items = definitions()
    item = dgd(items)
    item["spec"]["conversion"] = {"strategy": "None"}
    assert ("DYN601", "error", "") in found(made, platform=of_files(tmp_path, items))
    item["spec"]["versions"] = [version for version in item["spec"]["versions"] if version["name"] == "v1alpha1"]
    (finding,) = report(made, platform=of_files(tmp_path, items)).findings
    assert "does not serve v1beta1 (it serves v1alpha1)" in finding.message


def test_a_field_nobody_knows_is_said_once(tmp_path: Path) -> None:
    """The rule about unknown fields knows what was meant, so the one about definitions leaves it alone."""
    made = graph(frontend(), worker(sharedMemorySise="8Gi"))
    assert {rule for rule, _, _ in found(made, platform=of_files(tmp_path, definitions()))} == {"DYN410"}


NATS = [{"name": "DYN_EVENT_PLANE", "value": "nats"}]


@pytest.mark.parametrize(
    ("values", "operator", "rules"),
    [
        ("global: {}\n", "1.6.1", {"DYN602"}),
        ("global: {nats: {install: true}}\n", "1.6.1", set()),
        ("dynamo-operator: {natsAddr: 'nats://n:4222'}\n", "1.6.1", set()),
        ("global: {}\n", "1.3.1", set()),
    ],
)
def test_a_plane_needs_its_service(tmp_path: Path, values: str, operator: str, rules: set[str]) -> None:
    """NATS is not bundled any more from chart 1.4 on; the values may install it or say where one is."""
    release = "1.3.1" if operator == "1.3.1" else "1.6.1"
    made = graph(frontend(release), worker(release), env=NATS)
    options = RenderOptions(operator=Version.parse(operator))
    judged = found(made, platform=of_files(tmp_path, values=values), render=options)
    assert {rule for rule, _, _ in judged} == rules
    assert found(made, render=options) == set()


@pytest.mark.parametrize(
    ("values", "operator", "rules"),
    [
        ("dynamo-operator: {webhook: {enabled: false}}\n", "1.6.1", {"DYN604"}),
        ("dynamo-operator: {webhook: {enabled: true}}\n", "0.9.0", set()),
        ("dynamo-operator: {namespaceRestriction: {enabled: true}}\n", "1.4.0", {"DYN604"}),
        ("dynamo-operator: {namespaceRestriction: {enabled: true}}\n", "1.3.1", set()),
        ("dynamo-operator: {namespaceRestriction: {enabled: false}}\n", "1.4.0", set()),
        ("dynamo-operator: {namespaceRestriction: {enabled: true}, upgradeCRD: false}\n", "1.4.0", set()),
        ("dynamo-operator: {controllerManager: {manager: {image: {tag: 1.3.1}}}}\n", "1.4.0", {"DYN605"}),
        ("dynamo-operator: {controllerManager: {manager: {image: {tag: 1.4.0}}}}\n", "1.4.0", set()),
        ("dynamo-operator: {controllerManager: {manager: {image: {tag: ''}}}}\n", "1.4.0", set()),
        ("dynamo-operator: {controllerManager: {manager: {image: {tag: nightly}}}}\n", "1.4.0", set()),
    ],
)
def test_values_of_another_chart_are_found(tmp_path: Path, values: str, operator: str, rules: set[str]) -> None:
    """What a chart of this release refuses, ignores or cannot start is at most a warning: it is only told."""
    options = RenderOptions(operator=Version.parse(operator))
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    findings = report(made, platform=of_files(tmp_path, values=values), render=options).findings
    assert {finding.rule for finding in findings} == rules
    assert all(finding.severity == "warning" and finding.location is not None for finding in findings)


@pytest.mark.parametrize(("operator", "rules"), [("1.5.0", {"DYN606"}), ("1.4.2", set())])
def test_an_object_of_a_kind_that_is_gone_is_found(operator: str, rules: set[str]) -> None:
    """Checkpoints are an object of their own operator from 1.5 on."""
    made = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoCheckpoint", "metadata": {"name": "c"}}
    options = RenderOptions(operator=Version.parse(operator))
    assert {finding.rule for finding in report(made, render=options).findings} == rules


@pytest.mark.parametrize(("operator", "rules"), [("1.4.2", {"DYN607"}), ("1.5.0", set())])
def test_going_back_behind_the_storage_version_is_found(tmp_path: Path, operator: str, rules: set[str]) -> None:
    """What lies in v1beta1 is no use to an operator that stores v1alpha1."""
    items = definitions()
    dgd(items)["status"] = {"storedVersions": ["v1alpha1", "v1beta1"]}
    options = RenderOptions(operator=Version.parse(operator))
    made = graph(frontend("1.4.2"), worker("1.4.2"))
    judged = found(made, platform=of_files(tmp_path, items), render=options)
    assert {rule for rule, _, _ in judged if rule.startswith("DYN6")} == rules


@pytest.mark.parametrize(
    ("operator", "kubernetes", "rules"),
    [("1.1.0", "1.33.2", {"DYN608"}), ("1.1.0", "1.34.0", set()), ("1.1.1", "1.33.2", set())],
)
def test_a_release_of_kubernetes_can_be_too_old(operator: str, kubernetes: str, rules: set[str]) -> None:
    """One operator release asks for an API that came later."""
    known = Platform(kubernetes=Version.parse(kubernetes))
    options = RenderOptions(operator=Version.parse(operator))
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    assert {finding.rule for finding in report(made, platform=known, render=options).findings} == rules


@pytest.mark.parametrize(
    ("operator", "kinds", "rules"),
    [
        ("1.3.1", {"ClusterTopologyBinding"}, {"DYN603"}),
        ("1.4.0", {"ClusterTopologyBinding"}, set()),
        ("1.3.1", {"ClusterTopology"}, set()),
    ],
)
def test_topologies_have_another_name_since_an_operator_release(
    operator: str, kinds: set[str], rules: set[str]
) -> None:
    """A constraint cannot be honoured by an operator that looks for the old kind."""
    constraint = {"packDomain": "rack", "clusterTopologyName": "t"}
    made = graph(frontend("1.3.1"), worker("1.3.1"), topologyConstraint=constraint)
    options = RenderOptions(operator=Version.parse(operator))
    judged = found(made, platform=Platform(kinds=frozenset(kinds)), render=options)
    assert {rule for rule, _, _ in judged if rule.startswith("DYN6")} == rules


def test_files_that_are_no_definitions_or_values_are_refused(tmp_path: Path) -> None:
    """A wrong file name must not look like a cluster without definitions."""
    with pytest.raises(InvalidInputError, match="there is no CustomResourceDefinition"):
        of_files(tmp_path, [{"apiVersion": "v1", "kind": "Service"}])
    with pytest.raises(InvalidInputError, match="no file of chart values"):
        of_files(tmp_path, values="a: 1\n---\nb: 2\n")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        platform([str(tmp_path / "nowhere")], None)


def source(kind: str, **data: str) -> Json:
    """A ConfigMap or Secret called settings."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "settings"}, "data": data}


@pytest.mark.parametrize(("kind", "field"), [("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")])
def test_a_key_that_is_not_there_is_found_where_the_object_is(kind: str, field: str) -> None:
    """The pod would not start. Where the object itself is not among the files, nothing is known."""
    asked = {"name": "A", "valueFrom": {field: {"name": "settings", "key": "a"}}}
    optional = {"name": "A", "valueFrom": {field: {"name": "settings", "key": "a", "optional": True}}}
    made = graph(frontend(), worker(env=[asked]))
    assert ("DYN413", "error", "Worker") in found(made, source(kind, b="YQ=="))
    assert ("DYN413", "error", "Worker") in found(source(kind, b="YQ=="), made)
    assert found(made, source(kind, a="YQ==")) == set()
    assert found(made) == set()
    assert found(graph(frontend(), worker(env=[optional])), source(kind, b="YQ==")) == set()


def test_a_value_of_the_chart_is_found_below_what_is_no_mapping() -> None:
    """A path into a text or a list says nothing."""
    known = Platform(values=Document("values.yaml", {"global": ["nats"]}))
    assert known.value("global", "nats") is None
