"""How the layers of an environment become one list that the kubelet expands as their authors meant."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rendered import env_of, main_of, provenance_of, render, worker

from stator.render import RenderOptions
from stator.render.environment import Entry, merge
from stator.render.manifest import Layer, Setter

NAMES = st.sampled_from("ABCDEF")
BODIES = st.builds(
    lambda name, text, references: {"name": name, "value": text + "".join(f"$({other})" for other in references)},
    NAMES,
    st.sampled_from(["x", "", "$$(A)"]),
    st.lists(NAMES, max_size=2),
)
LISTS = st.lists(BODIES, max_size=6, unique_by=lambda body: body["name"])


def layer(name: Layer, *bodies: dict[str, Any]) -> list[Entry]:
    """One layer of literal or referring entries."""
    return [Entry(body, Setter(name, str(index))) for index, body in enumerate(bodies)]


def var(name: str, value: str) -> dict[str, str]:
    """A literal entry."""
    return {"name": name, "value": value}


def names(*layers: list[Entry]) -> list[str]:
    """The merged order."""
    return [entry.name for entry in merge(layers)]


def expand(entries: list[dict[str, Any]]) -> dict[str, str]:
    """The container's environment as the kubelet computes it (pkg/kubelet, makeEnvironmentVariables)."""
    known: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return known.get(match[1], match[0])

    for entry in entries:
        known[entry["name"]] = re.sub(r"\$\$|\$\(([^)]*)\)", replace, entry["value"])
    return known


def resolved_references(entries: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """`(user, used)` for every `$(used)` that has an entry before it in this list."""
    pairs = set()
    seen: set[str] = set()
    for entry in entries:
        used = re.findall(r"\$\$|\$\(([^)]*)\)", entry["value"])
        pairs |= {(entry["name"], name) for name in used if name in seen}
        seen.add(entry["name"])
    return pairs


def test_layers_follow_one_another_in_the_users_order() -> None:
    """Nothing is sorted: graph entries come before component entries, each list as it was written."""
    assert names(layer("graph", var("Z", "1"), var("A", "1")), layer("component", var("M", "1"), var("B", "1"))) == [
        *("Z", "A"),
        *("M", "B"),
    ]


def test_a_replacing_entry_stands_where_the_replaced_one_stood() -> None:
    """What refers to a name keeps resolving when a higher layer replaces that name."""
    merged = merge(
        [layer("graph", var("ROOT", "/a"), var("PATHS", "$(ROOT)/x")), layer("component", var("ROOT", "/b"))]
    )
    assert expand([dict(entry.body) for entry in merged]) == {"ROOT": "/b", "PATHS": "/b/x"}


def test_what_a_replacing_entry_refers_to_is_put_before_it() -> None:
    """References written against either layer resolve, though the replaced name stood before what it now refers to."""
    merged = merge(
        [
            layer("graph", var("A", "1"), var("B", "$(A)"), var("D", "4")),
            layer("component", var("C", "3"), var("A", "$(C)")),
        ]
    )
    assert [entry.name for entry in merged] == ["C", "A", "B", "D"]
    assert expand([dict(entry.body) for entry in merged]) == {"C": "3", "A": "3", "B": "3", "D": "4"}


def test_a_graph_entry_may_refer_to_a_component_entry() -> None:
    """A graph-wide variable can be completed by each component."""
    merged = merge([layer("graph", var("URL", "http://$(HOST)/")), layer("component", var("HOST", "h"))])
    assert expand([dict(entry.body) for entry in merged]) == {"HOST": "h", "URL": "http://h/"}


def test_a_reference_forward_in_its_own_list_is_left_alone() -> None:
    """A name the author defines only afterwards meant what envFrom holds, or the literal text."""
    assert names(layer("component", var("A", "$(B)"), var("B", "1"))) == ["A", "B"]


def test_an_escaped_dollar_is_no_reference() -> None:
    """`$$(B)` is the text `$(B)` and moves nothing."""
    assert names(layer("graph", var("A", "$$(B)")), layer("component", var("B", "1"))) == ["A", "B"]


def test_a_circle_of_references_still_renders() -> None:
    """Entries that refer to one another across layers are all there, once."""
    assert sorted(names(layer("graph", var("A", "1"), var("B", "$(A)")), layer("component", var("A", "$(B)")))) == [
        "A",
        "B",
    ]


def test_a_long_chain_of_references_renders() -> None:
    """Each of a thousand entries refers to one that a higher layer defines, last one first."""
    chain = [var(f"V{index}", f"$(W{index})") for index in range(1000)]
    heads = [var(f"W{index}", f"$(V{index + 1})") for index in range(999)]
    assert len(names(layer("graph", *chain), layer("component", *heads))) == 1999


def test_the_last_of_two_entries_of_a_name_wins() -> None:
    """A name given twice in one list has the later value, as in the kubelet, and the earlier one is on record."""
    [entry] = merge([layer("component", var("A", "1"), var("A", "2"))])
    assert entry.body == var("A", "2")
    assert [setter.detail for setter in entry.replaced] == ["0"]


@given(st.lists(LISTS, min_size=3, max_size=3))
def test_one_entry_per_name_and_the_highest_layer_wins(lists: list[list[dict[str, str]]]) -> None:
    """Each name of any layer is there once, with the body of the highest layer that has it."""
    merged = merge([layer("graph", *bodies) for bodies in lists])
    winners: dict[str, Any] = {}
    for bodies in lists:
        winners |= {body["name"]: body for body in bodies}
    assert len(merged) == len(winners)
    assert {entry.name: entry.body for entry in merged} == winners


@given(LISTS, LISTS)
def test_what_resolved_in_the_users_own_list_still_resolves(
    graph: list[dict[str, str]], component: list[dict[str, str]]
) -> None:
    """An entry that won keeps every reference that resolved where it was written, circles across layers aside."""
    merged = [dict(entry.body) for entry in merge([layer("graph", *graph), layer("component", *component)])]
    after = resolved_references(merged)
    winners = {body["name"]: body for body in (*graph, *component)}
    circular = _circular(winners)
    for bodies in (graph, component):
        for user, used in resolved_references(bodies):
            if winners[user] in bodies and not (user in circular and used in circular):
                assert (user, used) in after


def _circular(winners: dict[str, dict[str, str]]) -> set[str]:
    """The names from which a name can be reached that leads back to itself."""
    uses = {
        name: set(re.findall(r"(?<!\$)\$\(([^)]*)\)", body["value"])) & set(winners) for name, body in winners.items()
    }
    for middle in winners:
        for name in winners:
            if middle in uses[name]:
                uses[name] |= uses[middle]
    return {name for name in winners if name in uses[name]}


def test_the_complete_environment_of_a_worker() -> None:
    """Graph beats type default, component beats graph, infrastructure is lowest, and nothing else is there."""
    manifest = render(
        worker(
            """
            env:
            - {name: LOG, value: component}
            - {name: OWN, valueFrom: {secretKeyRef: {name: s, key: k}}}
            - {name: NATS_SERVER, value: "nats://mine"}
            """,
            graph="""
            env:
            - {name: LOG, value: graph}
            - {name: DYN_HEALTH_CHECK_ENABLED, value: "false"}
            """,
        ),
        RenderOptions(infrastructure_env=(var("NATS_SERVER", "nats://n"), var("ETCD_ENDPOINTS", "http://e"))),
    )
    field = {
        name: {"fieldRef": {"fieldPath": f"metadata.{name[4:].lower()}"}}
        for name in ("POD_NAME", "POD_NAMESPACE", "POD_UID")
    }
    assert list(env_of(manifest).items()) == list(
        {
            "NATS_SERVER": "nats://mine",
            "ETCD_ENDPOINTS": "http://e",
            "DYN_NAMESPACE": "ns-g",
            "DYN_COMPONENT": "worker",
            "DYN_PARENT_DGD_K8S_NAME": "g",
            "DYN_PARENT_DGD_K8S_NAMESPACE": "ns",
            **field,
            "DYN_DISCOVERY_BACKEND": "kubernetes",
            "DYN_SYSTEM_ENABLED": "true",
            "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
            "DYN_SYSTEM_PORT": "9090",
            "DYN_HEALTH_CHECK_ENABLED": "false",
            "NIXL_TELEMETRY_ENABLE": "n",
            "NIXL_TELEMETRY_EXPORTER": "prometheus",
            "NIXL_TELEMETRY_PROMETHEUS_PORT": "19090",
            "DYN_FORWARDPASS_METRIC_PORT": "20380",
            "DYN_NAMESPACE_WORKER_SUFFIX": manifest.generation,
            "LOG": "component",
            "OWN": {"secretKeyRef": {"name": "s", "key": "k"}},
        }.items()
    )


def test_a_reference_replaces_a_literal_as_a_whole() -> None:
    """A `valueFrom` of a higher layer leaves no `value` behind, and the reverse."""
    manifest = render(
        worker(
            """
            env:
            - {name: DYN_SYSTEM_PORT, valueFrom: {configMapKeyRef: {name: c, key: k}}}
            - {name: POD_NAME, value: p}
            """
        )
    )
    entries = {entry["name"]: entry for entry in main_of(manifest)["env"]}
    assert entries["DYN_SYSTEM_PORT"] == {
        "name": "DYN_SYSTEM_PORT",
        "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}},
    }
    assert entries["POD_NAME"] == var("POD_NAME", "p")


def test_provenance_tells_who_set_an_entry_and_whom_it_beat() -> None:
    """Each layer's setter has its value and, for the user's, the line of the file."""
    manifest = render(
        worker(
            "env:\n- {name: DYN_HEALTH_CHECK_ENABLED, value: 'on'}",
            graph="env:\n- {name: DYN_HEALTH_CHECK_ENABLED, value: 'false'}",
        )
    )
    history = provenance_of(manifest, "DYN_HEALTH_CHECK_ENABLED")
    assert [(s.layer, s.detail, s.value, str(s.position)) for s in (*history.replaced, history.setter)] == [
        ("type-default", "worker default, runtime 1.5.1 >= 1.5.0", "true", "None"),
        ("graph", "spec.env", "false", "-:6"),
        ("component", "Worker", "on", "-:17"),
    ]


def test_graph_env_reaches_only_the_main_container() -> None:
    """Sidecars and init containers keep exactly the environment they were written with."""
    manifest = render(
        worker(graph="env: [{name: LOG, value: graph}]")
        + "        - {name: side, image: i, env: [{name: B, value: b}, {name: A, value: $(B)}]}\n"
        + "        initContainers: [{name: init, image: i}]\n"
    )
    spec = manifest.components[0].workload["spec"]["template"]["spec"]
    assert spec["containers"][1] == {"name": "side", "image": "i", "env": [var("B", "b"), var("A", "$(B)")]}
    assert spec["initContainers"] == [{"name": "init", "image": "i"}]
    assert env_of(manifest)["LOG"] == "graph"


class _Counted(str):
    """A name that counts how often it is compared or looked up."""

    looked_at = 0
    __slots__ = ()

    def __hash__(self) -> int:
        _Counted.looked_at += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        _Counted.looked_at += 1
        return super().__eq__(other)


def test_a_long_chain_of_references_is_gone_through_once() -> None:
    """Each of many entries that refer to one another costs a few lookups, however many there are."""
    _Counted.looked_at, size = 0, 600
    chain = [{"name": _Counted(f"V{number}"), "value": f"$(V{number - 1})"} for number in range(size)]
    merged = merge([layer("component", *chain)])
    assert [entry.name for entry in merged] == [f"V{number}" for number in range(size)]
    assert _Counted.looked_at < 20 * size
