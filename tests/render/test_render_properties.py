"""What holds for every graph, whatever it asks for."""

from __future__ import annotations

import io
import json
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stator.model import Graph
from stator.model.load import load
from stator.render import Manifest, RenderOptions, render_graph
from stator.render.output import to_yaml

TYPES = ("frontend", "worker", "prefill", "decode", "planner", "epp")
FRAMEWORKS = ("sglang", "vllm", "trtllm")
PROVIDERS = (RenderOptions(), RenderOptions(provider="grove"))

NAMES = st.from_regex(r"V[A-C]", fullmatch=True)
ENV = st.dictionaries(NAMES, st.sampled_from(["1", "$(VA)", "$$(VB)", "x y"]), max_size=3)
LABELS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2"]))


@st.composite
def components(draw: st.DrawFn, name: str, framework: str) -> dict[str, Any]:
    """A component of any type with any of the features it may have."""
    kind = draw(st.sampled_from(TYPES[:5]))
    is_worker = kind in TYPES[1:4]
    main: dict[str, Any] = {"name": "main", "image": f"r/x:{draw(st.sampled_from(['1.4.2', '1.5.1', '1.6.1']))}"}
    if is_worker:
        shell = draw(st.booleans())
        main["command"] = ["sh", "-c"] if shell else ["python3"]
        module = f"dynamo.{framework}"
        main["args"] = [f"exec python3 -m {module} -tp 4"] if shell else ["-m", module, "-tp=4"]
        main["resources"] = {"limits": {"nvidia.com/gpu": draw(st.sampled_from(["1", "2", "4"]))}}
    if env := draw(ENV):
        main["env"] = [{"name": key, "value": value} for key, value in env.items()]
    metadata = {"labels": draw(LABELS), "annotations": draw(LABELS)}
    component: dict[str, Any] = {
        "name": name,
        "type": kind,
        "replicas": draw(st.integers(0, 3)),
        "podTemplate": {"metadata": metadata, "spec": {"containers": [{"name": "side", "image": "i"}, main]}},
    }
    if is_worker and draw(st.booleans()):
        component["multinode"] = {"nodeCount": draw(st.integers(2, 4))}
    if is_worker and draw(st.booleans()):
        component["frontendSidecar"] = "side"
    if is_worker and draw(st.booleans()):
        component["compilationCache"] = {"pvcName": "cache", "mountPath": "/cache"}
    if draw(st.booleans()):
        component["modelRef"] = {"name": draw(st.sampled_from(["m", "org/model"]))}
    if draw(st.booleans()):
        component["scalingAdapter"] = {}
    return component


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """A graph of one to four components."""
    framework = draw(st.sampled_from(FRAMEWORKS))
    names = [f"C{index}" for index in range(draw(st.integers(1, 4)))]
    spec: dict[str, Any] = {"components": [draw(components(name, framework)) for name in names]}
    if env := draw(ENV):
        spec["env"] = [{"name": key, "value": value} for key, value in env.items()]
    if draw(st.booleans()):
        policy = {"labelKey": "topology.kubernetes.io/zone", "domain": "zone", "enforcement": "required"}
        spec["experimental"] = {"kvTransferPolicy": policy}
    metadata = {"name": "g", "namespace": "ns"}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}


def loaded(value: dict[str, Any], text: str = "") -> Graph:
    """The graph of a document."""
    [graph] = load(["-"], stdin=io.StringIO(text or json.dumps(value))).graphs
    return graph


def objects(manifest: Manifest) -> dict[tuple[str, str], dict[str, Any]]:
    """A manifest's objects by kind and name."""
    return {(item["kind"], item["metadata"]["name"]): item for item in manifest.objects}


@settings(max_examples=25)
@given(value=graphs(), options=st.sampled_from(PROVIDERS))
def test_what_the_api_server_wants_to_be_unique_is_unique(value: dict[str, Any], options: RenderOptions) -> None:
    """Objects by kind and name; in a pod containers, volumes, and in a container variables, ports and mount paths."""
    manifest = render_graph(loaded(value), options)
    assert len(objects(manifest)) == len(manifest.objects)
    for component in manifest.components:
        for pod in component.pods:
            spec = pod.template["spec"]
            volumes = [item["name"] for item in spec.get("volumes", ())]
            assert len(set(volumes)) == len(volumes)
            containers = [*spec["containers"], *spec.get("initContainers", ())]
            assert len({item["name"] for item in containers}) == len(containers)
            for container in containers:
                for field, key in (("env", "name"), ("ports", "name"), ("volumeMounts", "mountPath")):
                    values = [item[key] for item in container.get(field, ())]
                    assert len(set(values)) == len(values)
                assert {item["name"] for item in container.get("volumeMounts", ())} <= set(volumes)


@settings(max_examples=25)
@given(value=graphs(), options=st.sampled_from(PROVIDERS))
def test_the_order_of_keys_in_a_file_does_not_show(value: dict[str, Any], options: RenderOptions) -> None:
    """Only lists are ordered; a graph written with its keys the other way round renders to the same bytes."""
    forwards = json.dumps(value, sort_keys=True)
    backwards = json.dumps(turned(value))
    manifests = [render_graph(loaded(value, text), options) for text in (forwards, backwards)]
    assert to_yaml(manifests[0].objects) == to_yaml(manifests[1].objects)


def turned(value: Any) -> Any:
    """The value with every mapping's keys in descending order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in sorted(value, reverse=True)}
    return [turned(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=25)
@given(value=graphs(), options=st.sampled_from(PROVIDERS))
def test_rendering_leaves_the_graph_alone(value: dict[str, Any], options: RenderOptions) -> None:
    """Rendered once or twice, the graph stays what it was and the result is the same."""
    graph, untouched = loaded(value), loaded(value)
    first, second = render_graph(graph, options), render_graph(graph, options)
    for part in ("components", "env", "other", "annotations"):
        assert getattr(graph, part) == getattr(untouched, part)
    assert to_yaml(first.objects) == to_yaml(second.objects)


@settings(max_examples=25)
@given(value=graphs(), options=st.sampled_from(PROVIDERS))
def test_every_entry_of_an_environment_has_a_history(value: dict[str, Any], options: RenderOptions) -> None:
    """Provenance names each variable of each main container once, with the value that is there."""
    manifest = render_graph(loaded(value), options)
    for component in manifest.components:
        for pod in component.pods:
            main = pod.template["spec"]["containers"][0]
            where = "main" if pod.role == "main" else f"{pod.role}/main"
            told = {
                item.name: item.setter.value
                for item in component.provenance
                if (item.container, item.subject) == (where, "env")
            }
            assert told.keys() == {entry["name"] for entry in main["env"]}
            assert all(told[entry["name"]] == entry["value"] for entry in main["env"] if "value" in entry)


@settings(max_examples=25)
@given(value=graphs(), options=st.sampled_from(PROVIDERS), extra=components("Other", "sglang"))
def test_another_component_leaves_the_others_services_alone(
    value: dict[str, Any], options: RenderOptions, extra: dict[str, Any]
) -> None:
    """What is not shared does not depend on the neighbours; only workers change, with their generation."""
    if extra["type"] in TYPES[1:4]:
        extra = {**extra, "type": "planner"}
        extra.pop("multinode", None)
    bigger = {**value, "spec": {**value["spec"], "components": [*value["spec"]["components"], extra]}}
    before, after = (render_graph(loaded(item), options) for item in (value, bigger))
    assert before.generation == after.generation
    for old, new in zip(before.components, after.components, strict=False):
        assert to_yaml(old.objects) == to_yaml(new.objects)


def calls(graph: Graph) -> int:
    """Function calls that rendering makes: a measure of work that no machine's speed is in."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(trace)
    try:
        render_graph(graph)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kind", ["worker", "frontend"])
def test_work_grows_with_the_number_of_components(kind: str) -> None:
    """Twice the components are twice the calls, give or take what is done once: nothing is compared in pairs."""

    def graph(size: int) -> Graph:
        main = {"name": "main", "image": "r/x:1.5.1", "args": ["python3 -m dynamo.sglang"]}
        template = {"spec": {"containers": [main]}}
        items = [{"name": f"C{index}", "type": kind, "podTemplate": template} for index in range(size)]
        metadata = {"name": "g", "namespace": "ns"}
        return loaded(
            {
                "apiVersion": "nvidia.com/v1beta1",
                "kind": "DynamoGraphDeployment",
                "metadata": metadata,
                "spec": {"components": items},
            }
        )

    calls(graph(6))
    six, twelve, twenty_four = (calls(graph(size)) for size in (6, 12, 24))
    assert (twenty_four - twelve) / (twelve - six) == pytest.approx(2, rel=0.1)
