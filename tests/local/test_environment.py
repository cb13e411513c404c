"""A container's environment, as the kubelet computes it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from stator.local.kubelet.environment import (
    Environment,
    PodFacts,
    ServiceAddress,
    Sources,
    Unresolved,
    pod_environment,
    quantity,
)
from stator.model import SecretData

POD = PodFacts(
    name="web-0",
    namespace="default",
    uid="1234",
    labels={"app": "web", "a/b": "c"},
    annotations={"note": "n"},
    node="laptop",
    service_account="robot",
    cpus=4,
    memory=8 * 1024**3,
)
SOURCES = Sources(
    config_maps={"cfg": {"COLOUR": "red", "1bad": "x", "SHAPE": "round"}, "other": {"COLOUR": "blue"}},
    secrets={"hf": SecretData({"TOKEN": b"s3cret", "raw": b"\xff\xfe"})},
    services=(ServiceAddress(name="my-web", port_name="http", host="127.0.0.1", port=8001),),
)
SERVICE_VARIABLES = {
    "MY_WEB_SERVICE_HOST": "127.0.0.1",
    "MY_WEB_SERVICE_PORT": "8001",
    "MY_WEB_SERVICE_PORT_HTTP": "8001",
    "MY_WEB_PORT": "tcp://127.0.0.1:8001",
    "MY_WEB_PORT_8001_TCP": "tcp://127.0.0.1:8001",
    "MY_WEB_PORT_8001_TCP_PROTO": "tcp",
    "MY_WEB_PORT_8001_TCP_PORT": "8001",
    "MY_WEB_PORT_8001_TCP_ADDR": "127.0.0.1",
}


def compute(sources: Sources = SOURCES, **container: Any) -> Environment:
    """The environment of a container with these fields."""
    return pod_environment({"name": "main", **container}, POD, sources)


def own(**container: Any) -> dict[str, str]:
    """The same without the services' variables."""
    environment = compute(**container)
    assert environment.unresolved == ()
    return {name: value for name, value in environment.values.items() if name not in SERVICE_VARIABLES}


def test_services_are_announced() -> None:
    """Every container is told about the services of its namespace."""
    assert compute().values == SERVICE_VARIABLES


def test_what_the_container_says_replaces_a_service_variable() -> None:
    """Service variables are the lowest layer, and can be referred to."""
    values = compute(
        env=[{"name": "WHERE", "value": "$(MY_WEB_PORT)"}, {"name": "MY_WEB_PORT", "value": "mine"}]
    ).values
    assert values["WHERE"] == "tcp://127.0.0.1:8001"
    assert values["MY_WEB_PORT"] == "mine"


def test_later_env_from_sources_win_and_env_wins_over_all() -> None:
    """EnvFromSource: the last one takes precedence; an explicit entry beats every source."""
    sources = [{"configMapRef": {"name": "cfg"}}, {"configMapRef": {"name": "other"}}]
    assert own(envFrom=sources) == {"COLOUR": "blue", "SHAPE": "round"}
    assert own(envFrom=sources, env=[{"name": "COLOUR", "value": "green"}])["COLOUR"] == "green"


def test_a_prefix_is_put_before_every_name() -> None:
    """It can make a name valid that would not be one."""
    assert own(envFrom=[{"prefix": "P_", "configMapRef": {"name": "cfg"}}]) == {
        "P_COLOUR": "red",
        "P_1bad": "x",
        "P_SHAPE": "round",
    }


def test_keys_that_are_no_names_are_skipped_and_said() -> None:
    """The container starts without them."""
    environment = compute(envFrom=[{"configMapRef": {"name": "cfg"}}])
    assert "1bad" not in environment.values
    assert environment.skipped == ("1bad",)


def test_values_refer_to_what_is_defined_before_them() -> None:
    """A reference to a later entry stays as it is written."""
    env = [
        {"name": "FIRST", "value": "$(SECOND)-$(COLOUR)"},
        {"name": "SECOND", "value": "$(FIRST)"},
        {"name": "FIRST", "value": "again $(FIRST) $$(FIRST)"},
    ]
    assert own(env=env, envFrom=[{"configMapRef": {"name": "other"}}]) == {
        "COLOUR": "blue",
        "FIRST": "again $(SECOND)-blue $(FIRST)",
        "SECOND": "$(SECOND)-blue",
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web-0"),
        ("metadata.namespace", "default"),
        ("metadata.uid", "1234"),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['a/b']", "c"),
        ("metadata.labels['absent']", ""),
        ("metadata.annotations['note']", "n"),
        ("spec.nodeName", "laptop"),
        ("spec.serviceAccountName", "robot"),
        ("status.podIP", "127.0.0.1"),
        ("status.podIPs", "127.0.0.1"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_fields_of_the_pod(path: str, value: str) -> None:
    """The downward API."""
    assert own(env=[{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}}]) == {"X": value}


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ({"resource": "limits.cpu"}, "2"),
        ({"resource": "limits.cpu", "divisor": "1m"}, "1500"),
        ({"resource": "limits.memory", "divisor": "1Gi"}, "8"),
        ({"resource": "requests.memory", "divisor": "1Mi"}, "512"),
        ({"resource": "requests.cpu"}, "0"),
    ],
)
def test_resources_of_the_container(reference: dict[str, str], value: str) -> None:
    """In units of the divisor, rounded up; a limit that is not set is the machine's."""
    resources = {"limits": {"cpu": "1500m"}, "requests": {"memory": "512Mi"}}
    env = [{"name": "X", "valueFrom": {"resourceFieldRef": reference}}]
    assert own(resources=resources, env=env) == {"X": value}


def test_secret_values_are_marked_also_through_references() -> None:
    """Whatever holds a secret's value, in whole or in part; overwriting it takes the mark away."""
    env = [
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "TOKEN"}}},
        {"name": "URL", "value": "https://user:$(KEY)@host"},
        {"name": "TEXT", "value": "$$(KEY)"},
        {"name": "TOKEN", "value": "public"},
    ]
    environment = compute(env=env, envFrom=[{"secretRef": {"name": "hf"}}])
    assert environment.values["URL"] == "https://user:s3cret@host"
    assert environment.secret == {"KEY", "URL", "raw"}
    assert environment.values["raw"].encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_no_representation_shows_a_value() -> None:
    """An environment in a traceback or a log gives names only."""
    environment = compute(env=[{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "TOKEN"}}}])
    assert "KEY" in repr(environment)
    assert "s3cret" not in repr(environment)


def test_everything_unresolved_is_reported_in_the_words_of_the_kubelet() -> None:
    """All at once, with the entry each message is for."""
    environment = compute(
        envFrom=[{"configMapRef": {"name": "nope"}}, {"secretRef": {"name": "none"}}],
        env=[
            {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cfg", "key": "SIZE"}}},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
            {"name": "C", "valueFrom": {"secretKeyRef": {"name": "vault", "key": "token"}}},
        ],
    )
    assert environment.unresolved == (
        Unresolved("envFrom", 'configmap "nope" not found'),
        Unresolved("envFrom", 'secret "none" not found'),
        Unresolved("A", "couldn't find key SIZE in ConfigMap default/cfg"),
        Unresolved("B", "couldn't find key token in Secret default/hf"),
        Unresolved("C", 'secret "vault" not found'),
    )


def test_optional_references_may_lead_nowhere() -> None:
    """The entry is left out, as if it were not written."""
    optional = {"optional": True}
    assert (
        own(
            envFrom=[{"configMapRef": {"name": "nope", **optional}}],
            env=[
                {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cfg", "key": "SIZE", **optional}}},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "vault", "key": "token", **optional}}},
            ],
        )
        == {}
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [("500m", "0.5"), ("8Gi", str(8 * 1024**3)), ("2k", "2000"), ("1e3", "1000"), ("0.5", "0.5"), ("1E", str(10**18))],
)
def test_quantities(text: str, number: str) -> None:
    """Decimal and binary suffixes, and exponents."""
    assert quantity(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "1Zi", "ten", "1 Gi"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    """With the text that is none."""
    with pytest.raises(ValueError, match="quantities must match"):
        quantity(text)


def test_variables_that_double_each_other_are_named_and_not_made() -> None:
    """Sixty variables of a few bytes each would expand to exabytes: those a process cannot be given are left out."""
    env = [{"name": "V0", "value": "x" * 8}]
    env += [{"name": f"V{number}", "value": f"$(V{number - 1})$(V{number - 1})"} for number in range(1, 60)]
    environment = compute(env=env)
    assert environment.values["V13"] == "x" * 8 * 2**13
    assert environment.too_long[0] == "V14"
    assert "V14" not in environment.values
