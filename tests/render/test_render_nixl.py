"""The exporter ports of an SGLang worker's ranks."""

from __future__ import annotations

import pytest
from rendered import main_of, render, worker

from stator.errors import InvalidInputError

SOURCED = "valueFrom: {configMapKeyRef: {name: c, key: k}}"


def text(gpus: int, *, enable: str = "value: 'y'", exporter: str = "", port: str = "", graph: str = "") -> str:
    """An SGLang worker with GPUs and telemetry variables, each a YAML fragment."""
    entries = {
        "NIXL_TELEMETRY_ENABLE": enable,
        "NIXL_TELEMETRY_EXPORTER": exporter,
        "NIXL_TELEMETRY_PROMETHEUS_PORT": port,
    }
    env = ", ".join(f"{{name: {name}, {body}}}" for name, body in entries.items() if body)
    return worker(f"env: [{env}]\nresources: {{limits: {{nvidia.com/gpu: {gpus}}}}}", graph=graph)


def ports(graph: str) -> list[tuple[str, int]]:
    """The exporter ports of the worker."""
    return [(port["name"], port["containerPort"]) for port in main_of(render(graph))["ports"] if "nixl" in port["name"]]


ONE = [("nixl", 19090)]
EIGHT = [("nixl", 19090), *((f"nixl-{rank}", 19090 + rank) for rank in range(1, 8))]


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (text(8), EIGHT),
        (text(1), ONE),
        (text(8, enable="value: 'Y'"), EIGHT),
        (text(8, enable="value: 'n'"), ONE),
        (text(8, enable="value: 'true'"), ONE),
        (text(16, enable="value: 'off'"), ONE),
        (text(16, enable=SOURCED), EIGHT),
        (text(2, enable=SOURCED), EIGHT[:2]),
        (text(4, port="value: '30500'"), [("nixl", 30500), ("nixl-1", 30501), ("nixl-2", 30502), ("nixl-3", 30503)]),
        (text(4, port="value: '0x4A92'"), EIGHT[:4]),
        (text(8, exporter="value: PROMETHEUS"), ONE),
        (text(8, exporter="value: doca"), ONE),
        (text(16, exporter=SOURCED), EIGHT),
        (text(2, enable="value: 'n'", port=SOURCED), ONE),
    ],
)
def test_each_rank_has_a_port(graph: str, expected: list[tuple[str, int]]) -> None:
    """One port per GPU where telemetry is or may be on, one in all where it is off or spelled another way."""
    assert ports(graph) == expected


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (text(16), "16 GPUs need 16 exporter ports, at most 8 can be declared"),
        (text(1, enable="value: ' y'"), '" y" is not a switch'),
        (text(1, port="value: ' 19090 '"), '" 19090 " is not a port'),
        (text(1, port="value: ''"), '"" is not a port'),
        (text(1, port="value: '0'"), '"0" is not a port'),
        (text(1, port="value: '70000'"), '"70000" is not a port'),
        (text(1, port=SOURCED), "it is only known when the pod starts"),
        (text(2, port="value: '65535'"), "2 ports from 65535 on go past 65535"),
    ],
)
def test_ports_that_cannot_be_declared_are_problems(graph: str, why: str) -> None:
    """The problem stands at the variable that makes it."""
    with pytest.raises(InvalidInputError) as caught:
        render(graph)
    assert [(problem.why, str(problem.position)) for problem in caught.value.problems] == [(why, "-:14")]


def test_other_frameworks_keep_the_single_port() -> None:
    """The ranks of a vLLM worker share an exporter."""
    assert ports(text(8).replace("dynamo.sglang", "dynamo.vllm")) == ONE


def test_ports_of_the_users_own_are_left_alone() -> None:
    """A list without `nixl` gets none, and a name that is taken is not declared twice."""
    graph = text(4)
    assert ports(graph + "          ports: [{name: web, containerPort: 80}]\n") == []
    own = graph + "          ports: [{name: nixl, containerPort: 5}, {name: nixl-2, containerPort: 6}]\n"
    assert ports(own) == [("nixl", 19090), ("nixl-1", 19091), ("nixl-3", 19093), ("nixl-2", 6)]
