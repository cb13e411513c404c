"""A rendered graph as a plan for one machine."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from stator.errors import InvalidInputError, StatorError
from stator.local.plan import ContainerPlan, ExecCommand, HttpGet, LocalPlan, PodPlan, SecretText, Target, redacted
from stator.local.planning import Machine, PortAllocator, plan_graph
from stator.model.load import load
from stator.render.graph import render_graph
from stator.render.manifest import RenderOptions

FRONTEND = "registry.example/dynamo-frontend:1.6.1"
WORKER = "registry.example/sglang-runtime:1.5.1"


class Runtime(msgspec.Struct, frozen=True):
    """A Python environment that stands for an image."""

    version: str
    profile: str = "base"

    @property
    def bin(self) -> str:
        """Where its programs are."""
        return f"/runtimes/{self.version}/bin"

    @property
    def python(self) -> str:
        """Its interpreter."""
        return f"{self.bin}/python"


RUNTIMES = {FRONTEND: Runtime("1.6.1"), WORKER: Runtime("1.5.1")}

MACHINE = Machine(
    runtimes={},
    volumes={"models": Path("/data/models")},
    env={"PATH": "/usr/bin", "HOME": "/home/me", "AWS_SECRET_ACCESS_KEY": "never passed on"},
    hostname="laptop",
)

OBJECTS = """
apiVersion: v1
kind: Secret
metadata: {name: hf, namespace: demo}
stringData: {token: s3cret-token}
---
apiVersion: v1
kind: Secret
metadata: {name: ports, namespace: demo}
stringData: {system: "7391"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cfg, namespace: demo}
data: {colour: red, shape: round}
"""


def graph(pod: dict[str, Any] | None = None, **main: Any) -> str:
    """A frontend and a worker; `pod` and `main` are fields of the worker's pod and of its main container."""
    container = {
        "name": "main",
        "image": WORKER,
        "command": ["python3", "-m", "dynamo.mocker"],
        "args": ["--model-path", "/models/tiny"],
        **main,
    }
    front = {"name": "main", "image": FRONTEND}
    pod = pod or {}
    spec = {**pod, "containers": [container, *pod.get("containers", [])]}
    components = [
        {"name": "Frontend", "type": "frontend", "podTemplate": {"spec": {"containers": [front]}}},
        {"name": "Worker", "type": "worker", "podTemplate": {"spec": spec}},
    ]
    document = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "chat", "namespace": "demo"},
        "spec": {"backendFramework": "sglang", "components": components},
    }
    return yaml.safe_dump(document)


def plan(
    text: str, machine: Machine = MACHINE, *, busy: frozenset[int] = frozenset(), options: RenderOptions | None = None
) -> LocalPlan:
    """Load, render and plan a graph; ports in `busy` are in use."""
    inventory = load(["-"], stdin=io.StringIO(f"{text}\n---\n{OBJECTS}"))
    (loaded,) = inventory.graphs
    numbers = itertools.count(1)
    manifest = render_graph(loaded, options or RenderOptions())
    runtimes = {
        (component.name, container["name"]): RUNTIMES[container["image"]]
        for component in manifest.components
        for kind in ("initContainers", "containers")
        for container in component.workload["spec"]["template"]["spec"].get(kind) or ()
        if container["image"] in RUNTIMES
    }
    return plan_graph(
        manifest,
        inventory,
        msgspec.structs.replace(machine, runtimes=runtimes),
        ports=PortAllocator("demo.chat", free=lambda port: port not in busy),
        directory=Path("/state/demo.chat"),
        new_uid=lambda: f"uid-{next(numbers)}",
    )


def problems(text: str, **arguments: Any) -> list[str]:
    """What planning refuses."""
    with pytest.raises(InvalidInputError) as caught:
        plan(text, **arguments)
    return [f"{problem.what}: {problem.why}" for problem in caught.value.problems]


def worker(planned: LocalPlan) -> PodPlan:
    """The first pod of the worker."""
    return next(pod for pod in planned.pods if pod.component == "Worker")


def main(planned: LocalPlan) -> ContainerPlan:
    """Its main container."""
    return worker(planned).containers[0]


def pvc(mount: str = "/models", claim: str = "models", **fields: Any) -> dict[str, Any]:
    """A pod with a claim, and the fields of a container that mounts it."""
    return {
        "pod": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]},
        "volumeMounts": [{"name": "data", "mountPath": mount}],
        **fields,
    }


def adaptations(planned: LocalPlan, pod: str) -> dict[str, tuple[str, str]]:
    """What differs in a pod."""
    return {note.what: (note.cluster, note.local) for note in planned.adaptations if note.pod == pod}


def ignored(planned: LocalPlan) -> list[str]:
    """What is left out."""
    return [f"{note.component}: {note.what}" for note in planned.ignored]


def test_the_interpreter_of_the_runtime_takes_the_place_of_the_images() -> None:
    """`python3` is the environment's, which is also first on PATH for shell scripts."""
    container = main(plan(graph(**pvc())))
    assert container.argv == ("/runtimes/1.5.1/bin/python", "-m", "dynamo.mocker", "--model-path", "/data/models/tiny")
    assert container.env["PATH"] == "/runtimes/1.5.1/bin:/usr/bin"
    assert container.runtime == "base 1.5.1"


def test_nothing_of_this_machines_environment_leaks_in() -> None:
    """HOME and a few others only."""
    container = main(plan(graph()))
    assert container.env["HOME"] == "/home/me"
    assert "AWS_SECRET_ACCESS_KEY" not in container.env


def test_dynamo_is_told_to_work_without_services() -> None:
    """Discovery in files of this graph, TCP and ZMQ, on loopback; each change is an adaptation."""
    planned = plan(graph())
    expected = {
        "DYN_DISCOVERY_BACKEND": ("kubernetes", "file"),
        "DYN_FILE_KV": ("", "/state/demo.chat/kv"),
        "DYN_REQUEST_PLANE": ("", "tcp"),
        "DYN_EVENT_PLANE": ("", "zmq"),
        "DYN_TCP_RPC_HOST": ("", "127.0.0.1"),
        "DYN_TCP_RESPONSE_STREAM_HOST": ("", "lo"),
        "DYN_EVENT_PLANE_HOST": ("", "127.0.0.1"),
        "DYN_SYSTEM_HOST": ("", "127.0.0.1"),
        "DYN_HTTP_HOST": ("", "127.0.0.1"),
        "HF_HUB_OFFLINE": ("", "1"),
    }
    container = main(planned)
    assert {name: container.env[name] for name in expected} == {name: local for name, (_, local) in expected.items()}
    noted = adaptations(planned, worker(planned).name)
    assert {name: noted[f"container main: env {name}"] for name in expected} == expected


def test_what_the_user_says_about_downloads_and_planes_stays() -> None:
    """A value that works here is not replaced."""
    env = [{"name": "HF_HUB_OFFLINE", "value": "0"}, {"name": "DYN_REQUEST_PLANE", "value": "http"}]
    container = main(plan(graph(env=env)))
    assert container.env["HF_HUB_OFFLINE"] == "0"
    assert container.env["DYN_REQUEST_PLANE"] == "http"


def test_what_the_renderer_decides_stays() -> None:
    """Namespace and health checks are those of the cluster."""
    container = main(plan(graph()))
    assert container.env["DYN_NAMESPACE"] == "demo-chat"
    assert container.env["DYN_HEALTH_CHECK_ENABLED"] == "true"
    assert container.env["POD_NAME"] == worker(plan(graph())).name


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        ("DYN_DISCOVERY_BACKEND", "etcd", "only file and kubernetes work without a service"),
        ("DYN_DISCOVERY_BACKEND", "mem", "with it the parts of a graph do not see each other"),
        ("DYN_REQUEST_PLANE", "nats", "only http and tcp work without a service"),
        ("DYN_EVENT_PLANE", "nats", "only zmq work without a service"),
    ],
)
def test_what_needs_a_service_is_refused_by_name(variable: str, value: str, why: str) -> None:
    """Etcd and NATS are not started here; the variable and the container are named."""
    (problem,) = problems(graph(env=[{"name": variable, "value": value}]))
    assert problem.startswith(f"component Worker: container main: {variable}={value}: {why}")


def test_etcd_discovery_is_recognised_by_the_absent_variable() -> None:
    """Rendering leaves the variable out for etcd, which is the runtimes' own default."""
    found = problems(graph(), options=RenderOptions(discovery_backend="etcd"))
    assert len(found) == 2
    assert all("it is not set, which means etcd" in problem for problem in found)


def test_ports_are_moved_in_variables_flags_probes_and_services_alike() -> None:
    """One number of the cluster is one number here, wherever it is written."""
    planned = plan(graph(args=["--http-port", "9090", "--port=5000"]))
    container = main(planned)
    system = container.ports[9090]
    assert 20000 <= system < 32000
    assert container.env["DYN_SYSTEM_PORT"] == str(system)
    assert container.argv[3:5] == ("--http-port", str(system))
    assert container.argv[5].startswith("--port=2")
    for probe in (container.startup, container.liveness, container.readiness):
        assert probe
        assert isinstance(probe.handler, HttpGet)
        assert probe.handler.port == system
    service = next(service for service in planned.services if service.port_name == "system")
    assert service.targets == (Target(worker(planned).name, system),)
    assert adaptations(planned, worker(planned).name)["port 9090 system"] == ("9090", str(system))


def test_flags_in_a_shell_script_are_moved_too() -> None:
    """`sh -c` with one text."""
    script = "exec python3 -m dynamo.frontend --http-port 8123 --http-host 0.0.0.0 && echo --http-portal 8123"
    container = main(plan(graph(command=["/bin/sh", "-c"], args=[script])))
    assert isinstance(container.argv[2], str)
    words = container.argv[2].split()
    assert words[5].isdecimal()
    assert 20000 <= int(words[5]) < 32000
    assert words[6:] == ["--http-host", "127.0.0.1", "&&", "echo", "--http-portal", "8123"]


def test_every_pod_and_replica_has_ports_of_its_own() -> None:
    """No two processes are told the same one."""
    text = graph().replace("type: worker", "type: worker\n    replicas: 3")
    planned = plan(text)
    used = [port for pod in planned.pods for container in pod.containers for port in container.ports.values()]
    used += [service.port for service in planned.services]
    assert len(used) == len(set(used))
    assert [pod.replica for pod in planned.pods if pod.component == "Worker"] == [0, 1, 2]
    service = next(service for service in planned.services if service.port_name == "system")
    assert len(service.targets) == 3


def test_probe_times_are_those_of_the_manifest() -> None:
    """With the API's defaults for what is not said."""
    container = main(plan(graph(readinessProbe={"httpGet": {"path": "ready", "port": "system"}, "periodSeconds": 3})))
    assert container.readiness
    assert isinstance(container.readiness.handler, HttpGet)
    assert container.readiness.handler.path == "/ready"
    assert (container.readiness.period, container.readiness.timeout, container.readiness.failure_threshold) == (3, 1, 3)


def test_a_probe_of_a_port_nobody_declares_is_the_kubelets_error() -> None:
    """A ports list of the user's own removes the `system` port that the default probes name."""
    found = problems(graph(ports=[{"name": "web", "containerPort": 8080}]))
    assert found == [
        f"component Worker: container main: {kind}Probe: port system not found; the kubelet could never run this probe"
        for kind in ("startup", "liveness", "readiness")
    ]


def test_a_port_the_process_chooses_by_itself_must_be_free() -> None:
    """It cannot be moved: nothing tells the process."""
    ports = [{"name": "system", "containerPort": 9090}, {"name": "web", "containerPort": 8080}]
    assert main(plan(graph(ports=ports))).ports[8080] == 8080
    (problem,) = problems(graph(ports=ports), busy=frozenset({8080}))
    assert problem.startswith("component Worker: port 8080 web is taken")


def test_the_frontends_service_keeps_its_port_if_it_is_free() -> None:
    """Else it gets the next one, and says so."""
    service = next(service for service in plan(graph()).services if service.frontend)
    assert (service.cluster_port, service.port) == (8000, 8000)
    planned = plan(graph(), busy=frozenset({8000, 8001}))
    service = next(service for service in planned.services if service.frontend)
    assert service.port == 8002
    note = next(note for note in planned.adaptations if note.what == f"service {service.name}")
    assert note.why.endswith("port 8000 is taken on this machine")


def test_service_names_lead_to_local_addresses() -> None:
    """In every form the cluster's DNS knows; other names and ports stay."""
    urls = [
        "http://chat-frontend:8000/v1",
        "http://chat-frontend.demo:8000",
        "http://chat-frontend.demo.svc.cluster.local:8000/x",
        "http://chat-frontend.other:8000",
        "http://my-chat-frontend:8000",
        "http://chat-frontend:8001",
    ]
    container = main(plan(graph(env=[{"name": "URLS", "value": " ".join(urls)}])))
    assert container.env["URLS"] == " ".join(
        ["http://127.0.0.1:8000/v1", "http://127.0.0.1:8000", "http://127.0.0.1:8000/x", *urls[3:]]
    )
    assert container.env["CHAT_FRONTEND_SERVICE_PORT"] == "8000"


def test_mount_paths_are_replaced_where_they_begin_a_path() -> None:
    """In arguments and values, also after `=`, `@` and `file://`; not inside of other paths."""
    env = [{"name": "PATHS", "value": "/models:/models/x file:///models /my/models /models2 ~/models"}]
    args = ["--model-path=/models/tiny", "--config", "@/models/c.json"]
    planned = plan(graph(**pvc(env=env, args=args)))
    container = main(planned)
    assert container.argv[3:] == ("--model-path=/data/models/tiny", "--config", "@/data/models/c.json")
    assert container.env["PATHS"] == "/data/models:/data/models/x file:///data/models /my/models /models2 ~/models"
    assert adaptations(planned, worker(planned).name)["path /models"] == ("/models", "/data/models")


def test_a_claim_without_a_directory_is_an_error_only_if_it_is_used() -> None:
    """A path below it on the command line cannot work; a mount nobody mentions is ignored."""
    (problem,) = problems(graph(**pvc(claim="other")))
    assert problem == ("component Worker: container main: mount /models: no local directory stands for claim 'other'")
    planned = plan(graph(**pvc(claim="other", mount="/cache")))
    assert "Worker: container main: mount /cache" in ignored(planned)


def test_volumes_of_objects_become_files() -> None:
    """Secrets readable by the owner only; keys can be chosen and renamed; everything lies below the pod."""
    volumes = [
        {"name": "cfg", "configMap": {"name": "cfg", "items": [{"key": "colour", "path": "sub/c.txt"}]}},
        {"name": "hf", "secret": {"secretName": "hf"}},
        {"name": "scratch", "emptyDir": {}},
        {
            "name": "info",
            "projected": {
                "sources": [
                    {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                    {"configMap": {"name": "cfg"}},
                ]
            },
        },
    ]
    mounts = [{"name": volume["name"], "mountPath": f"/mnt/{volume['name']}"} for volume in volumes]
    args = ["--file", "/mnt/hf/token", "--scratch", "/mnt/scratch"]
    planned = plan(graph({"volumes": volumes}, volumeMounts=mounts, args=args))
    pod = worker(planned)
    root = f"/state/demo.chat/pods/{pod.name}/volumes"
    assert [(file.path, file.content, file.mode, file.secret) for file in pod.files] == [
        (f"{root}/cfg/sub/c.txt", b"red", 0o644, False),
        (f"{root}/hf/token", b"s3cret-token", 0o600, True),
        (f"{root}/info/name", pod.name.encode(), 0o644, False),
        (f"{root}/info/colour", b"red", 0o644, False),
        (f"{root}/info/shape", b"round", 0o644, False),
    ]
    assert set(pod.directories) == {
        f"/state/demo.chat/pods/{pod.name}",
        *(f"{root}/{name}" for name in ("cfg", "hf", "scratch", "info")),
    }
    assert main(planned).argv[3:] == ("--file", f"{root}/hf/token", "--scratch", f"{root}/scratch")
    assert not any("shm" in note.what for note in planned.adaptations)


def test_missing_objects_of_volumes_are_the_kubelets_errors() -> None:
    """Unless they are optional."""
    volumes = [
        {"name": "a", "configMap": {"name": "nope"}},
        {"name": "s", "secret": {"secretName": "hf", "items": [{"key": "x", "path": "x"}]}},
        {"name": "c", "secret": {"secretName": "nope", "optional": True}},
    ]
    mounts = [{"name": volume["name"], "mountPath": f"/mnt/{volume['name']}"} for volume in volumes]
    found = problems(graph({"volumes": volumes}, volumeMounts=mounts))
    setup = "MountVolume.SetUp failed for volume"
    assert [problem.removesuffix(": ") for problem in found] == [
        f'component Worker: {setup} "a" : configmap "nope" not found',
        f'component Worker: {setup} "s" : secret "hf": references non-existent secret key: x',
    ]


def test_unresolved_references_are_located_and_all_reported() -> None:
    """In the kubelet's words, at the line of the user's file."""
    env = [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "nope"}}},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "x"}}},
    ]
    with pytest.raises(InvalidInputError) as caught:
        plan(graph(env=env))
    first, second = caught.value.problems
    assert first.why == "CreateContainerConfigError: couldn't find key nope in Secret demo/hf"
    assert second.why == 'CreateContainerConfigError: configmap "none" not found'
    assert first.position
    assert first.position.line


def test_secrets_are_marked_in_environment_and_arguments_and_shown_nowhere() -> None:
    """They are for the process; the plan that is written to disk and every representation go without."""
    env = [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]
    planned = plan(graph(env=env, args=["--token=$(HF_TOKEN)", "--plain=$(DYN_NAMESPACE)"]))
    container = main(planned)
    assert container.env["HF_TOKEN"] == SecretText("s3cret-token")
    assert container.argv[3:] == (SecretText("--token=s3cret-token"), "--plain=demo-chat")
    assert "s3cret" not in repr(planned)
    written = msgspec.json.encode(redacted(planned))
    assert b"s3cret" not in written
    assert msgspec.json.decode(msgspec.json.encode(planned), type=LocalPlan) == planned


def test_a_port_that_only_a_secret_tells_is_not_shown() -> None:
    """It is moved like any other, and neither report nor plan says which one it was."""
    env = [{"name": "DYN_SYSTEM_PORT", "valueFrom": {"secretKeyRef": {"name": "ports", "key": "system"}}}]
    planned = plan(graph(env=env, args=["--metrics-port", "$(DYN_SYSTEM_PORT)"]))
    moved = [item for item in planned.adaptations if item.what == "port ***"]
    assert [item.cluster for item in moved] == ["***"]
    assert b"7391" not in msgspec.json.encode(redacted(planned))


def test_a_secret_in_a_refused_setting_is_not_shown() -> None:
    """The error names the variable only."""
    env = [{"name": "DYN_REQUEST_PLANE", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]
    (problem,) = problems(graph(env=env))
    assert problem.startswith("component Worker: container main: DYN_REQUEST_PLANE=***: ")
    assert "s3cret" not in problem


def test_what_a_machine_cannot_give_is_listed() -> None:
    """By component and field; nothing is dropped in silence, not even what nobody has thought of."""
    pod = {"nodeSelector": {"gpu": "h100"}, "tolerations": [{"key": "x"}], "hostAliases": [{"ip": "1.2.3.4"}]}
    planned = plan(
        graph(
            pod,
            resources={"limits": {"nvidia.com/gpu": "2"}},
            lifecycle={"preStop": {"exec": {"command": ["sleep", "5"]}}},
            readinessProbe={"grpc": {"port": 9090}},
        )
    )
    assert set(ignored(planned)) >= {
        "Worker: nodeSelector",
        "Worker: tolerations",
        "Worker: hostAliases",
        "Worker: container main: 2 nvidia.com/gpu",
        "Worker: container main: preStop hook",
        "Worker: container main: readinessProbe",
        ": ServiceAccount chat-k8s-service-discovery",
    }
    assert main(planned).readiness is None


def test_a_container_without_a_runtime_is_refused_unless_it_is_ignored() -> None:
    """By name and image, with what to do."""
    text = graph({"containers": [{"name": "exporter", "image": "registry.example/exporter:3"}]})
    (problem,) = problems(text)
    assert problem == (
        "component Worker: container exporter cannot run here: no Python environment stands for image "
        "'registry.example/exporter:3'"
    )
    planned = plan(text, msgspec.structs.replace(MACHINE, ignored_sidecars=frozenset({"exporter"})))
    assert [container.name for container in worker(planned).containers] == ["main"]
    assert "Worker: container exporter" in ignored(planned)


def test_init_containers_run_first_and_restartable_ones_beside() -> None:
    """An init container with restartPolicy Always is a sidecar."""
    init = [
        {"name": "fetch", "image": WORKER, "command": ["python3", "-c", "pass"]},
        {"name": "side", "image": WORKER, "command": ["python3", "-c", "pass"], "restartPolicy": "Always"},
    ]
    pod = worker(plan(graph({"initContainers": init})))
    assert [container.name for container in pod.init_containers] == ["fetch"]
    assert [container.name for container in pod.containers] == ["main", "side"]
    assert "DYN_FILE_KV" not in pod.init_containers[0].env


def test_an_exec_probe_is_a_local_command() -> None:
    """Its interpreter, paths and references are those of the container."""
    probe = {"exec": {"command": ["python3", "/models/check.py", "$(DYN_NAMESPACE)"]}}
    container = main(plan(graph(**pvc(livenessProbe=probe))))
    assert container.liveness
    assert container.liveness.handler == ExecCommand(
        argv=("/runtimes/1.5.1/bin/python", "/data/models/check.py", "demo-chat")
    )


def test_the_canary_rule_goes_with_the_component_it_applies_to() -> None:
    """An SGLang embedding worker before 1.6 has DYN101 to name; a chat worker has none."""
    text = graph(command=["python3", "-m", "dynamo.sglang"], args=["--embedding-worker"])
    planned = plan(text)
    assert worker(planned).canary_rule == "DYN101"
    assert any("DYN101" in note for component in planned.components for note in component.notes)
    assert worker(plan(graph())).canary_rule == ""


def test_the_lowest_precedence_repair_reaches_the_process() -> None:
    """A ConfigMap that was rendered with the graph is found without being in any file."""
    text = graph(
        command=["python3", "-m", "dynamo.sglang"],
        args=["--embedding-worker"],
        envFrom=[{"configMapRef": {"name": "cfg"}}],
    )
    assert main(plan(text)).env["DYN_HEALTH_CHECK_PAYLOAD"] == '{"model":"health-check","input":"Test"}'


def test_ports_are_found_again_and_never_given_twice() -> None:
    """The same graph gets the same ports; what others reserved is left alone; none left is an error."""
    first = PortAllocator("demo.chat", free=lambda _: True).allocate()
    assert PortAllocator("demo.chat", free=lambda _: True).allocate() == first
    assert PortAllocator("demo.chat", taken={first}, free=lambda _: True).allocate() == first + 1
    with pytest.raises(StatorError, match="no free port between 20000 and 31999"):
        PortAllocator("demo.chat", free=lambda _: False).allocate()


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../up"])
def test_a_volume_writes_nowhere_but_into_itself(path: str) -> None:
    """A path that leads out of the volume is refused, as the API server refuses it; so is a mount's subPath."""
    volumes = [{"name": "s", "secret": {"secretName": "hf", "items": [{"key": "token", "path": path}]}}]
    mounts = [{"name": "s", "mountPath": "/s"}]
    assert any(
        "must be relative" in problem for problem in problems(graph(pod={"volumes": volumes}, volumeMounts=mounts))
    )
    mounts = [{"name": "s", "mountPath": "/s", "subPath": path}]
    volumes = [{"name": "s", "emptyDir": {}}]
    assert any(
        "must be relative" in problem for problem in problems(graph(pod={"volumes": volumes}, volumeMounts=mounts))
    )


def test_a_value_no_process_can_be_given_is_refused_without_showing_it() -> None:
    """A NUL in a variable ends nothing that runs: the graph is not started, and the variable is named."""
    found = problems(graph(env=[{"name": "BINARY", "value": "top\0secret"}]))
    assert any("env BINARY" in problem for problem in found)
    assert not any("secret" in problem.replace("s3cret", "") for problem in found if "BINARY" in problem)


@pytest.mark.parametrize(
    "main",
    [
        {"env": [{"name": "LONG", "value": "x" * 131_067}]},
        {"command": ["python3", "x" * 131_072]},
        {"env": [{"name": "A", "value": "x" * 70_000}], "command": ["python3", "$(A)$(A)"]},
    ],
)
def test_a_text_too_long_for_a_process_is_refused_before_the_start(main: dict[str, Any]) -> None:
    """What execve(2) refuses in one piece would end as an unexplained failure of the container."""
    (said,) = problems(graph(**main))
    assert "is longer than the 131071 bytes that a process can be given" in said
