"""Engines across nodes beyond the worked examples: layouts, scripts, and what cannot be placed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from multinode import GROVE, PROBES, argv_in, grove, lws, main_in, multinode
from rendered import named_env, object_of, pod_of, provenance_of, render

from stator.errors import InvalidInputError
from stator.local.kubelet.expansion import expand
from stator.model import read_command_line
from stator.render import Manifest, RenderOptions
from stator.render.backends.injection import Argv, NoPlaceError, with_flags
from stator.versions import Version

MP = ("--distributed-executor-backend", "mp", "--nnodes", "2", "--master-addr", "$(LWS_LEADER_ADDRESS)")
RAY_HEAD = "ray start --head --port=6379"


def missing(manifest: Manifest) -> list[str]:
    """Why something is not rendered."""
    return [note.why for note in manifest.not_rendered]


@pytest.mark.parametrize("size", [("--tensor-parallel-size", "8"), ("--tensor-parallel-size=8",), ("-tp=8",)])
def test_vllm_over_nodes_uses_multiprocessing(size: tuple[str, ...]) -> None:
    """An engine wider than a node is told the leader and its rank, however the size is spelled."""
    manifest = lws("-m", "dynamo.vllm", *size, gpus=4)
    assert argv_in(manifest, "leader")[1][-10:] == [*MP, "--master-port", "29500", "--node-rank", "0"]
    assert argv_in(manifest, "worker")[1][-3:] == ["--node-rank", "$(LWS_WORKER_INDEX)", "--headless"]
    for role in ("leader", "worker"):
        host = named_env(main_in(manifest, role))["VLLM_NIXL_SIDE_CHANNEL_HOST"]
        assert host == {"fieldRef": {"fieldPath": "status.podIP"}}
        assert main_in(manifest, role)["env"][-1]["name"] == "VLLM_NIXL_SIDE_CHANNEL_HOST"


def test_a_vllm_worker_waits_for_its_leader() -> None:
    """Its init container runs a script of the graph, which all workers share."""
    manifest = lws("-m", "dynamo.vllm", "-tp", "8", gpus=4)
    [init] = pod_of(manifest, "Dec", "worker")["initContainers"]
    assert init["name"] == "wait-for-leader-mp"
    assert init["args"] == ["$(LWS_LEADER_ADDRESS)", "29500"]
    assert "initContainers" not in pod_of(manifest, "Dec", "leader")
    script = object_of(manifest, "ConfigMap", "g-wait-leader-script")["data"]["wait-for-leader.py"]
    compile(script, "wait-for-leader.py", "exec")
    volumes = {item["name"]: item for item in pod_of(manifest, "Dec", "worker")["volumes"]}
    assert volumes["wait-leader-script"]["configMap"] == {"name": "g-wait-leader-script"}


@pytest.mark.parametrize(
    ("annotations", "multiprocessing"),
    [
        ({}, True),
        ({"nvidia.com/dynamo-operator-origin-version": "1.0.0"}, True),
        ({"nvidia.com/dynamo-operator-origin-version": "1.0.0-rc1"}, False),
        ({"nvidia.com/dynamo-operator-origin-version": "0.9.1"}, False),
        ({"nvidia.com/dynamo-operator-origin-version": "dev"}, False),
        ({"nvidia.com/vllm-distributed-executor-backend": "RAY"}, False),
        (
            {
                "nvidia.com/dynamo-operator-origin-version": "0.9.1",
                "nvidia.com/vllm-distributed-executor-backend": "mp",
            },
            True,
        ),
    ],
)
def test_the_executor_follows_who_made_the_graph(annotations: dict[str, str], *, multiprocessing: bool) -> None:
    """An annotation decides; else old graphs keep Ray. A graph without a stamp is about to be made."""
    manifest = lws("-m", "dynamo.vllm", "-tp", "8", gpus=4, annotations=annotations)
    assert ("mp" in argv_in(manifest, "leader")[1]) is multiprocessing


def test_several_commands_wait_for_the_ray_head() -> None:
    """A script is kept as it is; if the head fails, none of it runs."""
    script = "set -e\nexport A=1\nexec python3 -m dynamo.vllm -tp 8"
    ray = {"nvidia.com/vllm-distributed-executor-backend": "ray"}
    manifest = lws(script, command=("/bin/bash", "-c"), gpus=4, annotations=ray)
    _, [text] = argv_in(manifest, "leader")
    flagged = script.replace("dynamo.vllm", "dynamo.vllm --distributed-executor-backend ray")
    assert text == f"{RAY_HEAD} || exit 1\n{flagged}"


def test_a_ray_worker_of_a_newer_graph_waits_for_the_head() -> None:
    """From 1.5.0 on, so that a graph that runs does not change."""
    ray = {"nvidia.com/vllm-distributed-executor-backend": "ray"}
    [init] = pod_of(lws("-m", "dynamo.vllm", "-tp", "8", gpus=4, annotations=ray), "Dec", "worker")["initContainers"]
    assert (init["name"], init["args"][1]) == ("wait-for-leader-ray", "6379")


def test_data_parallel_ranks_are_shared_out() -> None:
    """Eight ranks of two GPUs on four nodes of four: two each; where a worker starts is computed by a shell."""
    manifest = lws("-m", "dynamo.vllm", "-tp", "2", "-dp", "8", nodes=4, gpus=4)
    flags = [
        *("--data-parallel-hybrid-lb", "--data-parallel-size-local", "2", "--data-parallel-start-rank"),
        *("0", "--data-parallel-address", "$(LWS_LEADER_ADDRESS)", "--data-parallel-rpc-port", "13445"),
    ]
    assert argv_in(manifest, "leader")[1][-len(flags) :] == flags
    _, [script] = argv_in(manifest, "worker")
    assert "--data-parallel-start-rank $((2 * LWS_WORKER_INDEX))" in script
    _, [on_grove] = argv_in(grove("-m", "dynamo.vllm", "-tp", "2", "-dp", "8", nodes=4, gpus=4), "worker")
    assert "--data-parallel-start-rank $((2 * (GROVE_PCLQ_POD_INDEX + 1)))" in on_grove


def test_a_shell_computes_the_rank_that_the_text_says() -> None:
    """The arithmetic is POSIX and survives the kubelet, which leaves what is no variable alone."""
    _, [script] = argv_in(grove("-m", "dynamo.vllm", "-tp", "2", "-dp", "8", nodes=4, gpus=4), "worker")
    pod = {
        "GROVE_PCLQ_POD_INDEX": "2",
        "GROVE_PCSG_NAME": "set",
        "GROVE_PCSG_INDEX": "0",
        "GROVE_HEADLESS_SERVICE": "svc",
    }
    echoed = expand(script, pod).replace("exec python3", "exec echo")
    words = (
        subprocess.run(["sh", "-c", echoed], env={**pod, "PATH": os.defpath}, capture_output=True, check=True)
        .stdout.decode()
        .split()
    )
    assert words[words.index("--data-parallel-start-rank") + 1] == "6"
    assert words[words.index("--data-parallel-address") + 1] == "set-0-dec-ldr-0.svc"


def test_whole_engines_on_every_node_need_nothing() -> None:
    """Where an engine fits a node and nothing is parallel across them, the command is the user's."""
    assert argv_in(lws("-m", "dynamo.vllm", "-tp", "4", gpus=4), "worker")[1] == ["-m", "dynamo.vllm", "-tp", "4"]


def test_elastic_experts_form_a_ray_cluster() -> None:
    """The worker joins when the leader is live."""
    elastic = ("-m", "dynamo.vllm", "--enable-elastic-ep", "--data-parallel-backend", "ray")
    manifest = lws(*elastic, gpus=4)
    assert argv_in(manifest, "leader")[1] == [f"{RAY_HEAD} && exec python3 {' '.join(elastic)}"]
    _, [script] = argv_in(manifest, "worker")
    assert "http://$(LWS_LEADER_ADDRESS):9090/live" in script
    assert script.endswith("exec ray start --address=$(LWS_LEADER_ADDRESS):6379 --block")
    alone = lws(*elastic, gpus=4, nodes=1)
    assert argv_in(alone, "main")[1] == [f"{RAY_HEAD} && exec python3 {' '.join(elastic)}"]
    assert list(named_env(main_in(alone, "main")))[-2:] == ["POD_IP", "VLLM_DP_MASTER_IP"]
    head = object_of(grove(*elastic, gpus=4, nodes=1), "Service", "g-dec-ray")["spec"]
    assert head["clusterIP"] == "None"
    assert [port["name"] for port in head["ports"]] == ["ray-gcs", "system"]


@pytest.mark.parametrize(
    ("args", "gpus", "why"),
    [
        (("-m", "dynamo.vllm", "-tp", "8"), 0, "no nvidia.com/gpu limit"),
        (("-m", "dynamo.vllm", "-tp", "$(TP)"), 4, '--tensor-parallel-size is "$(TP)"'),
    ],
)
def test_a_layout_nobody_can_read_is_said(args: tuple[str, ...], gpus: int, why: str) -> None:
    """Nothing is guessed: the command stays, and the reason is given once for both roles."""
    manifest = lws(*args, gpus=gpus)
    assert argv_in(manifest, "worker")[1] == list(args)
    [said] = missing(manifest)
    assert why in said


def test_trtllm_is_started_over_ssh() -> None:
    """The leader launches every rank by MPI once the workers' names resolve; a worker is ready when SSH answers."""
    manifest = lws("-m", "dynamo.trtllm", "--model", "it's", gpus=4, env=[{"name": "MINE", "value": "1"}])
    _, [launch] = argv_in(manifest, "leader")
    assert "mpirun" in launch
    assert "--oversubscribe -n 8 " in launch
    assert " -x MINE " in launch
    assert launch.index("getent") < launch.index("mpirun")
    shell = shlex.split(launch.partition(" bash -c ")[2])
    assert shlex.split(shell[0]) == ["trtllm-llmapi-launch", "python3", "-m", "dynamo.trtllm", "--model", "it's"]
    _, [server] = argv_in(manifest, "worker")
    assert "sshd -D -e -p 2222" in server
    worker = main_in(manifest, "worker")
    assert worker["readinessProbe"]["tcpSocket"] == {"port": 2222}
    assert not {"livenessProbe", "startupProbe"} & set(worker)
    assert set(PROBES) <= set(main_in(manifest, "leader"))
    for role in ("leader", "worker"):
        assert {"name": "mpi-run-ssh-secret", "mountPath": "/ssh-pk", "readOnly": True} in main_in(manifest, role)[
            "volumeMounts"
        ]
    assert [note.field for note in manifest.not_rendered] == ["Secret/ns/mpi-run-ssh-secret"]
    _, [on_grove] = argv_in(grove("-m", "dynamo.trtllm", gpus=4), "leader")
    assert "getent" not in on_grove


def test_every_script_of_trtllm_is_read_by_a_shell() -> None:
    """`sh -n` finds no mistake in what is generated."""
    for manifest in (lws("-m", "dynamo.trtllm", gpus=4), grove("-m", "dynamo.trtllm", gpus=4, nodes=3)):
        for role in ("leader", "worker"):
            subprocess.run(["sh", "-n", "-c", argv_in(manifest, role)[1][0]], check=True)


def test_a_worker_of_a_leaderworkerset_is_named_after_its_leader() -> None:
    """`<leader>-<index>` before the first dot, which the shell makes of the leader's address."""
    _, [launch] = argv_in(lws("-m", "dynamo.trtllm", gpus=4), "leader")
    [host] = [word for word in launch.split() if word.startswith('"${LWS_LEADER')]
    address = {"LWS_LEADER_ADDRESS": "g-dec-0.g-dec.ns"}
    echoed = subprocess.run(["sh", "-c", f"echo {host.rstrip(';')}"], env=address, capture_output=True, check=True)
    assert echoed.stdout.decode().strip() == "g-dec-0-1.g-dec.ns"


@pytest.mark.parametrize("framework", ["sglang", "vllm", "trtllm"])
@pytest.mark.parametrize("provider", [RenderOptions(), RenderOptions(provider="grove")])
def test_no_node_count_is_too_much_to_render(framework: str, provider: RenderOptions) -> None:
    """The largest count a graph may hold costs no more than two; where every node has to be named, it is said."""
    manifest = render(multinode("-m", f"dynamo.{framework}", "-tp", "8", gpus=4, nodes=2**31 - 1), provider)
    [pod] = [pod for pod in manifest.components[0].pods if pod.role == "worker"]
    assert pod.count == 2**31 - 2
    too_long = [note for note in missing(manifest) if "2147483647 hosts" in note]
    assert len(too_long) == (framework == "trtllm")


def test_a_launch_that_is_longer_than_an_argument_may_be_is_said() -> None:
    """Linux takes 128 KiB for one argument: hosts beyond that are not written into a command that cannot start."""
    assert argv_in(lws("-m", "dynamo.trtllm", gpus=4, nodes=1000), "leader")[0] == ["/bin/sh", "-c"]
    manifest = lws("-m", "dynamo.trtllm", gpus=4, nodes=1500)
    assert argv_in(manifest, "leader") == (["python3"], ["-m", "dynamo.trtllm"])
    assert any("1500 hosts" in note for note in missing(manifest))


@pytest.mark.parametrize("spelling", ["8", 8, "8000m", "8e0", "+8", "0.008k"])
def test_every_spelling_of_a_gpu_count_counts(spelling: Any) -> None:
    """A quantity may be written in many ways; the layout of an engine follows from the number."""
    text = multinode("-m", "dynamo.vllm", "-tp", "16", gpus=1).replace("'1'", json.dumps(spelling))
    assert "--nnodes" in argv_in(render(text), "leader")[1]


def test_roles_with_templates_of_their_own() -> None:
    """Leader and worker may be different pods; the leader's image is the component's version."""
    text = """
    apiVersion: nvidia.com/v1beta1
    kind: DynamoGraphDeployment
    metadata: {name: g, namespace: ns}
    spec:
      components:
      - name: Dec
        type: decode
        multinode: {nodeCount: 3}
        roles:
        - name: leader
          podTemplate:
            metadata: {labels: {part: head}}
            spec: {containers: [{name: main, image: "r/sg:1.6.0", command: [python3, -m, dynamo.sglang]}]}
        - name: worker
          podTemplate:
            spec: {containers: [{name: main, image: "r/sg:1.5.1", command: [python3, -m, dynamo.sglang], args: [--x]}]}
    """
    manifest = render(text)
    [component] = manifest.components
    assert (component.version.core, component.backend) == (Version(1, 6, 0), "sglang")
    assert [pod.count for pod in component.pods] == [1, 2]
    assert main_in(manifest, "leader")["image"] == "r/sg:1.6.0"
    assert argv_in(manifest, "worker")[1][:2] == ["--x", "--dist-init-addr"]
    labels = [pod.template["metadata"]["labels"].get("part") for pod in component.pods]
    assert labels == ["head", None]


def test_a_leaderworkersets_service_finds_the_leader_only() -> None:
    """Workers serve nothing; the label that tells them apart is on the pods."""
    manifest = lws("-m", "dynamo.sglang")
    assert object_of(manifest, "Service")["spec"]["selector"]["role"] == "leader"
    pods = object_of(manifest, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    for role in ("leader", "worker"):
        labels = pods[f"{role}Template"]["metadata"]["labels"]
        assert labels["role"] == role
        assert "nvidia.com/selector" not in labels


def test_provenance_says_what_a_framework_added_and_in_which_role() -> None:
    """Flags, probes that were taken away and variables name the layer `backend`."""
    manifest = lws("-m", "dynamo.vllm", "-tp", "8", gpus=4)
    added = [item for item in manifest.components[0].provenance if item.setter.layer == "backend"]
    assert {item.container for item in added} == {"leader/main", "worker/main"}
    rank = [item.setter.value for item in added if item.name == "--node-rank"]
    assert rank == ["0", "$(LWS_WORKER_INDEX)"]
    [liveness] = [item for item in added if item.name == "livenessProbe"]
    assert liveness.setter.value == "removed"
    assert [setter.layer for setter in liveness.replaced] == ["type-default"]
    assert provenance_of(manifest, "--headless", "Dec").setter.detail == "vllm multiprocessing, worker"


def test_a_wrapper_script_gets_nothing_and_it_is_said() -> None:
    """What runs inside is not known, so nothing is put where it may break it; still only the leader is probed."""
    manifest = lws("--x", command=("./start.sh",), framework="sglang")
    assert argv_in(manifest, "worker") == (["./start.sh"], ["--x"])
    assert not set(PROBES) & set(main_in(manifest, "worker"))
    assert set(PROBES) <= set(main_in(manifest, "leader"))
    [why] = missing(manifest)
    assert "`./start.sh` is not read here" in why


def test_a_worker_without_a_framework_is_said_too() -> None:
    """Nobody knows how its nodes find each other."""
    [why] = missing(lws("serve", command=("engine",)))
    assert "no framework" in why


WORDS = st.lists(st.text(alphabet="ab 'x\"$;&|\\*~#(){}\n=-", min_size=1, max_size=6), max_size=4)


@settings(max_examples=60)
@given(rest=WORDS)
def test_words_reach_the_module_unchanged_through_a_shell(rest: list[str]) -> None:
    """Whatever the user's arguments are, the shell that computes a rank hands them on as they were."""
    argv = Argv(("python3", "-m", "dynamo.sglang"), tuple(rest))
    made = with_flags(argv, "sglang", ("--node-rank", "$((1 + 1))"), needs_shell=True)
    script = made.args[0].replace("exec python3", "exec printf '%s\\0' python3", 1)
    ran = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode()
    assert ran.split("\0")[:-1] == [*argv.words, "--node-rank", "2"]


@given(before=st.sampled_from(["", "echo '-m dynamo.sglang'; ", "# -m dynamo.sglang\n", "A=1 "]), flag=WORDS)
def test_flags_in_a_script_are_seen_by_the_module(before: str, flag: list[str]) -> None:
    """Text that only looks like the module is passed over."""
    script = f"{before}python3 -m dynamo.sglang {shlex.join(flag)}"
    made = with_flags(Argv(("sh", "-c"), (script,)), "sglang", ("--nnodes", "2"))
    [run] = read_command_line(made.command, made.args).invocations
    assert run.argv == ("--nnodes", "2", *flag)


@pytest.mark.parametrize("name", ['"dynamo.sglang"', "'dynamo.sglang'", "\\\n  dynamo.sglang"])
def test_a_quoted_module_name_is_a_place(name: str) -> None:
    """Quotes around the module's name, or a line break before it, hide nothing."""
    made = with_flags(Argv(("sh", "-c"), (f"python3 -m {name} --a",)), "sglang", ("--nnodes", "2"))
    [run] = read_command_line(made.command, made.args).invocations
    assert run.argv == ("--nnodes", "2", "--a")


@settings(max_examples=60)
@given(rest=WORDS, needs_shell=st.booleans())
def test_a_script_that_runs_its_parameters_hands_the_flags_on(rest: list[str], *, needs_shell: bool) -> None:
    """`exec "$@"` runs what stands behind the script, so that is where flags go; a rank is computed around it."""
    argv = Argv(("sh", "-c", 'exec "$@"', "--"), ("python3", "-m", "dynamo.sglang", *rest))
    rank = "$((1 + 1))" if needs_shell else "2"
    made = with_flags(argv, "sglang", ("--node-rank", rank), needs_shell=needs_shell)
    words = [*made.words]
    at = next(index for index, word in enumerate(words) if "python3" in word)
    if needs_shell:
        words[at] = words[at].replace("python3", "printf '%s\\0' python3", 1)
    else:
        words[at:at] = ["printf", "%s\\0"]
    ran = subprocess.run(words, capture_output=True, check=True).stdout.decode()
    assert ran.split("\0")[:-1] == ["python3", "-m", "dynamo.sglang", *rest, "--node-rank", "2"]


def test_flags_that_only_one_of_several_runs_gets_are_said() -> None:
    """A script that starts the engine in two ways is not half changed in silence."""
    script = "if true; then python3 -m dynamo.sglang --a; else python3 -m dynamo.sglang --b; fi"
    manifest = lws(script, command=("sh", "-c"))
    assert argv_in(manifest, "worker")[1][0].count("--nnodes") == 1
    [why] = missing(manifest)
    assert "the first of 2 runs of `-m dynamo.sglang` only" in why
    assert missing(lws("echo -m dynamo.sglang; python3 -m dynamo.sglang", command=("sh", "-c"))) == []


def test_a_module_hidden_in_a_script_has_no_place() -> None:
    """A variable that holds the module's name is not guessed."""
    with pytest.raises(NoPlaceError):
        with_flags(Argv(("sh", "-c"), ('python3 -m "$MODULE"',)), "sglang", ("--x",))


def test_a_recorded_provider_is_final() -> None:
    """What an operator has recorded wins over what the cluster has; an unknown record is a problem."""
    recorded = {"nvidia.com/workload-provider": "component"}
    assert grove("-m", "dynamo.sglang", annotations=recorded).provider == "component"
    assert lws("-m", "dynamo.sglang", annotations={"nvidia.com/workload-provider": "grove"}).provider == "grove"
    declined = {"nvidia.com/enable-grove": "False"}
    assert grove("-m", "dynamo.sglang", annotations=declined).provider == "component"
    with pytest.raises(InvalidInputError, match="disaggregatedset"):
        render(multinode("-m", "dynamo.sglang", annotations={"nvidia.com/workload-provider": "disaggregatedset"}))


def test_the_name_of_a_leaderworkerset_has_to_fit_too() -> None:
    """It is two characters longer than the component's, and names a Service."""
    name = "g" * 49  # with `-dec-` and the generation that makes 62 characters
    text = multinode("-m", "dynamo.sglang").replace("name: g\n", f"name: {name}\n")
    assert render(text, GROVE)
    with pytest.raises(InvalidInputError) as caught:
        render(text)
    assert [problem.what.rpartition('"')[2] for problem in caught.value.problems] == [" has 64 characters"]


@pytest.mark.parametrize(("options", "nodes"), [(RenderOptions(), 2), (GROVE, 2), (GROVE, 1)])
def test_a_dot_in_a_name_that_becomes_a_hostname_is_a_problem(options: RenderOptions, nodes: int) -> None:
    """LeaderWorkerSet and Grove make Services and hostnames of the graph's name as it is; a Deployment does not."""
    text = multinode("-m", "dynamo.sglang", nodes=nodes).replace("name: g\n", "name: g.v2\n")
    with pytest.raises(InvalidInputError) as caught:
        render(text, options)
    [problem] = caught.value.problems
    assert "g.v2" in problem.what
    assert str(problem.position) == "-:5", "the line of the name"
    assert render(multinode("-m", "dynamo.sglang", nodes=1).replace("name: g\n", "name: g.v2\n"))


def test_names_that_the_user_has_taken_stay_theirs() -> None:
    """An init container, a volume and a mount of one's own stand in for ours; the order written is kept."""
    text = multinode("-m", "dynamo.vllm", "-tp", "8", gpus=4)
    document = yaml.safe_load(text)
    spec = document["spec"]["components"][0]["podTemplate"]["spec"]
    spec["initContainers"] = [{"name": "wait-for-leader-mp", "image": "mine"}, {"name": "a", "image": "i"}]
    spec["volumes"] = [{"name": "wait-leader-script", "emptyDir": {}}]
    pod = pod_of(render(yaml.safe_dump(document)), "Dec", "worker")
    assert [(item["name"], item["image"]) for item in pod["initContainers"]] == [
        ("wait-for-leader-mp", "mine"),
        ("a", "i"),
    ]
    assert [item for item in pod["volumes"] if item["name"] == "wait-leader-script"] == spec["volumes"]
