"""Strategies for valid documents of both API versions, rich in what conversion has to move, spell or keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

WORDS = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["", "x", "y z", "$(A)", "true", "1"])
MAPS = st.dictionaries(st.sampled_from(["k", "l.io/m"]), TEXTS, max_size=2)


def objects(required: Mapping[str, Any], optional: Mapping[str, Any]) -> st.SearchStrategy[Json]:
    """Mappings with all required and some of the optional fields."""
    return st.fixed_dictionaries(dict(required), optional=dict(optional))


ENV = st.lists(
    st.one_of(
        objects({"name": st.sampled_from("ABC")}, {"value": TEXTS}),
        objects(
            {"name": st.sampled_from("ABC"), "valueFrom": st.just({"secretKeyRef": {"name": "s", "key": "k"}})}, {}
        ),
    ),
    max_size=3,
    unique_by=lambda entry: entry["name"],
)
ENV_FROM = st.lists(
    st.sampled_from(
        [
            {"secretRef": {"name": "s"}},
            {"secretRef": {"name": "t", "optional": True}},
            {"configMapRef": {"name": "c"}, "prefix": "P_"},
        ]
    ),
    max_size=2,
)
PROBE = st.sampled_from([{"httpGet": {"path": "/live", "port": 9090}}, {"exec": {"command": ["true"]}}])
QUANTITIES = st.dictionaries(st.sampled_from(["cpu", "nvidia.com/gpu"]), st.sampled_from(["1", 2, "500m"]), max_size=2)
RESOURCES = objects({}, {"requests": QUANTITIES, "limits": QUANTITIES, "claims": st.just([{"name": "d"}])})
MOUNTS = st.lists(st.sampled_from([{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w"}]), max_size=2)
MAIN = {
    "command": st.just(["python3"]),
    "args": st.lists(TEXTS, max_size=2),
    "env": ENV,
    "envFrom": ENV_FROM,
    "livenessProbe": PROBE,
    "startupProbe": PROBE,
    "resources": RESOURCES,
    "volumeMounts": MOUNTS,
    "workingDir": TEXTS,
}
SIDECARS = st.lists(
    objects({"name": st.sampled_from(["sidecar-one", "two"]), "image": st.just("s")}, {"env": ENV}),
    max_size=2,
    unique_by=lambda container: container["name"],
)
POD = {"nodeSelector": MAPS, "volumes": st.just([{"name": "v", "emptyDir": {}}]), "serviceAccountName": TEXTS}
SHARED = {
    "replicas": st.integers(0, 3),
    "multinode": st.just({"nodeCount": 2}),
    "modelRef": st.just({"name": "m"}),
    "minAvailable": st.just(1),
    "runtimeVersionOverride": st.just("1.5.0"),
    "globalDynamoNamespace": st.booleans(),
}
FEATURE = {"numShadows": st.just(1)}

SERVICE = objects(
    {
        "extraPodSpec": st.builds(
            lambda pod, main, others: pod | {"mainContainer": main} | ({"containers": others} if others else {}),
            objects({}, POD),
            objects({"image": st.just("r/sglang-runtime:1.5.1")}, MAIN),
            SIDECARS,
        )
    },
    {
        **SHARED,
        "componentType": st.sampled_from(["frontend", "worker", "planner"]),
        "subComponentType": st.sampled_from(["prefill", "decode", "other"]),
        "dynamoNamespace": WORDS,
        "envs": ENV,
        "envFromSecret": WORDS,
        "labels": MAPS,
        "annotations": MAPS,
        "livenessProbe": PROBE,
        "resources": objects(
            {},
            {
                section: objects({}, {"cpu": st.sampled_from(["1", 2]), "gpu": st.just("1"), "custom": QUANTITIES})
                for section in ("requests", "limits")
            },
        ),
        "volumeMounts": st.lists(
            st.sampled_from(
                [
                    {"name": "cache", "useAsCompilationCache": True},
                    {"name": "cache", "mountPoint": "/c", "useAsCompilationCache": True},
                    {"name": "v", "mountPoint": "/x"},
                ]
            ),
            max_size=3,
        ),
        "sharedMemory": st.sampled_from([{"disabled": True}, {"size": "8Gi"}, {"size": 0}, {"disabled": False}, {}]),
        "extraPodMetadata": objects({}, {"labels": MAPS, "annotations": MAPS}),
        "frontendSidecar": objects(
            {"image": st.just("f")}, {"args": st.just(["-x"]), "envs": ENV, "envFromSecret": WORDS}
        ),
        "scalingAdapter": st.sampled_from([{"enabled": True}, {"enabled": False}, {}]),
        "ingress": st.just({"enabled": True, "host": "h"}),
        "autoscaling": st.just({"enabled": False}),
        "failover": objects(
            {}, {**FEATURE, "enabled": st.booleans(), "mode": st.sampled_from(["intraPod", "interPod"])}
        ),
        "gpuMemoryService": objects({"enabled": st.booleans()}, {"deviceClassName": WORDS}),
        "checkpoint": st.just({"enabled": True}),
        "dynamoTag": WORDS,
    },
)

COMPONENT = objects(
    {
        "podTemplate": st.builds(
            lambda metadata, pod, main, others, first: {
                **metadata,
                "spec": pod | {"containers": [main, *others] if first else [*others, main]},
            },
            objects({}, {"metadata": objects({}, {"labels": MAPS, "annotations": MAPS, "name": WORDS})}),
            objects({}, POD),
            objects({"name": st.just("main"), "image": st.just("r/sglang-runtime:1.5.1")}, MAIN),
            st.one_of(
                SIDECARS,
                st.lists(
                    objects(
                        {"name": st.just("sidecar-frontend"), "image": st.just("f")},
                        {"env": ENV, "envFrom": ENV_FROM, "workingDir": TEXTS},
                    ),
                    min_size=1,
                    max_size=1,
                ),
            ),
            st.booleans(),
        )
    },
    {
        **SHARED,
        "type": st.sampled_from(["frontend", "worker", "prefill", "decode", "planner"]),
        "sharedMemorySize": st.sampled_from(["0", "8Gi", 4]),
        "scalingAdapter": st.sampled_from([{}, {"other": 1}]),
        "frontendSidecar": st.sampled_from(["sidecar-frontend", "two"]),
        "compilationCache": objects({"pvcName": WORDS}, {"mountPath": st.just("/c")}),
        "experimental": objects(
            {},
            {
                "grove": st.just({"forceScalingGroup": True}),
                "failover": objects({}, {**FEATURE, "mode": st.sampled_from(["IntraPod", "InterPod"])}),
                "checkpoint": st.just({"enabled": True}),
            },
        ),
    },
)

GRAPH = {"annotations": MAPS, "labels": MAPS, "backendFramework": st.just("sglang"), "priorityClassName": WORDS}
METADATA = objects(
    {"name": st.just("g")}, {"namespace": st.just("ns"), "annotations": st.just({"k": "v"}), "labels": MAPS}
)
NAMES = st.sampled_from(["Worker", "frontend", "Planner", "aa"])


def _document(version: str, spec: st.SearchStrategy[Json], kind: str) -> st.SearchStrategy[Json]:
    head = {"apiVersion": st.just(f"nvidia.com/{version}"), "kind": st.just(kind), "metadata": METADATA, "spec": spec}
    return st.fixed_dictionaries(head)


_SERVICES = st.dictionaries(NAMES, SERVICE, min_size=1, max_size=2)
_RENAMED = st.builds(lambda service: {"key": service | {"serviceName": "Renamed"}}, SERVICE)
_COMPONENTS = st.lists(
    st.builds(lambda name, component: {"name": name, **component}, NAMES, COMPONENT),
    min_size=1,
    max_size=3,
    unique_by=lambda component: component["name"].lower(),
)
ALPHA = st.one_of(
    _document(
        "v1alpha1",
        objects(
            {"services": st.one_of(_SERVICES, _RENAMED)},
            {**GRAPH, "envs": ENV, "pvcs": st.just([{"name": "p", "create": False}])},
        ),
        "DynamoGraphDeployment",
    ),
    _document(
        "v1alpha1",
        st.builds(lambda service, more: service | more, SERVICE, objects({}, {"serviceName": NAMES})),
        "DynamoComponentDeployment",
    ),
)
BETA = st.one_of(
    _document("v1beta1", objects({"components": _COMPONENTS}, {**GRAPH, "env": ENV}), "DynamoGraphDeployment"),
    _document(
        "v1beta1",
        st.builds(lambda component, more: component | more, COMPONENT, objects({}, {"name": NAMES})),
        "DynamoComponentDeployment",
    ),
)
