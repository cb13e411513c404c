"""Names that other systems look up: annotation and label keys, Dynamo namespaces, object names and their limits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stator.errors import Problem
from stator.model import Component, Graph

SELECTOR = "nvidia.com/selector"
GRAPH_NAME = "nvidia.com/dynamo-graph-deployment-name"
COMPONENT = "nvidia.com/dynamo-component"
COMPONENT_TYPE = "nvidia.com/dynamo-component-type"
SUB_COMPONENT_TYPE = "nvidia.com/dynamo-sub-component-type"
COMPONENT_CLASS = "nvidia.com/dynamo-component-class"
DYNAMO_NAMESPACE = "nvidia.com/dynamo-namespace"
WORKER_HASH = "nvidia.com/dynamo-worker-hash"
BASE_MODEL_HASH = "nvidia.com/dynamo-base-model-hash"
METRICS_ENABLED = "nvidia.com/metrics-enabled"
# LeaderWorkerSet pods: `leader` or `worker`.
ROLE = "role"
DISCOVERY_ENABLED = "nvidia.com/dynamo-discovery-enabled"

# Both an annotation (a person's choice) and a label (what the runtime's discovery selects by).
DISCOVERY_BACKEND = "nvidia.com/dynamo-discovery-backend"

DISCOVERY_MODE = "nvidia.com/dynamo-kube-discovery-mode"
ENABLE_METRICS = "nvidia.com/enable-metrics"
BASE_MODEL = "nvidia.com/dynamo-base-model"
ORIGIN_VERSION = "nvidia.com/dynamo-operator-origin-version"
VLLM_EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"

RESTART = "nvidia.com/restartAt"
NO_PULL_SECRETS = "nvidia.com/disable-image-pull-secret-discovery"
KAI_QUEUE = "nvidia.com/kai-scheduler-queue"
VOLCANO_QUEUE = "nvidia.com/volcano-queue"

PLANNER_ACCOUNT = "planner-serviceaccount"
PICKER_ACCOUNT = "epp-serviceaccount"
POOL_GROUP = "inference.networking.k8s.io"
PICKER_CONFIG_KEY = "epp-config-dynamo.yaml"

GLOBAL_NAMESPACE = "dynamo"
WORKER_TYPES = frozenset({"worker", "prefill", "decode"})
TYPES = WORKER_TYPES | {"frontend", "planner", "epp"}

# Kubernetes documentation, "Object Names and IDs": a Service name is an RFC 1035 label, a label value has at most
# 63 characters. The workload's name is both.
_SERVICE_NAME = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_LIMIT = 63


def parent_name(graph: Graph) -> str:
    """The graph a component belongs to: the graph itself, or the one a DynamoComponentDeployment's label names."""
    if graph.kind == "DynamoComponentDeployment":
        return graph.labels.get(GRAPH_NAME) or graph.name
    return graph.name


def dynamo_namespace(graph: Graph, component: Component) -> str:
    """`DYN_NAMESPACE`: `dynamo`, or `<Kubernetes namespace>-<graph name>` with dots turned into hyphens."""
    if component.global_dynamo_namespace:
        return GLOBAL_NAMESPACE
    return f"{graph.namespace}-{parent_name(graph).replace('.', '-')}"


def workload_name(graph: Graph, component: Component, generation: str) -> str:
    """`<graph>-<component>` in lower case, with the worker hash if there is one in names.

    A DynamoComponentDeployment is its own workload and keeps its name.
    """
    if graph.kind == "DynamoComponentDeployment":
        return graph.name
    name = f"{graph.name}-{component.name.lower()}"
    return f"{name}-{generation}" if generation else name


def set_name(workload: str) -> str:
    """The LeaderWorkerSet of a component, which makes a headless Service of its own name."""
    return f"{workload}-0"


def pool_name(graph: str) -> str:
    """The InferencePool of a graph."""
    return f"{graph}-pool"


def picker_config_name(graph: str) -> str:
    """The ConfigMap of a graph's endpoint picker."""
    return f"{graph}-epp-config"


def service_name(workload: str) -> str:
    """The Service of a workload: its name, with dots (legal in a Deployment's name, not here) as hyphens."""
    return workload.lower().replace(".", "-")


def problems(graph: Graph, component: Component, workload: str, *, spans_nodes: bool) -> Iterator[Problem]:
    """Names the API server would refuse, reported before anything is applied.

    A LeaderWorkerSet makes its Service and the hostnames of its pods of its own name as it is.
    """
    service = workload if spans_nodes else service_name(workload)
    if len(component.type) > _LIMIT or not _LABEL_VALUE.fullmatch(component.type):
        yield Problem(
            what=f'component {component.name}: the type "{component.type}" cannot be a label value',
            position=graph.locate(*component.path, "type"),
            why="pods and Services are found by it",
            remedy="use letters, digits, '-', '_' and '.', at most 63",
        )
    if len(workload) > _LIMIT:
        yield Problem(
            what=f'component {component.name}: the workload name "{workload}" has {len(workload)} characters',
            position=graph.locate("metadata", "name"),
            why=f"it is also a label value and a Service name, which have at most {_LIMIT}",
            remedy="shorten the graph's or the component's name",
        )
    elif not _SERVICE_NAME.fullmatch(service):
        yield Problem(
            what=f'component {component.name}: "{service}" cannot be a Service name',
            position=graph.locate("metadata", "name"),
            why="a Service name starts with a letter and holds only lower-case letters, digits and hyphens",
            remedy="rename the graph",
        )
    namespace = dynamo_namespace(graph, component)
    if len(namespace) > _LIMIT:
        yield Problem(
            what=f'component {component.name}: the Dynamo namespace "{namespace}" has {len(namespace)} characters',
            position=graph.locate("metadata", "name"),
            why=f"it is a label value of every pod, which has at most {_LIMIT}",
            remedy="shorten the Kubernetes namespace's or the graph's name",
        )
