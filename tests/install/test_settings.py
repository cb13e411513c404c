"""What `stator install` takes and refuses, and that an installation is what was asked for."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from stator.cli.install import install
from stator.cli.operator import run
from stator.errors import InvalidInputError
from stator.install.installation import installation
from stator.install.rights import GRAPHS, OWN, PICKER, PLANNER, access
from stator.install.settings import Settings, checked
from stator.operator.names import CERTIFICATES

Json = dict[str, Any]


@pytest.mark.parametrize(
    "image",
    [
        "stator",
        "localhost/stator:0.1.0",
        "registry.example:5000/a/b_c/stator:v1.2.3-rc.1",
        "registry.example/stator@sha256:" + "0" * 64,
        "registry.example/stator:1@sha256:" + "a" * 64,
    ],
)
def test_an_image_reference_is_taken(image: str) -> None:
    """With or without registry, port, tag and digest."""
    assert checked(Settings(image=image)).image == image


@pytest.mark.parametrize(
    "settings",
    [
        *(
            Settings(image=image)
            for image in ("", "Stator", "a b", "stator:", "stator@sha256:1", "a//b", "a\nb", "$(x)")
        ),
        Settings(namespace="a.b"),
        Settings(pull_secrets=("A b",)),
        Settings(namespace="A"),
        Settings(replicas=0),
        Settings(reject=("DYN999",)),
        Settings(reject=("fatal",)),
        Settings(reject=("error",), webhooks=False),
        Settings(reject=("error",), namespaced=True),
    ],
)
def test_what_would_not_work_is_refused(settings: Settings) -> None:
    """Before anything is applied to a cluster."""
    with pytest.raises(InvalidInputError):
        checked(settings)


def test_all_that_is_wrong_is_said_at_once() -> None:
    """Nobody fixes options one by one."""
    with pytest.raises(InvalidInputError) as raised:
        checked(Settings(namespace="A", image="A", replicas=0, reject=("x",)))
    assert len(raised.value.problems) == 4


def printed(*arguments: str) -> list[Json]:
    """What the command prints, as objects."""
    result = CliRunner().invoke(install, [*arguments, "-o", "json"], catch_exceptions=False)
    return list(json.loads(result.stdout)["items"])


def test_the_command_prints_the_installation() -> None:
    """Every option arrives."""
    options = ("--namespace", "ops", "--image", "r.example/s:1", "--replicas", "3", "--reject", "error")
    settings = Settings(namespace="ops", image="r.example/s:1", replicas=3, reject=("error",))
    assert printed(*options) == json.loads(json.dumps(installation(settings)))


def test_the_webhooks_come_last() -> None:
    """While the rest is applied, nothing asks an operator that is not there yet."""
    kinds = [item["kind"] for item in printed()]
    assert kinds[-2:] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]


def test_the_operator_can_be_deleted_without_the_graphs() -> None:
    """Its part holds no definition, and none of its objects holds a graph."""
    operator, definitions = printed("--part", "operator"), printed("--part", "definitions")
    assert {item["kind"] for item in definitions} == {"CustomResourceDefinition"}
    assert definitions + operator == printed()
    assert not [item for item in operator if item["kind"] == "CustomResourceDefinition"]
    namespaced = printed("--part", "operator", "--namespaced")
    assert not [item for item in namespaced if item["kind"] == "Namespace"]


def test_without_webhooks_nothing_of_them_is_left() -> None:
    """No configuration, no Service, no port, no right on certificates, and only the version without conversion."""
    text = json.dumps(printed("--no-webhooks"))
    assert "webhook" not in text.lower()
    assert "certificates" not in text
    assert '"conversion"' not in text


@pytest.mark.parametrize("settings", [Settings(), Settings(namespaced=True), Settings(webhooks=False)])
def test_no_right_is_a_wildcard(settings: Settings) -> None:
    """Groups, resources and verbs are all named."""
    for item in access(settings):
        for rule in item.get("rules", ()):
            assert "*" not in json.dumps(rule)


def test_a_namespaced_installation_has_one_cluster_role_that_only_reads() -> None:
    """Its own definitions, by name, which classes an Ingress may have, and Leases of its name; nothing else."""
    [role] = [item for item in access(Settings(namespaced=True)) if item["kind"] == "ClusterRole"]
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["customresourcedefinitions"], ["get"]),
        (["ingressclasses"], ["get", "list", "watch"]),
        (["leases"], ["list"]),
    ]


def test_every_right_says_why() -> None:
    """Whoever reviews an installation reads a reason for each of them."""
    assert all(right.why for right in (*GRAPHS, *OWN, *PLANNER, *PICKER))


def test_two_namespaced_installations_do_not_share_objects() -> None:
    """Their objects outside namespaces have names of their own, but for the definitions."""
    one, two = (
        {
            (item["kind"], item["metadata"]["name"])
            for item in installation(Settings(namespace=name, namespaced=True))
            if "namespace" not in item["metadata"] and item["kind"] != "CustomResourceDefinition"
        }
        for name in ("a", "b")
    )
    assert not one & two


@pytest.mark.parametrize("settings", [Settings(), Settings(namespaced=True)])
def test_secrets_are_read_by_name_only(settings: Settings) -> None:
    """Those that a feature needs, or that somebody named; a right without names would be one on all of them."""
    for pulls in ((), ("regcred", "mirror")):
        given = msgspec.structs.replace(settings, pull_secrets=pulls)
        rules = [rule for item in access(given) for rule in item.get("rules", ()) if "secrets" in rule["resources"]]
        read = [rule for rule in rules if set(rule["verbs"]) & {"get", "list", "watch"}]
        assert all(rule.get("resourceNames") for rule in read)
        named = {name for rule in read for name in rule["resourceNames"]}
        own = set() if settings.namespaced else {CERTIFICATES}
        assert named == {"mpi-run-ssh-secret", *pulls} | own


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(namespaced=True),
        Settings(reject=("error", "DYN201")),
        Settings(pull_secrets=("regcred",)),
    ],
)
def test_the_operator_takes_the_arguments_it_is_started_with(settings: Settings) -> None:
    """The Deployment names no option that the command does not have."""
    [deployment] = [item for item in installation(settings) if item["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert container["args"][:2] == ["operator", "run"]
    assert run.make_context("run", [*container["args"][2:]]).params["webhook_port"] == (
        0 if settings.namespaced else 9443
    )
