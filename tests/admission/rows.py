"""The rules on new objects, one row each: what is refused at which field of either version, and what is admitted.

Both documents of a row differ in the one place the rule is about. The numbers are groups of rules of the upstream
operator's admission.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from submitted import GPU, Json, graph, part, pod

from stator.admission import Installed

GROVE = Installed(grove=True)
NO_GROVE = Installed(grove=False)
RACKS = Installed(grove=True, topologies={"dc": ("zone", "rack", "host")})
MODE = "nvidia.com/dynamo-kube-discovery-mode"
POWER = "dynamo.nvidia.com/gpu-power-limit"
IN_CONTAINERS = {MODE: "container"}
H100 = {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}}
RUNTIME = {"name": "runtime", "image": "reg/dynamo:1.6.1", "restartPolicy": "Always"}
ELASTIC = ["--enable-elastic-ep", "--data-parallel-backend", "ray"]


class Row(NamedTuple):
    """A rule, a document it refuses, the neighbour it admits, the fields it names, and a piece of its words.

    `alpha` is None where v1alpha1 has no such field.
    """

    rule: str
    refused: Json
    admitted: Json
    beta: str
    alpha: str | None
    words: str
    installed: Installed = Installed()
    admitted_by: Installed | None = None


def worker(**fields: Any) -> Json:
    """A graph of one worker with more fields."""
    return graph(part(**fields))


def gms(settings: Json | None = None, kind: str = "worker", annotations: Json | None = None, **more: Any) -> Json:
    """A worker with a GPU and a GPU memory service."""
    template = pod({"name": "side", "image": "x:1.6.1"}, resources=GPU)
    experimental = {"gpuMemoryService": settings or {}, **more}
    return graph(
        part(kind=kind, template=template, experimental=experimental),
        annotations=annotations,
        backendFramework="vllm",
    )


def roles(leader: Json | None = None, worker: Json | None = None, **component: Any) -> Json:
    """A component of three nodes with both roles described."""
    both = [{"name": "leader", **(leader or {})}, {"name": "worker", **(worker or {})}]
    return graph(part(**{"multinode": {"nodeCount": 3}, "roles": both, **component}))


def own(**kinds: Any) -> Json:
    """Roles with pod templates of their own."""
    return roles({"podTemplate": pod(**kinds)}, {"podTemplate": pod()}, template={})


def packed(domain: str | None, component: str | None = None, *, topology: str = "dc") -> Json:
    """A graph in a topology, packed or with a packed component or both."""
    constraint = {"clusterTopologyName": topology} | ({"packDomain": domain} if domain else {})
    return graph(
        part(**({"topologyConstraint": {"packDomain": component}} if component else {})), topologyConstraint=constraint
    )


def policy(**settings: Any) -> Json:
    """A graph with a KV transfer policy."""
    given = {"domain": "rack", **settings}
    return graph(part(), experimental={"kvTransferPolicy": given})


def override(value: Json, target: str | None = None, **more: Any) -> Json:
    """What a provider override says."""
    return {"apiVersion": "grove.io/v1alpha1", "value": value, **({"target": target} if target else {}), **more}


def restart(*order: str, kind: str = "Sequential") -> Json:
    """A graph of two components that restarts in this order."""
    return graph(part("a"), part("b"), restart={"id": "1", "strategy": {"type": kind, "order": list(order)}})


def power(text: str, product: str = "NVIDIA-H100-80GB-HBM3", **spec: Any) -> Json:
    """A worker whose GPUs are limited."""
    selector = {"nodeSelector": {"nvidia.com/gpu.product": product}} if product else {}
    return worker(template=pod(metadata={"annotations": {POWER: text}}, spec={**selector, **spec}, resources=GPU))


def with_limit(**resources: Json) -> Json:
    """A worker whose main container has these resources."""
    return worker(template=pod(resources=resources))


def epp(version: str = "1.6.1", **fields: Any) -> Json:
    """An endpoint picker."""
    return graph(part("e", "epp", pod(image=f"reg/epp:{version}"), **fields))


CONFIG = {"configMapRef": {"name": "c"}}
JOB = {"enabled": True, "job": {"gmsClientContainers": ["main"]}}
COMPONENT, SERVICE = "spec.components[0].", "spec.services.w."
CONTAINER = "spec.components[0].podTemplate.spec.containers[0]."
MAIN = "spec.services.w.extraPodSpec.mainContainer."
PROVIDER = "topologyConstraint and minAvailable only"

ROWS = [
    Row("11.1", graph(), worker(), "spec.components", "spec.services", "1 to 25"),
    Row(
        "11.2",
        worker(template={"spec": {"containers": [{"name": "main", "args": ["-x"]}]}}),
        worker(),
        CONTAINER + "image",
        MAIN + "image",
        '"main" has no image',
    ),
    Row(
        "11.2 sidecar",
        worker(template=pod({"name": "side"})),
        worker(template=pod({"name": "side", "image": "x"})),
        "spec.components[0].podTemplate.spec.containers[1].image",
        "spec.services.w.extraPodSpec.containers[0].image",
        '"side" has no image',
    ),
    Row(
        "image reference",
        worker(template=pod({"name": "side", "image": "Reg/Side:::1"})),
        worker(template=pod({"name": "side", "image": "REG.example:5000/side_car/x:1@sha256:" + "0" * 64})),
        "spec.components[0].podTemplate.spec.containers[1].image",
        "spec.services.w.extraPodSpec.containers[0].image",
        "is no image reference",
    ),
    Row(
        "11.3",
        worker(template=pod(image="reg/vllm-runtime:latest")),
        worker(template=pod(image="reg/vllm-runtime:latest"), runtimeVersionOverride="1.6.1"),
        COMPONENT + "runtimeVersionOverride",
        SERVICE + "runtimeVersionOverride",
        "runtimeVersionOverride is required",
    ),
    Row(
        "11.3 format",
        worker(runtimeVersionOverride="1.6"),
        worker(runtimeVersionOverride="1.6.0"),
        COMPONENT + "runtimeVersionOverride",
        SERVICE + "runtimeVersionOverride",
        "is not a version",
    ),
    Row(
        "11.4 pool",
        epp(),
        epp(),
        COMPONENT + "type",
        "spec.services.e.componentType",
        "no InferencePool",
        Installed(inference_pools=False),
        Installed(inference_pools=True),
    ),
    Row(
        "11.4 one",
        graph(part("a", "epp"), part("b", "epp")),
        graph(part("a", "epp"), part("b", "frontend")),
        "spec.components[1].type",
        "spec.services.b.componentType",
        "at most one may be epp",
    ),
    Row(
        "11.4 nodes",
        epp(multinode={"nodeCount": 2}),
        worker(multinode={"nodeCount": 2}),
        COMPONENT + "multinode",
        "spec.services.e.multinode",
        'multinode does not go with the type "epp"',
    ),
    Row(
        "11.4 replicas",
        epp("1.4.1", eppConfig=CONFIG, replicas=2),
        epp("1.5.0", replicas=2),
        COMPONENT + "replicas",
        "spec.services.e.replicas",
        "must have 1 replica, not 2",
    ),
    Row(
        "11.4 old",
        epp("1.4.9"),
        epp("1.5.0"),
        COMPONENT + "eppConfig",
        "spec.services.e.eppConfig",
        "eppConfig is required",
    ),
    Row(
        "11.4 new",
        epp("1.5.0", eppConfig=CONFIG),
        epp("1.4.9", eppConfig=CONFIG),
        COMPONENT + "eppConfig",
        "spec.services.e.eppConfig",
        "eppConfig is not taken any more",
    ),
    Row(
        "11.4 both",
        epp("1.4.9", eppConfig={**CONFIG, "config": {}}),
        epp("1.4.9", eppConfig={"config": {}}),
        COMPONENT + "eppConfig",
        "spec.services.e.eppConfig",
        "exactly one of configMapRef and config",
    ),
    Row(
        "11.4 name",
        epp("1.4.9", eppConfig={"configMapRef": {"key": "k"}}),
        epp("1.4.9", eppConfig={"configMapRef": {"name": "c", "key": "k"}}),
        COMPONENT + "eppConfig.configMapRef.name",
        "spec.services.e.eppConfig.configMapRef.name",
        "is required",
    ),
    Row(
        "11.4 type",
        worker(eppConfig=CONFIG),
        worker(),
        COMPONENT + "eppConfig",
        SERVICE + "eppConfig",
        "goes with the type epp only",
    ),
    Row(
        "11.5",
        worker(minAvailable=1),
        worker(minAvailable=1),
        COMPONENT + "minAvailable",
        SERVICE + "minAvailable",
        "minAvailable needs Grove",
        NO_GROVE,
        GROVE,
    ),
    Row(
        "11.5 bound",
        worker(minAvailable=3, replicas=2),
        worker(minAvailable=3, replicas=0),
        COMPONENT + "minAvailable",
        SERVICE + "minAvailable",
        "minAvailable 3 is more than its replicas, 2",
        GROVE,
    ),
    Row(
        "11.6",
        worker(sharedMemorySize="-1Gi"),
        worker(sharedMemorySize="0"),
        COMPONENT + "sharedMemorySize",
        SERVICE + "sharedMemory.size",
        "not negative",
    ),
    Row(
        "11.7 empty",
        worker(frontendSidecar=""),
        worker(),
        COMPONENT + "frontendSidecar",
        None,
        "not empty",
    ),
    Row(
        "11.7 name",
        worker(frontendSidecar="side"),
        worker(frontendSidecar="side", template=pod({"name": "side", "image": "x:1.6.1"})),
        COMPONENT + "frontendSidecar",
        None,
        'the frontend sidecar "side" is none of its sidecars',
    ),
    Row(
        "11.8",
        graph(part(kind="frontend", multinode={"nodeCount": 2})),
        worker(multinode={"nodeCount": 2}),
        COMPONENT + "multinode",
        SERVICE + "multinode",
        'multinode does not go with the type "frontend"',
    ),
    Row(
        "11.8 untyped",
        graph(part(kind="", multinode={"nodeCount": 2})),
        worker(multinode={"nodeCount": 2}),
        COMPONENT + "multinode",
        SERVICE + "multinode",
        "multinode needs a type",
    ),
    Row(
        "11.9 multinode",
        worker(roles=[{"name": "leader"}, {"name": "worker"}]),
        roles(),
        COMPONENT + "roles",
        SERVICE + "roles",
        "roles need multinode",
    ),
    Row(
        "11.9 both",
        worker(multinode={}, roles=[{"name": "leader"}]),
        worker(multinode={}, roles=[{"name": "leader"}, {"name": "worker"}]),
        COMPONENT + "roles",
        SERVICE + "roles",
        "the role worker is missing",
    ),
    Row(
        "11.9 counts",
        roles(worker={"replicas": 3}),
        roles(worker={"replicas": 2}),
        COMPONENT + "roles[1].replicas",
        SERVICE + "roles[1].replicas",
        "the role worker has 2 pods in a replica, not 3",
    ),
    Row(
        "11.9 templates",
        roles({"podTemplate": pod()}, template={}),
        roles({"podTemplate": pod()}, {"podTemplate": pod()}, template={}),
        COMPONENT + "roles[1]",
        SERVICE + "roles[1]",
        "one role has a podTemplate, the other has none",
    ),
    Row(
        "11.9 beside",
        roles({"podTemplate": pod()}, {"podTemplate": pod()}),
        roles({"podTemplate": pod()}, {"podTemplate": pod()}, template={}),
        COMPONENT + "roles[0].podTemplate",
        SERVICE + "roles[0].podTemplate",
        "a role has a podTemplate, and so has the component",
    ),
    Row(
        "11.9 image",
        own(image=""),
        own(),
        COMPONENT + "roles[0].podTemplate.spec.containers[0].image",
        SERVICE + "roles[0].podTemplate.spec.containers[0].image",
        '"main" has no image',
    ),
    Row(
        "11.9 power",
        own(metadata={"annotations": {POWER: "300"}}),
        own(metadata={"annotations": {"a": "b"}}),
        COMPONENT + f'roles[0].podTemplate.metadata.annotations["{POWER}"]',
        SERVICE + f'roles[0].podTemplate.metadata.annotations["{POWER}"]',
        "a role's template cannot limit power",
    ),
    Row(
        "11.9 runtime",
        own(spec={"initContainers": [{**RUNTIME, "restartPolicy": "Never"}]}),
        own(spec={"initContainers": [{**RUNTIME, "name": "first"}]}),
        COMPONENT + "roles[0].podTemplate.spec.initContainers[0]",
        SERVICE + "roles[0].podTemplate.spec.initContainers[0]",
        'cannot have a "runtime" container',
    ),
    Row(
        "11.10 type",
        graph(part(kind="frontend", template=pod(spec={"initContainers": [RUNTIME]}))),
        worker(template=pod(spec={"initContainers": [RUNTIME]})),
        COMPONENT + "podTemplate.spec.initContainers[0]",
        SERVICE + "extraPodSpec.initContainers[0]",
        "goes with workers only",
    ),
    Row(
        "11.10 multinode",
        worker(template=pod(spec={"initContainers": [RUNTIME]}), multinode={"nodeCount": 2}),
        worker(multinode={"nodeCount": 2}),
        COMPONENT + "multinode",
        SERVICE + "multinode",
        'multinode does not go with a "runtime" container',
    ),
    Row(
        "11.10 checkpoint",
        worker(template=pod(spec={"initContainers": [RUNTIME]}), experimental={"checkpoint": {"enabled": True}}),
        worker(experimental={"checkpoint": {"enabled": True}}),
        COMPONENT + "experimental.checkpoint",
        SERVICE + "checkpoint",
        'checkpoint does not go with a "runtime" container',
    ),
    Row(
        "11.11 type",
        gms(kind="frontend"),
        gms(kind="decode"),
        COMPONENT + "experimental.gpuMemoryService",
        SERVICE + "gpuMemoryService",
        "goes with workers only",
    ),
    Row(
        "11.11 gpu",
        worker(experimental={"gpuMemoryService": {}}),
        gms(),
        COMPONENT + "experimental.gpuMemoryService",
        SERVICE + "gpuMemoryService",
        "has no GPUs to hold",
    ),
    Row(
        "11.11 gpu between pods",
        graph(part(experimental={"gpuMemoryService": {"mode": "InterPod"}}), backendFramework="vllm"),
        gms({"mode": "InterPod"}),
        COMPONENT + "experimental.gpuMemoryService",
        SERVICE + "gpuMemoryService",
        "needs a GPU",
    ),
    Row(
        "11.11 grove",
        gms({"mode": "InterPod"}),
        gms({"mode": "InterPod"}),
        COMPONENT + "experimental.gpuMemoryService.mode",
        SERVICE + "gpuMemoryService.mode",
        "between pods needs Grove",
        NO_GROVE,
        GROVE,
    ),
    Row(
        "11.11 vllm",
        {**(sglang := gms({"mode": "InterPod"})), "spec": {**sglang["spec"], "backendFramework": "sglang"}},
        gms({"mode": "InterPod"}),
        COMPONENT + "experimental.gpuMemoryService.mode",
        SERVICE + "gpuMemoryService.mode",
        "made for vllm, not sglang",
        GROVE,
    ),
    Row(
        "11.11 container",
        gms({"extraClientContainers": ["other"]}),
        gms({"extraClientContainers": ["side"]}),
        COMPONENT + "experimental.gpuMemoryService.extraClientContainers[0]",
        SERVICE + "gpuMemoryService.extraClientContainers[0]",
        'names no container with "other"',
    ),
    Row(
        "11.11 unique",
        gms({"extraClientContainers": ["side", "side"]}),
        gms({"extraClientContainers": ["side", "main"]}),
        COMPONENT + "experimental.gpuMemoryService.extraClientContainers[1]",
        SERVICE + "gpuMemoryService.extraClientContainers[1]",
        'names the container "side" twice',
    ),
    Row(
        "11.11 between",
        gms({"mode": "InterPod", "extraClientContainers": ["side"]}),
        gms({"mode": "IntraPod", "extraClientContainers": ["side"]}),
        COMPONENT + "experimental.gpuMemoryService.extraClientContainers",
        SERVICE + "gpuMemoryService.extraClientContainers",
        "between pods takes no extraClientContainers",
    ),
    Row(
        "11.11 pods",
        gms({"extraClientPods": []}),
        gms(),
        COMPONENT + "experimental.gpuMemoryService.extraClientPods",
        SERVICE + "gpuMemoryService.extraClientPods",
        "takes no extraClientPods",
    ),
    Row(
        "11.12 memory",
        worker(experimental={"failover": {"mode": "InterPod"}}),
        gms({"mode": "InterPod"}, failover={"mode": "InterPod"}),
        COMPONENT + "experimental.failover",
        SERVICE + "failover",
        "needs a gpuMemoryService of the same mode",
    ),
    Row(
        "11.12 mode",
        gms({"mode": "IntraPod"}, failover={"mode": "InterPod"}),
        gms({"mode": "InterPod"}, failover={"mode": "InterPod"}),
        COMPONENT + "experimental.failover",
        SERVICE + "failover",
        "of the mode InterPod needs a gpuMemoryService of the same mode",
    ),
    Row(
        "11.12 discovery",
        gms(failover={"mode": "IntraPod"}),
        gms(failover={"mode": "IntraPod"}, annotations=IN_CONTAINERS),
        f'metadata.annotations["{MODE}"]',
        f'metadata.annotations["{MODE}"]',
        "inside a pod needs the annotation",
    ),
    Row(
        "11.12 shadows",
        gms(failover={"mode": "IntraPod", "numShadows": 2}, annotations=IN_CONTAINERS),
        gms(failover={"mode": "IntraPod", "numShadows": 1}, annotations=IN_CONTAINERS),
        COMPONENT + "experimental.failover.numShadows",
        SERVICE + "failover.numShadows",
        "equal to 1",
    ),
    Row(
        "11.13 gate",
        worker(experimental={"checkpoint": {"enabled": True}}),
        worker(experimental={"checkpoint": {"enabled": True}}),
        COMPONENT + "experimental.checkpoint",
        SERVICE + "checkpoint",
        "takes no snapshots",
        Installed(snapshots=False),
        Installed(snapshots=True),
    ),
    Row(
        "11.13 type",
        graph(part(kind="", experimental={"checkpoint": {"enabled": True}})),
        graph(part(kind="", experimental={"checkpoint": {"enabled": False}})),
        COMPONENT + "experimental.checkpoint",
        SERVICE + "checkpoint",
        "goes with workers only",
    ),
    Row(
        "11.13 job",
        worker(experimental={"checkpoint": {**JOB, "checkpointRef": "r"}}),
        worker(experimental={"checkpoint": JOB}),
        COMPONENT + "experimental.checkpoint",
        SERVICE + "checkpoint",
        "may have one of job and checkpointRef",
    ),
    Row(
        "11.13 clients",
        worker(experimental={"checkpoint": {"enabled": True, "job": {"gmsClientContainers": ["x"]}}}),
        worker(experimental={"checkpoint": JOB}),
        COMPONENT + "experimental.checkpoint.job.gmsClientContainers[0]",
        SERVICE + "checkpoint.job.gmsClientContainers[0]",
        'names no container with "x"',
    ),
    Row(
        "11.13 alone",
        graph(
            part(experimental={"checkpoint": {"enabled": True, "checkpointRef": "r"}}),
            kind="DynamoComponentDeployment",
        ),
        worker(experimental={"checkpoint": {"enabled": True, "checkpointRef": "r"}}),
        "spec.experimental.checkpoint.checkpointRef",
        "spec.checkpoint.checkpointRef",
        "cannot use another's checkpoint",
    ),
    Row(
        "11.14",
        worker(experimental={"grove": {"forceScalingGroup": True}}),
        worker(experimental={"grove": {"forceScalingGroup": True}}),
        COMPONENT + "experimental.grove.forceScalingGroup",
        None,
        "forceScalingGroup needs Grove",
        NO_GROVE,
        GROVE,
    ),
    Row(
        "11.15",
        graph(part(), priorityClassName="high"),
        graph(part(), priorityClassName="high"),
        "spec.priorityClassName",
        "spec.priorityClassName",
        "priorityClassName needs Grove",
        NO_GROVE,
        GROVE,
    ),
    Row(
        "11.15 declined",
        graph(part(), priorityClassName="high", annotations={"nvidia.com/enable-grove": "False"}),
        graph(part(), priorityClassName="high", annotations={"nvidia.com/enable-grove": "true"}),
        "spec.priorityClassName",
        "spec.priorityClassName",
        "priorityClassName needs Grove",
        GROVE,
    ),
    Row(
        "11.16",
        graph(part("w" * 45)),
        graph(part("w" * 44)),
        COMPONENT + "name",
        f"spec.services.{'w' * 45}",
        "its name leaves 0 characters for the graph's",
        GROVE,
    ),
    Row(
        "11.17 create",
        graph(part(), restart={"id": "1"}),
        graph(part()),
        "spec.restart",
        "spec.restart",
        "cannot be set on a new graph",
    ),
    Row(
        "11.17 parallel",
        restart("a", "b", kind="Parallel"),
        graph(part("a"), part("b")),
        "spec.restart.strategy.order",
        "spec.restart.strategy.order",
        "absent with the type Parallel",
    ),
    Row(
        "11.17 unique",
        restart("a", "a"),
        graph(part("a"), part("b")),
        "spec.restart.strategy.order[1]",
        "spec.restart.strategy.order[1]",
        'repeats "a"',
    ),
    Row(
        "11.17 all",
        restart("a"),
        graph(part("a"), part("b")),
        "spec.restart.strategy.order",
        "spec.restart.strategy.order",
        "leaves out b",
    ),
    Row(
        "11.17 known",
        restart("a", "b", "c"),
        graph(part("a"), part("b")),
        "spec.restart.strategy.order[2]",
        "spec.restart.strategy.order[2]",
        '"c" is no component',
    ),
    Row(
        "11.18 graph",
        worker(topologyConstraint={"packDomain": "rack"}),
        packed(None, "rack"),
        "spec.topologyConstraint",
        "spec.topologyConstraint",
        "component w is packed",
        GROVE,
    ),
    Row(
        "11.18 pack",
        packed(None),
        packed("rack"),
        "spec.topologyConstraint.packDomain",
        "spec.topologyConstraint.packDomain",
        "packDomain is required",
        GROVE,
    ),
    Row(
        "11.18 exists",
        packed("rack"),
        packed("rack"),
        "spec.topologyConstraint.clusterTopologyName",
        "spec.topologyConstraint.clusterTopologyName",
        'no topology "dc"',
        Installed(grove=True, topologies={}),
        RACKS,
    ),
    Row(
        "11.18 domain",
        packed("row"),
        packed("zone"),
        "spec.topologyConstraint.packDomain",
        "spec.topologyConstraint.packDomain",
        'no domain "row"',
        RACKS,
    ),
    Row(
        "11.18 component",
        packed("rack", "row"),
        packed("rack", "rack"),
        COMPONENT + "topologyConstraint.packDomain",
        SERVICE + "topologyConstraint.packDomain",
        'no domain "row"',
        RACKS,
    ),
    Row(
        "11.18 wider",
        packed("rack", "zone"),
        packed("rack", "host"),
        COMPONENT + "topologyConstraint.packDomain",
        SERVICE + "topologyConstraint.packDomain",
        '"zone" is wider than the graph\'s, "rack"',
        RACKS,
    ),
    Row(
        "11.19 one",
        policy(),
        policy(labelKey="a/b"),
        "spec.experimental.kvTransferPolicy",
        "spec.experimental.kvTransferPolicy",
        "exactly one of clusterTopologyName and labelKey",
    ),
    Row(
        "11.19 key",
        policy(labelKey="a/b/c"),
        policy(labelKey="topology.kubernetes.io/zone"),
        "spec.experimental.kvTransferPolicy.labelKey",
        "spec.experimental.kvTransferPolicy.labelKey",
        '"a/b/c" is no label key',
    ),
    Row(
        "11.19 weight",
        policy(labelKey="a/b", enforcement="preferred"),
        policy(labelKey="a/b", enforcement="preferred", preferredWeight=0.5),
        "spec.experimental.kvTransferPolicy.preferredWeight",
        "spec.experimental.kvTransferPolicy.preferredWeight",
        "is required",
    ),
    Row(
        "11.19 grove",
        policy(clusterTopologyName="dc"),
        policy(clusterTopologyName="dc"),
        "spec.experimental.kvTransferPolicy.clusterTopologyName",
        "spec.experimental.kvTransferPolicy.clusterTopologyName",
        "needs Grove",
        NO_GROVE,
        RACKS,
    ),
    Row(
        "11.19 exists",
        policy(clusterTopologyName="other"),
        policy(clusterTopologyName="dc"),
        "spec.experimental.kvTransferPolicy.clusterTopologyName",
        "spec.experimental.kvTransferPolicy.clusterTopologyName",
        'no topology "other"',
        RACKS,
    ),
    Row(
        "11.19 domain",
        policy(clusterTopologyName="dc", domain="row"),
        policy(clusterTopologyName="dc"),
        "spec.experimental.kvTransferPolicy.domain",
        "spec.experimental.kvTransferPolicy.domain",
        'no domain "row"',
        RACKS,
    ),
    Row(
        "11.20 version",
        worker(providerOverride=override({"minAvailable": 1}, apiVersion="grove.io/v1")),
        worker(providerOverride=override({"minAvailable": 1})),
        COMPONENT + "providerOverride.apiVersion",
        SERVICE + "providerOverride.apiVersion",
        "must be grove.io/v1alpha1",
        GROVE,
    ),
    Row(
        "11.20 grove",
        worker(providerOverride=override({"minAvailable": 1})),
        worker(providerOverride=override({"minAvailable": 1})),
        COMPONENT + "providerOverride",
        SERVICE + "providerOverride",
        "providerOverride needs Grove",
        NO_GROVE,
        GROVE,
    ),
    Row(
        "11.20 target",
        worker(providerOverride=override({"minAvailable": 1}, "PodCliqueSet")),
        worker(providerOverride=override({"minAvailable": 1}, "PodCliqueTemplateSpec")),
        COMPONENT + "providerOverride.target",
        SERVICE + "providerOverride.target",
        'cannot go to "PodCliqueSet"',
        GROVE,
    ),
    Row(
        "11.20 group",
        worker(multinode={}, providerOverride=override({"minAvailable": 1}, "PodCliqueTemplateSpec")),
        worker(multinode={}, providerOverride=override({"minAvailable": 1}, "PodCliqueScalingGroupConfig")),
        COMPONENT + "providerOverride.target",
        SERVICE + "providerOverride.target",
        "use PodCliqueScalingGroupConfig",
        GROVE,
    ),
    Row(
        "11.20 value",
        worker(providerOverride=override({"replicas": 2})),
        worker(providerOverride=override({"topologyConstraint": {"packDomain": "rack"}})),
        COMPONENT + "providerOverride.value",
        SERVICE + "providerOverride.value",
        PROVIDER,
        GROVE,
    ),
    Row(
        "11.20 minimum",
        worker(providerOverride=override({"minAvailable": 3}), replicas=2),
        worker(providerOverride=override({"minAvailable": 2}), replicas=2),
        COMPONENT + "providerOverride.value.minAvailable",
        SERVICE + "providerOverride.value.minAvailable",
        "from 1 to its replicas, 2",
        GROVE,
    ),
    Row(
        "11.20 graph",
        graph(part(), providerOverride=override({"spec": {"replicas": 2}})),
        graph(part(), providerOverride=override({"spec": {"template": {"topologyConstraint": {}}}})),
        "spec.providerOverride.value",
        "spec.providerOverride.value",
        "spec.template.topologyConstraint only",
        GROVE,
    ),
    Row(
        "11.20 typed",
        graph(
            part(providerOverride=override({"topologyConstraint": {"packDomain": "rack"}})),
            topologyConstraint={"clusterTopologyName": "dc", "packDomain": "zone"},
        ),
        graph(
            part(providerOverride=override({"minAvailable": 1})),
            topologyConstraint={"clusterTopologyName": "dc", "packDomain": "zone"},
        ),
        COMPONENT + "providerOverride.value",
        SERVICE + "providerOverride.value",
        "the graph has a typed one",
        GROVE,
    ),
    *(
        Row(
            f"11.21 {key.rpartition('/')[2]}",
            graph(part(), annotations={key: wrong}),
            graph(part(), annotations={key: right}),
            f'metadata.annotations["{key}"]',
            f'metadata.annotations["{key}"]',
            wrong,
        )
        for key, wrong, right in (
            ("nvidia.com/dynamo-operator-origin-version", "new", "1.6.1"),
            ("nvidia.com/vllm-distributed-executor-backend", "dask", "ray"),
            ("nvidia.com/grove-update-strategy", "Rolling", "OnDelete"),
            (MODE, "node", "container"),
            ("nvidia.com/workload-provider", "systemd", "component"),
        )
    ),
    Row(
        "11.22 number",
        power("300W"),
        power("300"),
        COMPONENT + f'podTemplate.metadata.annotations["{POWER}"]',
        SERVICE + f'extraPodMetadata.annotations["{POWER}"]',
        "no whole number of watts",
    ),
    Row(
        "11.22 range",
        power("701"),
        power("700"),
        COMPONENT + f'podTemplate.metadata.annotations["{POWER}"]',
        SERVICE + f'extraPodMetadata.annotations["{POWER}"]',
        "not within 200 to 700 W",
    ),
    Row(
        "11.22 L4 is no L40S",
        power("73", "NVIDIA-L4"),
        power("100", "NVIDIA-L40S"),
        COMPONENT + f'podTemplate.metadata.annotations["{POWER}"]',
        SERVICE + f'extraPodMetadata.annotations["{POWER}"]',
        "not within 40 to 72 W",
    ),
    Row(
        "11.22 product",
        power("300", ""),
        power("300"),
        COMPONENT + "podTemplate.spec.nodeSelector",
        SERVICE + "extraPodSpec.nodeSelector",
        "needs a nodeSelector nvidia.com/gpu.product",
    ),
    Row(
        "11.22 node",
        power("300", nodeName="n"),
        power("300"),
        COMPONENT + "podTemplate.spec.nodeName",
        SERVICE + "extraPodSpec.nodeName",
        "does not go with nodeName",
    ),
    Row(
        "11.22 claims",
        power("300", resourceClaims=[{"name": "gpu"}]),
        power("300"),
        COMPONENT + "podTemplate.spec.resourceClaims",
        SERVICE + "extraPodSpec.resourceClaims",
        "does not go with resource claims",
    ),
    Row(
        "11.23 command",
        worker(template=pod(args=["python3 -m dynamo.vllm " + " ".join(ELASTIC)])),
        worker(template=pod(command=["python3", "-m", "dynamo.vllm"], args=ELASTIC)),
        CONTAINER + "command",
        MAIN + "command",
        "needs a command",
    ),
    Row(
        "11.23 replicas",
        worker(template=pod(command=["python3", "-m", "dynamo.vllm", *ELASTIC]), replicas=2),
        worker(template=pod(command=["python3", "-m", "dynamo.vllm", *ELASTIC]), replicas=1),
        COMPONENT + "replicas",
        SERVICE + "replicas",
        "runs as one replica, not 2",
    ),
    Row(
        "11.23 replicas, the short flag",
        worker(template=pod(command=["python3", "-m", "dynamo.vllm", ELASTIC[0], "-dpb", "ray"]), replicas=2),
        worker(template=pod(command=["python3", "-m", "dynamo.vllm", ELASTIC[0], "-dpb", "mp"]), replicas=2),
        COMPONENT + "replicas",
        SERVICE + "replicas",
        "runs as one replica, not 2",
    ),
    Row(
        "whole devices",
        with_limit(limits={"nvidia.com/gpu": "500m"}),
        with_limit(limits={"nvidia.com/gpu": "1000m", "cpu": "500m"}),
        CONTAINER + 'resources.limits["nvidia.com/gpu"]',
        MAIN + 'resources.limits["nvidia.com/gpu"]',
        "devices are whole",
    ),
    Row(
        "no amount below zero",
        with_limit(limits={"memory": "-1Gi"}),
        with_limit(limits={"memory": "1Gi"}),
        CONTAINER + "resources.limits.memory",
        MAIN + "resources.limits.memory",
        "below zero",
    ),
    Row(
        "request within limit",
        with_limit(requests={"memory": "2Gi"}, limits={"memory": "2000Mi"}),
        with_limit(requests={"memory": "2Gi"}, limits={"memory": "2048Mi"}),
        CONTAINER + "resources.requests.memory",
        MAIN + "resources.requests.memory",
        "requests 2Gi memory and limits it to 2000Mi",
    ),
    Row(
        "devices equal",
        with_limit(requests={"nvidia.com/gpu": "2"}, limits={"nvidia.com/gpu": "1"}),
        with_limit(requests={"nvidia.com/gpu": "1"}, limits={"nvidia.com/gpu": 1}),
        CONTAINER + 'resources.requests["nvidia.com/gpu"]',
        MAIN + 'resources.requests["nvidia.com/gpu"]',
        "requests 2 nvidia.com/gpu and limits it to 1",
    ),
    Row(
        "quantity",
        with_limit(limits={"memory": "lots"}),
        with_limit(limits={"memory": "1Gi"}),
        CONTAINER + "resources.limits.memory",
        MAIN + "resources.limits.memory",
        "must be a quantity",
    ),
    Row(
        "replicas are int32",
        worker(replicas=2**31),
        worker(replicas=2**31 - 1),
        COMPONENT + "replicas",
        SERVICE + "replicas",
        "from 0 to 2147483647",
    ),
    Row(
        "names differ by more than case",
        graph(part("a"), part("A")),
        graph(part("a"), part("b")),
        "spec.components[1].name",
        None,
        "the same name once lower-cased",
    ),
    Row(
        "known framework",
        graph(part(), backendFramework="tgi"),
        graph(part(), backendFramework="vllm"),
        "spec.backendFramework",
        "spec.backendFramework",
        "one of sglang, vllm, trtllm",
    ),
    Row(
        "framework as detected",
        graph(part(template=pod(command=["python3", "-m", "dynamo.vllm"])), backendFramework="sglang"),
        graph(part(template=pod(command=["python3", "-m", "dynamo.vllm"])), backendFramework="vllm"),
        CONTAINER + "command",
        MAIN + "command",
        'runs vllm, but spec.backendFramework is "sglang"',
    ),
]
