"""v1beta1 and v1alpha1 documents to graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stator.errors import Problem
from stator.model import Graph, Inventory

Load = Callable[..., Inventory]
Problems = Callable[..., list[Problem]]

BETA = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: agg
  labels: {team: a}
  annotations: {nvidia.com/enable-grove: "false"}
spec:
  backendFramework: sglang
  env: [{name: G, value: g}]
  labels: {tier: gpu}
  annotations: {note: x}
  priorityClassName: high
  components:
  - name: Frontend
    type: frontend
    podTemplate: {spec: {containers: [{name: main, image: "fe:1.6.1"}]}}
  - name: worker
    type: worker
    replicas: 2
    runtimeVersionOverride: 1.5.0
    globalDynamoNamespace: true
    sharedMemorySize: 0
    scalingAdapter: {}
    podTemplate:
      spec:
        containers:
        - {name: side, image: "x:1"}
        - name: main
          image: fe:1.5.0
          args: [--x]
"""

ALPHA = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: old}
spec:
  envs:
  - {name: G, value: g}
  pvcs: [{name: models}]
  services:
    Worker:
      componentType: worker
      subComponentType: decode
      dynamoNamespace: ns
      labels: {a: b}
      replicas: 2
      envFromSecret: hf
      envs:
      - {name: A, value: "1"}
      - {name: B, value: "2"}
      livenessProbe:
        httpGet: {path: /live, port: 9090}
      readinessProbe:
        exec: {command: [a]}
      resources:
        requests: {cpu: 4}
        limits:
          gpu: 1
          memory: 8Gi
          custom: {rdma/ib: 2}
      volumeMounts:
      - {name: models, mountPoint: /models}
      - {name: cache, mountPoint: /cache, useAsCompilationCache: true}
      sharedMemory: {size: 1Gi}
      extraPodMetadata: {labels: {c: d}}
      extraPodSpec:
        nodeSelector: {e: f}
        mainContainer:
          image: x:1.5.0
          args: [--x]
          env:
          - {name: B, value: "3"}
          - {name: C, value: "4"}
          readinessProbe:
            httpGet: {path: /ready, port: 1}
          volumeMounts: [{name: z, mountPath: /z}]
          resources:
            limits: {memory: 9Gi}
        containers:
        - {name: side, image: "s:1"}
    Frontend:
      componentType: main
      subComponentType: unusual
      sharedMemory: {disabled: true}
      scalingAdapter: {enabled: true}
      gpuMemoryService: {enabled: true, mode: interPod}
      failover: {enabled: false}
      ingress: {enabled: true, host: h}
      frontendSidecar: {image: fs, args: [a], envs: [{name: X, value: x}], envFromSecret: s}
      extraPodSpec:
        mainContainer: {image: x:1.6.1}
    absent: null
"""


@pytest.fixture
def beta(load_text: Load) -> Graph:
    """The v1beta1 graph."""
    return load_text(BETA).graphs[0]


@pytest.fixture
def alpha(load_text: Load) -> Graph:
    """The v1alpha1 graph."""
    return load_text(ALPHA).graphs[0]


def test_a_v1beta1_graph_keeps_what_was_written(beta: Graph) -> None:
    """Graph fields, component fields and the order of components are those of the document."""
    assert beta.ref == "DynamoGraphDeployment/default/agg"
    assert beta.api_version == "nvidia.com/v1beta1"
    assert (beta.labels, beta.spec_labels) == ({"team": "a"}, {"tier": "gpu"})
    assert (beta.annotations, beta.spec_annotations) == ({"nvidia.com/enable-grove": "false"}, {"note": "x"})
    assert beta.env == ({"name": "G", "value": "g"},)
    assert beta.backend_framework == "sglang"
    assert beta.other == {"priorityClassName": "high"}
    frontend, worker = beta.components
    assert (frontend.name, frontend.type, frontend.replicas) == ("Frontend", "frontend", None)
    assert (worker.name, worker.type, worker.replicas) == ("worker", "worker", 2)
    assert (worker.runtime_version_override, worker.global_dynamo_namespace) == ("1.5.0", True)
    assert worker.shared_memory_size == "0"
    assert worker.other == {"scalingAdapter": {}}
    assert worker.main["args"] == ["--x"]


def test_v1beta1_paths_lead_to_their_lines(beta: Graph) -> None:
    """A path of the graph is a path of the document."""
    worker = beta.components[1]
    assert beta.locate(*worker.main_path, "args").line == 30
    assert beta.locate("spec", "env", 0).line == 9
    assert beta.locate(*worker.path, "replicas").line == 19


@pytest.mark.parametrize(
    ("version", "spec"),
    [
        ("v1beta1", "podTemplate: {spec: {containers: [{name: main, image: x}]}}"),
        ("v1alpha1", "extraPodSpec: {mainContainer: {image: x}}"),
    ],
)
def test_a_component_deployment_is_a_graph_of_one(load_text: Load, version: str, spec: str) -> None:
    """A standalone component has its object's name and its fields directly under `spec`."""
    text = f"apiVersion: nvidia.com/{version}\nkind: DynamoComponentDeployment\nmetadata: {{name: w}}\n"
    (graph,) = load_text(f"{text}spec:\n  backendFramework: vllm\n  replicas: 3\n  {spec}\n").graphs
    (component,) = graph.components
    assert (graph.kind, graph.backend_framework) == ("DynamoComponentDeployment", "vllm")
    assert (component.name, component.replicas, component.main["image"]) == ("w", 3, "x")
    assert graph.locate(*component.path, "replicas").line == 6
    assert graph.locate(*component.main_path, "image").line == 7


def test_services_become_components_sorted_by_key(alpha: Graph) -> None:
    """The order of a v1alpha1 map does not matter; a null service is no component."""
    assert [component.name for component in alpha.components] == ["Frontend", "Worker"]
    assert alpha.env == ({"name": "G", "value": "g"},)
    assert alpha.other == {"pvcs": [{"name": "models"}]}


def test_dedicated_fields_and_main_container_become_main(alpha: Graph) -> None:
    """`mainContainer` wins by name, entry or whole, as the upstream conversion has it."""
    worker = alpha.components[1]
    assert worker.main == {
        "name": "main",
        "image": "x:1.5.0",
        "args": ["--x"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C", "value": "4"}],
        "envFrom": [{"secretRef": {"name": "hf"}}],
        "livenessProbe": {"httpGet": {"path": "/live", "port": 9090}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 1}},
        "resources": {
            "requests": {"cpu": "4"},
            "limits": {"nvidia.com/gpu": "1", "memory": "9Gi", "rdma/ib": "2"},
        },
        "volumeMounts": [{"name": "z", "mountPath": "/z"}, {"name": "models", "mountPath": "/models"}],
    }
    assert worker.pod_template["metadata"] == {"labels": {"c": "d"}}
    assert worker.pod_spec["nodeSelector"] == {"e": "f"}
    assert [container["name"] for container in worker.pod_spec["containers"]] == ["main", "side"]


def test_types_are_promoted_or_kept(alpha: Graph) -> None:
    """A decode worker is a `decode`; a type outside of v1beta1 stays as it is, with its sub-type."""
    frontend, worker = alpha.components
    assert (worker.type, worker.alpha.sub_component_type) == ("decode", "")
    assert (frontend.type, frontend.alpha.sub_component_type) == ("main", "unusual")


def test_features_get_their_v1beta1_names(alpha: Graph) -> None:
    """Switches that are on become presence, switches that are off become absence."""
    frontend, worker = alpha.components
    assert frontend.other == {
        "scalingAdapter": {},
        "frontendSidecar": "sidecar-frontend",
        "experimental": {"gpuMemoryService": {"mode": "InterPod"}},
    }
    assert worker.other == {"compilationCache": {"pvcName": "cache", "mountPath": "/cache"}}
    assert (frontend.shared_memory_size, worker.shared_memory_size) == ("0", "1Gi")
    assert frontend.pod_spec["containers"][1] == {
        "name": "sidecar-frontend",
        "image": "fs",
        "args": ["a"],
        "env": [{"name": "X", "value": "x"}],
        "envFrom": [{"secretRef": {"name": "s"}}],
    }


def test_what_only_v1alpha1_says_is_kept(alpha: Graph) -> None:
    """Rendering still honours ingress, labels and the old namespace."""
    frontend, worker = alpha.components
    assert frontend.alpha.ingress == {"enabled": True, "host": "h"}
    assert (worker.alpha.labels, worker.alpha.dynamo_namespace) == ({"a": "b"}, "ns")


MAIN = ("spec", "components", 1, "podTemplate", "spec", "containers", 0)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("spec", "env", 0), "- {name: G, value: g}"),
        (("spec", "components", 1), "Worker:"),
        (("spec", "components", 1, "name"), "Worker:"),
        (("spec", "components", 1, "type"), "subComponentType: decode"),
        (("spec", "components", 0, "type"), "componentType: main"),
        (("spec", "components", 1, "replicas"), "replicas: 2"),
        (("spec", "components", 1, "sharedMemorySize"), "sharedMemory: {size: 1Gi}"),
        (("spec", "components", 0, "sharedMemorySize"), "sharedMemory: {disabled: true}"),
        (("spec", "components", 1, "compilationCache", "pvcName"), "- {name: cache, mountPoint: /cache, useAs"),
        (("spec", "components", 0, "experimental", "gpuMemoryService", "mode"), "gpuMemoryService:"),
        (("spec", "components", 1, "podTemplate", "metadata", "labels", "c"), "extraPodMetadata:"),
        (("spec", "components", 1, "podTemplate", "spec", "nodeSelector"), "nodeSelector: {e: f}"),
        ((*MAIN, "image"), "image: x:1.5.0"),
        ((*MAIN, "args", 0), "args: [--x]"),
        ((*MAIN, "env", 0, "value"), '- {name: A, value: "1"}'),
        ((*MAIN, "env", 1, "value"), '- {name: B, value: "3"}'),
        ((*MAIN, "env", 2), '- {name: C, value: "4"}'),
        ((*MAIN, "envFrom", 0), "envFromSecret: hf"),
        ((*MAIN, "livenessProbe", "httpGet"), "httpGet: {path: /live, port: 9090}"),
        ((*MAIN, "readinessProbe", "httpGet"), "httpGet: {path: /ready, port: 1}"),
        ((*MAIN, "resources", "limits", "nvidia.com/gpu"), "gpu: 1"),
        ((*MAIN, "resources", "limits", "rdma/ib"), "custom: {rdma/ib: 2}"),
        ((*MAIN, "resources", "limits", "memory"), "limits: {memory: 9Gi}"),
        ((*MAIN, "volumeMounts", 0), "volumeMounts: [{name: z, mountPath: /z}]"),
        ((*MAIN, "volumeMounts", 1), "- {name: models, mountPoint: /models}"),
        ((*MAIN[:-1], 1, "image"), '- {name: side, image: "s:1"}'),
        (("spec", "components", 0, *MAIN[3:-1], 1, "env", 0), "frontendSidecar: {image: fs"),
        ((*MAIN, "startupProbe"), "mainContainer:"),
    ],
)
def test_every_moved_value_leads_to_its_v1alpha1_line(alpha: Graph, path: tuple[Any, ...], line: str) -> None:
    """Findings about a converted graph point at what the user wrote."""
    assert ALPHA.splitlines()[alpha.locate(*path).line - 1].strip().startswith(line)


def test_quantities_mean_the_same_as_text_and_as_number(load_text: Load) -> None:
    """`gpu: 1` and `gpu: "1"` give the same resources, under the vendor's name if one is given."""
    limits = [
        load_text(ALPHA.replace("gpu: 1", gpu)).graphs[0].components[1].main["resources"]["limits"]
        for gpu in ("gpu: 1", 'gpu: "1"', "gpu: 1\n          gpuType: amd.com/gpu")
    ]
    assert limits[0] == limits[1]
    assert limits[2]["amd.com/gpu"] == "1"
    assert "nvidia.com/gpu" not in limits[2]


def test_own_env_from_replaces_the_secret(load_text: Load) -> None:
    """A list of `mainContainer` replaces what the dedicated field would give."""
    text = ALPHA.replace("          args: [--x]\n", "          envFrom: [{configMapRef: {name: c}}]\n")
    assert load_text(text).graphs[0].components[1].main["envFrom"] == [{"configMapRef": {"name": "c"}}]


def test_both_versions_of_a_graph_are_the_same_graph(load_text: Load) -> None:
    """The same component written in either version has the same pod template."""
    beta = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  components:
  - name: w
    type: prefill
    podTemplate: {spec: {containers: [{name: main, image: x, env: [{name: A, value: a}]}]}}
"""
    alpha = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    w:
      componentType: worker
      subComponentType: prefill
      envs: [{name: A, value: a}]
      extraPodSpec: {mainContainer: {image: x}}
"""
    (old,), (new,) = (load_text(text).graphs[0].components for text in (alpha, beta))
    assert (old.name, old.type, old.pod_template) == (new.name, new.type, new.pod_template)
