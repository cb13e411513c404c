"""The worked examples of the upstream operator's behaviour, with the values it gives unless a test says otherwise."""

from __future__ import annotations

import pytest
from multinode import GROVE, PROBES, argv_in, grove, lws, main_in
from rendered import env_of, main_of, named_env, object_of, render, worker

from stator.errors import InvalidInputError

LWS_LEADER = "$(LWS_LEADER_ADDRESS):29500"
GROVE_LEADER = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-dec-ldr-0.$(GROVE_HEADLESS_SERVICE):29500"
GROVE_RANK = "$((GROVE_PCLQ_POD_INDEX + 1))"
PAYLOAD = "DYN_HEALTH_CHECK_PAYLOAD"
EMBEDDING = '{"model":"health-check","input":"Test"}'


def test_01_one_node_is_left_as_it_is() -> None:
    """1. Without other nodes an SGLang command gets nothing."""
    assert argv_in(lws("-m", "dynamo.sglang", nodes=1), "main") == (["python3"], ["-m", "dynamo.sglang"])


def test_02_a_leaderworkerset_worker_gets_its_rank_by_expansion() -> None:
    """2. The flags are separate arguments, the command stays, the probes go."""
    manifest = lws("-m", "dynamo.sglang")
    flags = ["--dist-init-addr", LWS_LEADER, "--nnodes", "2", "--node-rank", "$(LWS_WORKER_INDEX)"]
    assert argv_in(manifest, "worker") == (["python3"], ["-m", "dynamo.sglang", *flags])
    assert not set(PROBES) & set(main_in(manifest, "worker"))


def test_03_a_leader_has_rank_0_and_its_probes() -> None:
    """3. As the worker, but it serves, so it is probed."""
    manifest = lws("-m", "dynamo.sglang")
    flags = ["--dist-init-addr", LWS_LEADER, "--nnodes", "2", "--node-rank", "0"]
    assert argv_in(manifest, "leader") == (["python3"], ["-m", "dynamo.sglang", *flags])
    assert set(PROBES) <= set(main_in(manifest, "leader"))


def test_04_a_grove_worker_in_a_script_computes_its_rank_there() -> None:
    """4. The flags go behind the module in the one script, and the command stays."""
    manifest = grove("python -m dynamo.sglang", command=("sh", "-c"), nodes=3)
    script = f"python -m dynamo.sglang --dist-init-addr {GROVE_LEADER} --nnodes 3 --node-rank {GROVE_RANK}"
    assert argv_in(manifest, "worker") == (["sh", "-c"], [script])


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_05_a_rank_that_has_to_be_computed_gets_a_shell(cut: int) -> None:
    """5. However the words are split over command and args, the shell runs the same line."""
    words = ("python3", "-m", "dynamo.sglang", "--model", "m")
    manifest = grove(*words[cut:], command=words[:cut])
    command, [script] = argv_in(manifest, "worker")
    assert command == ["sh", "-c"]
    flags = f"--dist-init-addr {GROVE_LEADER} --nnodes 2 --node-rank {GROVE_RANK}"
    assert script == f"exec python3 -m dynamo.sglang --model m {flags}"


@pytest.mark.parametrize("rest", [" && ls", " | tee f", " # python -m dynamo.sglang", "\nls"])
def test_06_flags_land_between_the_module_and_what_follows(rest: str) -> None:
    """6. Neither the next command nor a pipe gets them."""
    manifest = lws(f"echo a | wc -l && python -m dynamo.sglang{rest}", command=("sh", "-c"))
    _, [script] = argv_in(manifest, "leader")
    flags = f"--dist-init-addr {LWS_LEADER} --nnodes 2 --node-rank 0"
    assert script == f"echo a | wc -l && python -m dynamo.sglang {flags}{rest}"


def test_07_only_the_first_script_changes_and_other_programs_never() -> None:
    """7. A second text is a parameter of the first; what is not Python's gets nothing, which is said."""
    twice = lws("python -m dynamo.sglang", "python -m dynamo.sglang --x", command=("sh", "-c"))
    _, [first, second] = argv_in(twice, "leader")
    assert first.startswith("python -m dynamo.sglang --dist-init-addr")
    assert second == "python -m dynamo.sglang --x"
    java = lws("-jar", "app.jar", command=("java",), framework="sglang")
    assert argv_in(java, "leader") == (["java"], ["-jar", "app.jar"])
    assert [note.field for note in java.not_rendered] == ["spec.components[0].podTemplate.spec.containers[0].args"]


def test_08_only_a_worker_of_several_nodes_loses_its_probes() -> None:
    """8. The leader keeps them, and so does a single node."""
    several, one = lws("-m", "dynamo.sglang"), lws("-m", "dynamo.sglang", nodes=1)
    assert [[bool(main_in(several, role).get(probe)) for probe in PROBES] for role in ("leader", "worker")] == [
        [True] * 3,
        [False] * 3,
    ]
    assert all(main_in(one, "main").get(probe) for probe in PROBES)


@pytest.mark.parametrize(
    ("image", "args", "mode", "payload"),
    [
        ("1.5.0", "[--embedding-worker]", "", EMBEDDING),
        ("1.5.0", "[]", "true", EMBEDDING),
        ("1.5.0", "[--embedding-worker, --no-embedding-worker]", "true", None),
        ("1.5.0", "[]", "", None),
        ("1.6.0", "[--embedding-worker]", "", None),
        # Upstream's shim knows 1.5.0 only. 1.5.1 has the same fault, so DYN101 repairs it too.
        ("1.5.1", "[--embedding-worker]", "", EMBEDDING),
    ],
)
def test_09_to_11_an_embedding_worker_gets_a_payload(image: str, args: str, mode: str, payload: str | None) -> None:
    """9, 10, 11. The mode is read as the runtime reads it; the affected releases are DYN101's."""
    env = f"\nenv: [{{name: DYN_SGL_EMBEDDING_WORKER, value: '{mode}'}}]" if mode else ""
    manifest = render(worker(f"args: {args}{env}", image=f"reg/sg:{image}"))
    assert env_of(manifest).get(PAYLOAD) == payload


def test_12_a_payload_of_ones_own_is_kept() -> None:
    """12. It is neither replaced nor doubled."""
    own = '{"model":"custom","input":"probe"}'
    main = f"args: [--embedding-worker]\nenv: [{{name: {PAYLOAD}, value: '{own}'}}]"
    entries = main_of(render(worker(main, image="reg/sg:1.5.0")))["env"]
    assert [entry for entry in entries if entry["name"] == PAYLOAD] == [{"name": PAYLOAD, "value": own}]


def test_13_an_unknown_mode_renders() -> None:
    """13, 11.1c. Upstream refuses to render; ours gives a payload that both handlers accept (DYN101, case 7)."""
    source = "{configMapKeyRef: {name: cfg, key: emb}}"
    main = f"env: [{{name: DYN_SGL_EMBEDDING_WORKER, valueFrom: {source}}}]"
    payload = env_of(render(worker(main, image="reg/sg:1.5.0")))[PAYLOAD]
    assert '"token_ids"' in payload
    assert '"input"' in payload
    sourced = f"{main[:-1]}, {{name: {PAYLOAD}, valueFrom: {{secretKeyRef: {{name: s, key: k}}}}}}]"
    assert env_of(render(worker(sourced, image="reg/sg:1.5.0")))[PAYLOAD] == {"secretKeyRef": {"name": "s", "key": "k"}}


def test_14_to_16_a_source_that_could_carry_the_payload_wins_over_it() -> None:
    """14, 15, 16, 11.1b. Upstream reads the sources. Ours reads nothing: a ConfigMap stands before them (DYN101, 6)."""
    main = "args: [--embedding-worker]\nenvFrom: [{configMapRef: {name: cfg}}, {secretRef: {name: s}}]"
    manifest = render(worker(main, image="reg/sg:1.5.0"))
    first, *rest = main_of(manifest)["envFrom"]
    assert rest == [{"configMapRef": {"name": "cfg"}}, {"secretRef": {"name": "s"}}]
    assert object_of(manifest, "ConfigMap", first["configMapRef"]["name"])["data"] == {PAYLOAD: EMBEDDING}
    assert PAYLOAD not in env_of(manifest)


def test_18_canary_and_liveness_follow_the_release() -> None:
    """18. Active checks and three misses come with 1.5.0; a value of the user's own wins over either default."""

    def seen(image: str, main: str = "", component: str = "") -> tuple[str, int]:
        manifest = render(worker(main, image=f"reg/sg:{image}", component=component))
        probe = main_of(manifest)["livenessProbe"]
        return env_of(manifest)["DYN_HEALTH_CHECK_ENABLED"], probe["failureThreshold"]

    def own(value: str) -> str:
        return f"env: [{{name: DYN_HEALTH_CHECK_ENABLED, value: '{value}'}}]"

    assert seen("1.4.0") == ("false", 1)
    assert seen("1.5.0") == ("true", 3)
    assert seen("custom") == ("false", 1)
    assert seen("custom", component="runtimeVersionOverride: 1.5.0") == ("true", 3)
    assert seen("1.5.0", own("false")) == ("false", 3)
    assert seen("1.4.0", own("true")) == ("true", 1)


@pytest.mark.parametrize(
    ("image", "override", "version"),
    [
        ("nvcr.io/x/rt:v1.2.3-cuda13", "", "1.2.3 (tag)"),
        ("reg/sg:sha-123", "", 'unresolved (tag "sha-123" is not X.Y.Z)'),
        ("reg/sg:latest", "", 'unresolved (tag "latest" is not X.Y.Z)'),
        ("reg/sg:1.5.0", "1.4.0", "1.4.0 (override)"),
    ],
)
def test_19_a_version_is_the_override_or_the_tag(image: str, override: str, version: str) -> None:
    """19. Nothing else counts, and what does not resolve says why."""
    component = f'runtimeVersionOverride: "{override}"' if override else ""
    assert str(render(worker(image=image, component=component)).components[0].version) == version


def test_19_an_override_is_a_whole_release() -> None:
    """19. `1.2` is an error."""
    with pytest.raises(InvalidInputError):
        render(worker(component='runtimeVersionOverride: "1.2"'))


def test_21_ray_on_leaderworkerset() -> None:
    """21. An old graph keeps Ray: the leader has the head and the command, the worker joins and is not probed.

    Upstream's example runs `some dynamo command`; ours has to see vLLM to give it a flag, and `exec`s it, so that
    the container's signals reach it. The layers of the environment follow one another and are not sorted by name.
    """
    sizes = ("--tensor-parallel-size", "4", "--pipeline-parallel-size", "1")
    old = {"nvidia.com/dynamo-operator-origin-version": "0.9.0"}
    entries = [{"name": "E1", "value": "1"}, {"name": "E2", "value": "2"}]
    manifest = lws("-m", "dynamo.vllm", *sizes, gpus=1, annotations=old, env=entries)
    workload = object_of(manifest, "LeaderWorkerSet")
    assert workload["metadata"]["name"] == f"g-dec-{manifest.generation}-0"
    assert workload["spec"]["startupPolicy"] == "LeaderCreated"
    assert workload["spec"]["leaderWorkerTemplate"]["size"] == 2
    command, [script] = argv_in(manifest, "leader")
    assert command == ["/bin/sh", "-c"]
    head = "ray start --head --port=6379 && exec python3 -m dynamo.vllm"
    assert script == f"{head} {' '.join(sizes)} --distributed-executor-backend ray"
    assert argv_in(manifest, "worker") == (
        ["/bin/sh", "-c"],
        ["ray start --address=$(LWS_LEADER_ADDRESS):6379 --block"],
    )
    assert not set(PROBES) & set(main_in(manifest, "worker"))
    assert list(named_env(main_in(manifest, "leader")))[-2:] == ["E1", "E2"]


def test_22_environment_layers() -> None:
    """22, 11.1a. Graph below component, both above the defaults; upstream sorts by name, ours keeps layer order."""
    graph = "env: [{name: A, value: g}, {name: B, value: g}, {name: DYN_HEALTH_CHECK_ENABLED, value: 'false'}]"
    main = "env: [{name: B, value: c}, {name: Z, value: c}]\nenvFrom: [{secretRef: {name: s}}]"
    manifest = render(worker(main, graph=graph, image="reg/sg:1.6.0"))
    env = env_of(manifest)
    assert [env[name] for name in ("A", "B", "Z", "DYN_HEALTH_CHECK_ENABLED")] == ["g", "c", "c", "false"]
    assert list(env)[-3:] == ["A", "B", "Z"]
    assert main_of(manifest)["envFrom"] == [{"secretRef": {"name": "s"}}]
    assert main_of(manifest)["livenessProbe"]["failureThreshold"] == 3
    assert PAYLOAD not in env


def test_23_a_default_beats_a_source() -> None:
    """23. The sources stay; Kubernetes gives the explicit default precedence over what they hold."""
    manifest = render(worker("envFrom: [{secretRef: {name: s}}]", image="reg/sg:1.6.0"))
    assert main_of(manifest)["envFrom"] == [{"secretRef": {"name": "s"}}]
    assert env_of(manifest)["DYN_SYSTEM_PORT"] == "9090"


def test_24_a_probe_of_ones_own_is_not_merged() -> None:
    """24, 11.1e. It stands as written beside the other defaults, as does a port list beside none of them."""
    main = "livenessProbe: {exec: {command: [ok]}}\nports: [{name: web, containerPort: 80}]"
    container = main_of(render(worker(main, image="reg/x:1.4.0")))
    assert container["livenessProbe"] == {"exec": {"command": ["ok"]}}
    assert container["readinessProbe"]["httpGet"]["path"] == "/health"
    assert container["ports"] == [{"name": "web", "containerPort": 80}]


TWO = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: ns}
spec:
  components:
  - {name: Frontend, type: frontend, replicas: 2, podTemplate: {spec: {containers: [{name: main, image: "r/f:1.5.1"}]}}}
  - {name: Decode, type: decode, replicas: 3, podTemplate: {spec: {containers: [{name: main, image: "r/w:1.5.1"}]}}}
"""


def test_25_grove_on_single_nodes() -> None:
    """25. Each component is a clique that scales by itself; nobody needs a group."""
    made = object_of(render(TWO, GROVE), "PodCliqueSet")
    cliques = made["spec"]["template"]["cliques"]
    assert made["metadata"]["name"] == "g"
    assert [(item["name"], item["spec"]["replicas"], item["spec"]["minAvailable"]) for item in cliques] == [
        ("frontend", 2, 1),
        ("decode", 3, 1),
    ]
    assert "podCliqueScalingGroups" not in made["spec"]["template"]
    labels = [item["labels"] for item in cliques]
    assert [item["nvidia.com/selector"] for item in labels] == ["g-frontend", "g-decode"]
    assert {item["nvidia.com/dynamo-namespace"] for item in labels} == {"ns-g"}


@pytest.mark.parametrize(
    ("framework", "startup", "after"),
    [("sglang", "AnyOrder", None), ("vllm", "AnyOrder", None), ("trtllm", "Explicit", ["dec-wkr"])],
)
def test_26_grove_on_several_nodes(framework: str, startup: str, after: list[str] | None) -> None:
    """26. Leader and workers are cliques of a scaling group; only TensorRT-LLM's leader waits for its workers."""
    manifest = grove("-m", f"dynamo.{framework}", nodes=4, gpus=8)
    template = object_of(manifest, "PodCliqueSet")["spec"]["template"]
    leader, workers = template["cliques"]
    assert (leader["name"], leader["spec"]["replicas"], leader["spec"]["minAvailable"]) == ("dec-ldr", 1, 1)
    assert (workers["name"], workers["spec"]["replicas"], workers["spec"]["minAvailable"]) == ("dec-wkr", 3, 3)
    assert template["podCliqueScalingGroups"] == [
        {"name": "dec", "cliqueNames": ["dec-ldr", "dec-wkr"], "replicas": 1, "minAvailable": 1}
    ]
    assert template["cliqueStartupType"] == f"CliqueStartupType{startup}"
    assert leader["spec"].get("startsAfter") == after


def test_d_grove_sglang_in_whole() -> None:
    """11.1d. Two cliques, one group, one Service, and the names by which they find each other."""
    manifest = grove("-m", "dynamo.sglang", "--model-path", "m")
    flags = ["--dist-init-addr", GROVE_LEADER, "--nnodes", "2", "--node-rank", "0"]
    assert argv_in(manifest, "leader") == (["python3"], ["-m", "dynamo.sglang", "--model-path", "m", *flags])
    assert set(PROBES) <= set(main_in(manifest, "leader"))
    _, [script] = argv_in(manifest, "worker")
    assert script.startswith("exec python3 -m dynamo.sglang --model-path m --dist-init-addr")
    assert script.endswith(f"--node-rank {GROVE_RANK}")
    assert not set(PROBES) & set(main_in(manifest, "worker"))
    env = named_env(main_in(manifest, "leader"))
    assert (env["DYN_COMPONENT"], env["DYN_NAMESPACE"]) == ("decode", "ns-g")
    assert object_of(manifest, "Service", "g-dec")["spec"]["selector"]["nvidia.com/dynamo-component-type"] == "decode"


def test_f_an_alpha_services_environment() -> None:
    """11.1f. `envs` below `mainContainer.env`, the secret as a source unless the container has sources of its own."""
    text = """
    apiVersion: nvidia.com/v1alpha1
    kind: DynamoGraphDeployment
    metadata: {name: g, namespace: ns}
    spec:
      services:
        W:
          componentType: worker
          envFromSecret: s
          envs: [{name: A, value: "1"}]
          extraPodSpec:
            mainContainer: {image: "r/w:1.5.1", OWN env: [{name: A, value: "2"}, {name: B, value: "3"}]}
    """
    manifest = render(text.replace("OWN ", ""))
    env = env_of(manifest, "W")
    assert (env["A"], env["B"]) == ("2", "3")
    assert main_of(manifest, "W")["envFrom"] == [{"secretRef": {"name": "s"}}]
    own = render(text.replace("OWN ", "envFrom: [{configMapRef: {name: c}}], "))
    assert main_of(own, "W")["envFrom"] == [{"configMapRef": {"name": "c"}}]
