"""The rules on whole manifests: where each speaks, where it must not, and on which side of its boundary."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from graphs import found, frontend, graph, part, report, worker

from stator.check.ignores import of_options
from stator.compat import rules
from stator.errors import ExitCode
from stator.render import RenderOptions
from stator.versions import Version

Case = tuple[dict[str, Any], ...]
NODES = {"nodeCount": 2}
RAY_KEY = "nvidia.com/vllm-distributed-executor-backend"
RAY = {RAY_KEY: "ray"}
QUIET: set[tuple[str, str, str]] = set()


def one(made: dict[str, Any], front: dict[str, Any] | None = None) -> Case:
    """A graph of a frontend and this part."""
    return (graph(front or frontend(), made),)


def env(release: str = "1.6.1", **variables: str) -> Case:
    """A graph whose SGLang worker has these variables."""
    return one(worker(release, env=variables))


def by_source(key: str, **fields: Any) -> Case:
    """A worker that takes all its variables from a ConfigMap that holds one key."""
    source = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {key: "1"}}
    return source, *one(worker(main={"envFrom": [{"configMapRef": {"name": "settings"}}]}, **fields))


def disaggregated(prefill: str, decode: str) -> Case:
    """A graph with a prefill and a decode worker."""
    return (graph(frontend(), worker(prefill, kind="prefill"), worker(decode, kind="decode")),)


def named(*names: str, release: str = "1.5.1") -> Case:
    """One graph of each name in one Kubernetes namespace."""
    return tuple(graph(frontend(release), worker(release), name=name) for name in names)


def gpus(number: str, *args: str, engine: str = "vllm", **fields: Any) -> Case:
    """A worker with that many GPUs."""
    limits = {"resources": {"limits": {"nvidia.com/gpu": number}}}
    return one(worker("1.6.1", *args, engine=engine, main=limits, **fields))


def planned(planner: str, name: str) -> Case:
    """A graph with a planner and a worker of that name."""
    return (graph(frontend(), part("Planner", "planner", planner), worker(engine="vllm", name=name)),)


def hook(seconds: int, grace: int | None = None) -> Case:
    """A worker that waits before it stops."""
    pod = {} if grace is None else {"terminationGracePeriodSeconds": grace}
    return one(
        worker(main={"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", f"sleep {seconds}"]}}}}, pod=pod)
    )


def init(name: str, **fields: str) -> Case:
    """A worker with an init container."""
    return one(worker(pod={"initContainers": [{"name": name, "image": "registry.example/init:1", **fields}]}))


def runs(*command: str) -> Case:
    """A vLLM worker with this command and no arguments."""
    return one(worker(main={"command": list(command), "args": []}, engine="vllm"))


def spread(release: str, annotations: dict[str, str], multinode: dict[str, int] | None = NODES) -> Case:
    """A graph with these annotations and a vLLM worker on two nodes."""
    fields = {} if multinode is None else {"multinode": multinode}
    return (graph(frontend(release), worker(release, engine="vllm", **fields), annotations=annotations),)


def probe(**body: Any) -> Case:
    """A worker with a liveness probe of its own."""
    return one(worker(main={"livenessProbe": body}))


def alpha(**fields: Any) -> Case:
    """A v1alpha1 graph whose worker has these fields."""
    main = {"image": "r/sglang:1.6.1", "command": ["python3", "-m", "dynamo.sglang"]}
    service = {"componentType": "worker", "extraPodSpec": {"mainContainer": main}, **fields}
    made = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "old"},
        "spec": {"services": {"Worker": service}},
    }
    return (made,)


GET = {"path": "/live", "port": "system"}
POD_NAME = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
MM = ("--enable-multimodal",)
TEXT = ("--use-sglang-tokenizer",)

# rule, severity, component that is named, a manifest with the finding, manifests without it
CASES: list[tuple[str, str, str, Case, list[Case]]] = [
    ("DYN102", "error", "Worker", env(DYN_HEALTH_CHECK_ENABLED="1"), [env(DYN_HEALTH_CHECK_ENABLED=" true "), env()]),
    (
        "DYN103",
        "error",
        "Worker",
        one(worker("1.4.2", engine="mocker", env={"DYN_HEALTH_CHECK_ENABLED": "true"})),
        [
            one(worker("1.5.0", engine="mocker", env={"DYN_HEALTH_CHECK_ENABLED": "true"})),
            one(worker("1.4.2", engine="mocker")),
        ],
    ),
    ("DYN104", "error", "Worker", env(DYN_CANARY_WAIT_TIME="0.5"), [env(DYN_CANARY_WAIT_TIME="5")]),
    (
        "DYN105",
        "error",
        "Worker",
        env(DYN_SYSTEM_PORT="32768"),
        [env(DYN_SYSTEM_PORT="32767"), env(DYN_SYSTEM_PORT="-1")],
    ),
    (
        "DYN107",
        "error",
        "Worker",
        env(DYN_SYSTEM_PORT="9091"),
        [
            env(DYN_SYSTEM_PORT="9090"),
            env(DYN_SYSTEM_PORT="$(PORT)"),
            one(worker(env={"DYN_SYSTEM_PORT": "9091"}, main={"ports": [{"name": "system", "containerPort": 9091}]})),
        ],
    ),
    (
        "DYN107",
        "warning",
        "Worker",
        one(worker(env={"DYN_SYSTEM_PORT": "9091"}, main={"command": ["/opt/start.sh"]})),
        [one(worker(env={"DYN_SYSTEM_PORT": "9090"}, main={"command": ["/opt/start.sh"]}))],
    ),
    (
        "DYN108",
        "warning",
        "Worker",
        one(worker("1.6.1", *TEXT)),
        [
            one(worker("1.4.2", *TEXT)),
            one(worker("1.6.1", *TEXT, "--embedding-worker")),
            one(worker("1.6.1", *TEXT, env={"DYN_HEALTH_CHECK_PAYLOAD": '{"prompt":"Test","max_tokens":1}'})),
            one(worker("1.6.1", *TEXT, main={"envFrom": [{"secretRef": {"name": "any"}}]})),
            one(worker("1.6.1", "--no-use-sglang-tokenizer")),
        ],
    ),
    (
        "DYN108",
        "warning",
        "Worker",
        one(worker("1.2.1", *TEXT, env={"DYN_HEALTH_CHECK_ENABLED": "true"}), frontend("1.2.1")),
        [one(worker("1.1.1", *TEXT, env={"DYN_HEALTH_CHECK_ENABLED": "true"}), frontend("1.1.1"))],
    ),
    (
        "DYN106",
        "warning",
        "Worker",
        env(DYN_HEALTH_CHECK_PAYLOAD="{}"),
        [env(DYN_HEALTH_CHECK_PAYLOAD='{"model":"m"}'), env(DYN_HEALTH_CHECK_PAYLOAD="@/etc/payload.json")],
    ),
    ("DYN201", "error", "Worker", one(worker("1.3.1")), [one(worker("1.4.0")), one(worker("latest"))]),
    ("DYN202", "error", "Worker", one(worker("1.3.1"), frontend("1.4.0")), [one(worker("1.4.0"))]),
    ("DYN202", "warning", "Worker", one(worker("1.7.0")), [one(worker("1.6.0"))]),
    (
        "DYN203",
        "error",
        "Decode",
        disaggregated("1.6.0", "1.6.1"),
        [disaggregated("1.6.1", "1.6.1"), disaggregated("x", "1.6.1")],
    ),
    (
        "DYN204",
        "error",
        "Frontend",
        one(worker("1.3.0", "--embedding-worker"), frontend("1.2.1")),
        [one(worker("1.3.0", "--embedding-worker"), frontend("1.3.0")), one(worker("1.3.0"), frontend("1.2.1"))],
    ),
    (
        "DYN205",
        "warning",
        "Worker",
        one(worker("1.3.1"), frontend("1.4.0", "--router-mode", "kv")),
        [one(worker("1.4.0"), frontend("1.4.2", "--router-mode", "kv")), one(worker("1.3.1"), frontend("1.4.0"))],
    ),
    (
        "DYN206",
        "warning",
        "Worker",
        one(worker("1.3.1"), frontend("1.2.1")),
        [
            one(worker("1.3.1"), frontend("1.4.0")),
            one(worker("1.3.1"), frontend("1.2.1", env={"DYN_EVENT_PLANE": "zmq"})),
        ],
    ),
    (
        "DYN207",
        "error",
        "Worker",
        one(worker(env={"DYN_REQUEST_PLANE": "nats"})),
        [
            (graph(frontend(), worker(), env=[{"name": "DYN_REQUEST_PLANE", "value": "nats"}]),),
            one(worker(env={"DYN_REQUEST_PLANE": "tcp"})),
        ],
    ),
    (
        "DYN208",
        "error",
        "Worker",
        one(worker(env={"DYN_DISCOVERY_BACKEND": "etcd"})),
        [one(worker()), (graph(frontend(), worker(), annotations={"nvidia.com/dynamo-discovery-backend": "etcd"}),)],
    ),
    (
        "DYN209",
        "error",
        "Worker",
        env(DYN_REQUEST_PLANE="http"),
        [env("1.2.1", DYN_REQUEST_PLANE="http"), env(DYN_REQUEST_PLANE="nats"), env(DYN_REQUEST_PLANE="$(PLANE)")],
    ),
    (
        "DYN210",
        "error",
        "Worker",
        env("1.3.0", DYN_EVENT_PLANE="kafka"),
        [env("1.2.1", DYN_EVENT_PLANE="kafka"), env(DYN_EVENT_PLANE="")],
    ),
    (
        "DYN211",
        "warning",
        "Frontend",
        named("chat", "chat-eu"),
        [named("chat", "chat-eu", release="1.6.0"), named("chat", "eu-chat")],
    ),
    (
        "DYN212",
        "warning",
        "Worker",
        one(worker("latest")),
        [one(worker("1.6.0-rc1")), one(worker("x", runtimeVersionOverride="1.6.1"))],
    ),
    (
        "DYN301",
        "error",
        "Worker",
        one(worker("1.5.0", "--num-g2-blocks", "8", engine="mocker")),
        [
            one(worker("1.4.2", "--num-g2-blocks", "8", engine="mocker")),
            one(worker("1.5.0", "--invented", engine="mocker")),
        ],
    ),
    (
        "DYN301",
        "warning",
        "Worker",
        one(worker("1.4.2", "--rerank-worker")),
        [one(worker("1.6.0", "--rerank-worker")), one(worker("1.4.2", "--mem-fraction-static", "0.8", "--invented"))],
    ),
    (
        "DYN302",
        "error",
        "Worker",
        one(worker("1.5.1", "--dyn-tool-call-parser", "qwen3")),
        [
            one(worker("1.6.0", "--dyn-tool-call-parser", "qwen3")),
            one(worker("1.5.1", "--dyn-tool-call-parser", "$(PARSER)")),
        ],
    ),
    (
        "DYN303",
        "error",
        "Worker",
        one(worker("1.4.0", "--is-prefill-worker", engine="vllm")),
        [
            one(worker("1.3.1", "--is-prefill-worker", engine="vllm")),
            one(worker("1.6.1", "--is-prefill-worker", engine="mocker")),
        ],
    ),
    (
        "DYN303",
        "error",
        "Worker",
        one(worker(engine="vllm", env={"DYN_VLLM_IS_DECODE_WORKER": "true"})),
        [one(worker(engine="vllm", env={"DYN_VLLM_IS_DECODE_WORKER": "false"}))],
    ),
    (
        "DYN304",
        "error",
        "Worker",
        one(worker("1.6.1", "--connector", "none", engine="vllm")),
        [one(worker("1.6.1", "--connector", "none", engine="trtllm"))],
    ),
    (
        "DYN305",
        "error",
        "Worker",
        one(worker("1.4.0", "--multimodal-worker", engine="vllm")),
        [one(worker("1.3.1", "--multimodal-worker", engine="vllm")), one(worker("1.4.0", *MM, engine="vllm"))],
    ),
    (
        "DYN306",
        "error",
        "Worker",
        one(worker("1.4.0", "--multimodal-encode-worker")),
        [one(worker("1.3.1", "--multimodal-encode-worker")), one(worker("1.4.0", *MM))],
    ),
    (
        "DYN307",
        "error",
        "Worker",
        one(worker("1.4.0", "--disaggregation-mode=prefill_and_decode", engine="trtllm")),
        [
            one(worker("1.3.1", "--disaggregation-mode=prefill_and_decode", engine="trtllm")),
            one(worker("1.4.0", "--disaggregation-mode", "agg", engine="trtllm")),
        ],
    ),
    (
        "DYN308",
        "error",
        "Worker",
        one(worker("1.6.1", "--migration-limit", "3")),
        [one(worker(), frontend("1.6.1", "--migration-limit", "3"))],
    ),
    (
        "DYN309",
        "error",
        "Frontend",
        one(worker(), frontend("1.4.0", "--router-reset-states")),
        [one(worker("1.3.1"), frontend("1.3.1", "--router-reset-states"))],
    ),
    (
        "DYN310",
        "error",
        "Frontend",
        one(worker("1.1.0"), frontend("1.1.0", "--decode-fallback")),
        [one(worker("1.0.2"), frontend("1.0.2", "--decode-fallback"))],
    ),
    (
        "DYN311",
        "warning",
        "Frontend",
        one(worker(), frontend(env={"DYN_ENFORCE_DISAGG": "true"})),
        [
            one(worker(), frontend(env={"DYN_ENFORCE_DISAGG": "false"})),
            one(worker("1.2.1"), frontend("1.2.1", "--enforce-disagg")),
        ],
    ),
    (
        "DYN312",
        "error",
        "Worker",
        one(part("Worker", "worker", "1.4.0", module="dynamo.vllm.unified_main")),
        [one(part("Worker", "worker", "1.3.1", module="dynamo.vllm.unified_main"))],
    ),
    (
        "DYN313",
        "error",
        "Worker",
        one(worker("1.2.1", "--load-format", "mx-source", engine="vllm"), frontend("1.2.1")),
        [
            one(worker("1.2.0", "--load-format", "mx-source", engine="vllm")),
            one(worker("1.2.1", "--load-format", "auto", engine="vllm")),
        ],
    ),
    (
        "DYN314",
        "error",
        "Frontend",
        one(worker(), frontend("1.6.1", "--store-kv", "etcd")),
        [one(worker(), frontend("1.6.1", "--discovery-backend", "kubernetes"))],
    ),
    (
        "DYN315",
        "warning",
        "Frontend",
        one(worker(), frontend(env={"DYN_KV_OVERLAP_SCORE_WEIGHT": "1.0"})),
        [one(worker(env={"DYN_KV_OVERLAP_SCORE_WEIGHT": "1.0"}))],
    ),
    (
        "DYN316",
        "warning",
        "Frontend",
        one(worker(), frontend("1.4.0", env={"DYN_AGENT_TRACE_SINKS": "jsonl"})),
        [one(worker("1.2.1"), frontend("1.2.1", env={"DYN_AGENT_TRACE_SINKS": "jsonl"}))],
    ),
    (
        "DYN317",
        "warning",
        "Frontend",
        one(worker(), frontend("1.6.0", env={"DYN_AIC_BACKEND": "vllm"})),
        [one(worker(), frontend("1.5.1", env={"DYN_AIC_BACKEND": "vllm"}))],
    ),
    (
        "DYN318",
        "warning",
        "Worker",
        one(worker("1.1.0", "--model", "m", engine="vllm"), frontend("1.1.0", "--router-mode", "kv")),
        [
            one(worker("1.6.1", "--kv-events-config", "{}", engine="vllm"), frontend("1.6.1", "--router-mode", "kv")),
            one(worker("1.6.1", "--model", "m", engine="vllm")),
            one(worker("1.0.2", "--model", "m", engine="vllm"), frontend("1.0.2", "--router-mode", "kv")),
        ],
    ),
    (
        "DYN319",
        "warning",
        "Worker",
        env("1.5.0", DYN_SNAPSHOT_RESTORE_STANDBY="true"),
        [env("1.4.2", DYN_SNAPSHOT_RESTORE_STANDBY="true")],
    ),
    (
        "DYN213",
        "warning",
        "VllmDecodeWorker",
        planned("1.6.0", "VllmDecodeWorker"),
        [planned("1.5.1", "VllmDecodeWorker"), planned("1.6.0", "Mine")],
    ),
    (
        "DYN320",
        "warning",
        "Frontend",
        one(worker(), frontend("1.6.1", "--router-queue-threshold", "4")),
        [
            one(worker("1.5.1"), frontend("1.5.1", "--router-queue-threshold", "4")),
            one(worker(), frontend("1.6.1", "--kv-events")),
        ],
    ),
    (
        "DYN402",
        "warning",
        "Worker",
        by_source("DYN_SYSTEM_PORT"),
        [by_source("HF_TOKEN"), by_source("DYN_SYSTEM_PORT", env={"DYN_SYSTEM_PORT": "9090"})],
    ),
    (
        "DYN403",
        "warning",
        "Worker",
        env(URL="http://$(NOBODY)/"),
        [
            env(URL="http://$(POD_NAME)/"),
            env(URL="$$(NOBODY)"),
            env(URL="http://$(hostname)/"),
            env(URL="$(REDIS_SERVICE_HOST)"),
            one(worker(env={"URL": "$(TOKEN)"}, main={"envFrom": [{"secretRef": {"name": "tokens"}}]})),
        ],
    ),
    (
        "DYN405",
        "error",
        "Worker",
        one(worker(main={"ports": [{"name": "metrics", "containerPort": 9090}]})),
        [
            one(worker()),
            one(worker(main={"ports": [{"name": "system", "containerPort": 9090}]})),
            probe(httpGet={"path": "/live", "port": 9090}),
        ],
    ),
    ("DYN406", "warning", "Worker", env(DYN_NAMESPACE="mine"), [env(MY_NAMESPACE="mine"), one(worker(env=[POD_NAME]))]),
    (
        "DYN407",
        "warning",
        "Worker",
        gpus("1", "--tensor-parallel-size", "2"),
        [
            gpus("2", "-tp", "2"),
            gpus("1", "--tensor-parallel-size", "$(TP)"),
            one(worker("1.6.1", "--tp", "8")),
        ],
    ),
    (
        "DYN408",
        "warning",
        "Worker",
        gpus("2", "--tp-size", "2", engine="sglang", sharedMemorySize="0"),
        [gpus("1", engine="sglang", sharedMemorySize="0"), gpus("2", "--tp", "2", engine="sglang")],
    ),
    ("DYN409", "warning", "Worker", hook(60), [hook(59), hook(60, grace=120)]),
    (
        "DYN420",
        "error",
        "",
        one(worker(roles=[{"name": "leader"}, {"name": "worker"}])),
        [one(worker(multinode={}, roles=[{"name": "leader"}, {"name": "worker"}])), one(worker("latest"))],
    ),
    ("DYN410", "error", "Worker", one(worker(replica=2)), [one(worker())]),
    ("DYN410", "warning", "Worker", one(worker(device="gpu")), [one(worker(main={"newInKubernetes": True}))]),
    ("DYN410", "error", "Worker", one(worker(main={"resource": {}})), [one(worker(main={"x": 1}))]),
    ("DYN411", "warning", "Worker", alpha(autoscaling={"enabled": True}), [alpha(), alpha(autoscaling={})]),
    ("DYN411", "warning", "Worker", alpha(dynamoNamespace="mine"), [alpha(globalDynamoNamespace=True)]),
    (
        "DYN412",
        "warning",
        "",
        (graph(frontend(), worker(), annotations={"nvidia.com/dynamo-discover-backend": "etcd"}),),
        [
            (graph(frontend(), worker(), annotations={"nvidia.com/dynamo-discovery-backend": "etcd"}),),
            (graph(frontend(), worker(), annotations={"nvidia.com/team": "search"}),),
        ],
    ),
    (
        "DYN321",
        "warning",
        "Worker",
        one(worker("1.3.0", "--distributed-executor-backend", "ray", engine="vllm"), frontend("1.3.0")),
        [
            one(worker("1.2.1", "--distributed-executor-backend", "ray", engine="vllm"), frontend("1.2.1")),
            one(worker("1.6.1", "--distributed-executor-backend", "mp", engine="vllm")),
            spread("1.6.1", RAY, multinode=None),
        ],
    ),
    ("DYN321", "warning", "Worker", spread("1.6.1", RAY), [spread("1.6.1", {RAY_KEY: "mp"}), spread("1.2.1", RAY)]),
    (
        "DYN322",
        "warning",
        "Worker",
        one(worker("1.3.0-cuda12"), frontend("1.3.0")),
        [one(worker("1.2.1-cuda12"), frontend("1.2.1")), one(worker("1.3.0-cuda13"), frontend("1.3.0"))],
    ),
    (
        "DYN414",
        "warning",
        "Worker",
        runs("python3", "-m", "$(MODULE)"),
        [
            runs("python3", "-m", "dynamo.vllm", "$(FLAG)"),
            runs("sh", "-c", 'python3 -m dynamo.vllm --model "$MODEL"'),
        ],
    ),
    (
        "DYN414",
        "warning",
        "Worker",
        runs("sh", "-c", 'run() { python3 -m dynamo.vllm "$@"; }; run --model m'),
        [runs("sh", "-c", "run() { python3 -m dynamo.vllm --model m; }; run")],
    ),
    ("DYN414", "info", "Worker", runs("sh", "-c", "python3 -m dynamo.vllm $MORE"), []),
    ("DYN404", "warning", "Worker", init("runtime"), [init("warm-up"), init("runtime", restartPolicy="Always")]),
]


@pytest.mark.parametrize(
    ("rule", "severity", "component", "case", "without"),
    CASES,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_rule_speaks_where_it_should_and_nowhere_else(
    rule: str, severity: str, component: str, case: Case, without: list[Case]
) -> None:
    """Each rule finds its defect at its severity, and says nothing beyond its boundary or about a look-alike."""
    assert (rule, severity, component) in found(*case)
    for other in without:
        assert rule not in {name for name, _, _ in found(*other)}, other


def test_every_rule_is_tried_here_or_in_a_test_of_its_own() -> None:
    """A rule nobody tries would not be noticed when it breaks."""
    elsewhere = {"DYN101", "DYN401", "DYN501", "DYN502", "DYN503", "DYN504", "DYN505"}
    elsewhere |= {"DYN413", *(f"DYN60{number}" for number in range(1, 9))}
    assert {rule for rule, *_ in CASES} | elsewhere == {rule.id for rule in rules()}


def test_a_variable_that_stands_twice_is_found_at_its_second_place() -> None:
    """Within one list a name may stand once; the same name in two layers is no duplicate."""
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    layered = graph(frontend(), worker(env={"A": "1"}), env=[{"name": "A", "value": "2"}])
    assert found(layered) == QUIET
    assert found(graph(frontend(), worker(env=twice))) == {("DYN401", "warning", "Worker")}


def test_a_graph_with_nothing_wrong_is_left_in_peace() -> None:
    """Common manifests of current releases have no finding at all, also with a token secret in envFrom."""
    token = {"envFrom": [{"secretRef": {"name": "hf-token-secret"}}]}
    limits = {"resources": {"limits": {"nvidia.com/gpu": "2"}}}
    made = graph(
        frontend("1.6.1", "--router-mode", "kv"),
        worker(
            "1.6.1",
            "--model-path",
            "m",
            "--tp",
            "2",
            "--page-size",
            "16",
            "--trust-remote-code",
            main={**token, **limits},
        ),
    )
    assert found(made) == QUIET


def test_halves_of_an_engine_are_told_by_their_command_line_too() -> None:
    """Manifests that call both halves `worker` are judged like those that name their types."""
    parts = [
        worker(release, "--disaggregation-mode", half, engine="trtllm", name=half)
        for half, release in (("prefill", "1.6.0"), ("decode", "1.6.1"))
    ]
    assert ("DYN203", "error", "decode") in found(graph(frontend(), *parts))


def test_kv_events_are_not_missed_where_nobody_listens() -> None:
    """A decode worker, and a router that does without events, need no configuration of events."""
    decode = worker("1.6.1", "--disaggregation-mode", "decode", engine="vllm")
    assert found(graph(frontend("1.6.1", "--router-mode", "kv"), decode)) == QUIET
    plain = worker("1.6.1", "--model", "m", engine="vllm")
    assert found(graph(frontend("1.6.1", "--router-mode", "kv", "--no-router-kv-events"), plain)) == QUIET
    told = frontend(env={"DYN_ROUTER_MODE": "kv", "DYN_ROUTER_USE_KV_EVENTS": "false"})
    assert found(graph(told, plain)) == QUIET


def test_the_operator_decides_its_own_window() -> None:
    """The same graph is inside the window of one operator and outside that of a newer one."""
    made = graph(frontend("1.4.2"), worker("1.4.2"))
    assert "DYN202" not in {rule for rule, _, _ in found(made)}
    newer = RenderOptions(operator=Version(1, 7, 0))
    assert {("DYN202", "error", "Worker"), ("DYN202", "error", "Frontend")} <= found(made, render=newer)


def test_a_finding_stands_on_the_line_of_its_argument() -> None:
    """An option is found on its own line, not on that of the list it stands in."""
    made = graph(frontend(), worker("1.4.0", "--model", "m", "--is-prefill-worker", engine="vllm"))
    (finding,) = [item for item in report(made).findings if item.rule == "DYN303"]
    text = yaml.safe_dump_all([made], sort_keys=False).splitlines()
    assert finding.location is not None
    assert text[finding.location.line - 1].strip() == "- --is-prefill-worker"


def test_settings_are_checked_as_if_they_were_written() -> None:
    """`--set` moves a component for the check only."""
    made = graph(frontend("1.6.1"), worker("1.6.1", "--embedding-worker"))
    assert found(made) == QUIET
    assert ("DYN101", "info", "Worker") in found(made, settings={"worker": Version(1, 5, 1)})


def test_a_move_is_judged_on_the_way_and_at_its_end() -> None:
    """Old and new parts meet during a rollout, and options have to exist in the release to come."""
    made = graph(frontend("1.3.1"), worker("1.3.1", "--is-prefill-worker", engine="vllm"))
    there = found(made, after=Version(1, 6, 1))
    assert {("DYN501", "error", "Worker"), ("DYN303", "error", "Worker")} <= there
    near = found(made, after=Version(1, 4, 2), render=RenderOptions(operator=Version(1, 4, 2)))
    assert "DYN501" not in {rule for rule, _, _ in near}


@pytest.mark.parametrize(
    ("rule", "made", "before", "after", "beside"),
    [
        ("DYN502", graph(frontend("1.3.1", "--router-mode", "kv"), worker("1.3.1")), "1.3.1", "1.4.0", "1.4.2"),
        ("DYN503", graph(frontend("1.4.2"), worker("1.4.2", "--embedding-worker")), "1.4.2", "1.5.0", "1.5.1"),
        ("DYN504", graph(frontend("1.4.2"), worker("1.4.2")), "1.4.2", "1.5.0", "1.5.1"),
        ("DYN505", graph(frontend("1.2.1"), worker("1.2.1", engine="trtllm")), "1.2.1", "1.3.0", "1.3.1"),
    ],
)
def test_a_changed_default_is_said_where_it_is_crossed(
    rule: str, made: dict[str, Any], before: str, after: str, beside: str
) -> None:
    """A move over the boundary is told, a move on one side of it is not."""
    over = found(made, before=Version.parse(before), after=Version.parse(after))
    assert rule in {name for name, _, _ in over}
    same = found(made, before=Version.parse(after), after=Version.parse(beside))
    assert rule not in {name for name, _, _ in same}


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        ("DYN503", worker("1.5.1", "--embedding-worker")),
        ("DYN504", worker("1.5.1")),
        ("DYN505", worker("1.5.1", engine="trtllm")),
    ],
)
def test_the_way_back_over_a_boundary_is_told_in_its_own_words(rule: str, part: dict[str, Any]) -> None:
    """Going down, nothing begins and nothing becomes a default: the message says what ends."""
    back = report(graph(frontend("1.5.1"), part), after=Version(1, 2, 1)).findings
    (finding,) = [each for each in back if each.rule == rule]
    assert "again" in finding.message or "no longer" in finding.message


def test_what_the_user_settled_is_no_changed_default() -> None:
    """A default does not matter to whoever set the value."""
    made = graph(frontend("1.3.1", "--router-mode", "kv", "--router-queue-threshold", "16"), worker("1.3.1"))
    assert "DYN502" not in {rule for rule, _, _ in found(made, after=Version(1, 4, 0))}


def test_shared_memory_switched_off_in_the_older_version_is_found_too() -> None:
    """A v1alpha1 file says the same thing in other words, and gets the same verdict at its own line."""
    main = {"image": "r/sglang:1.6.1", "command": ["python3", "-m", "dynamo.sglang"], "args": ["--tp", "2"]}
    service = {"componentType": "worker", "sharedMemory": {"disabled": True}, "extraPodSpec": {"mainContainer": main}}
    made = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "old"},
        "spec": {"services": {"Worker": {**service, "resources": {"limits": {"gpu": "2"}}}}},
    }
    (finding,) = report(made).findings
    assert (finding.rule, finding.component) == ("DYN408", "Worker")
    assert finding.location is not None
    assert yaml.safe_dump(made, sort_keys=False).splitlines()[finding.location.line - 1].strip() == "disabled: true"


def test_a_command_line_nobody_can_see_leaves_the_verdict_open() -> None:
    """What hides the whole command line is undecided until somebody says why it may; a hidden argument is not."""
    assert report(*runs("/opt/start.sh")).exit_code("error") == ExitCode.UNDECIDED
    assert report(*runs("sh", "-c", "python3 -m dynamo.vllm $MORE")).exit_code("error") == ExitCode.OK
    (ignore,) = of_options(["DYN414=start.sh is checked where it is built"])
    assert report(*runs("/opt/start.sh"), ignores=(ignore,)).exit_code("error") == ExitCode.OK
