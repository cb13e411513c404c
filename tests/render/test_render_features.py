"""What a component or a graph can ask for beside its workloads, feature by feature."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import yaml
from multinode import GROVE
from rendered import env_of, main_of, named_env, object_of, pod_of, render, worker

from stator.errors import InvalidInputError
from stator.render import Manifest, RenderOptions

IMAGE = "reg/sglang-runtime:1.6.1"
KV = "DYN_KV_TRANSFER_ENFORCEMENT"


def with_pod(text: str, more: str) -> str:
    """The graph with more YAML in its worker's pod spec."""
    return text.rstrip("\n") + "\n" + textwrap.indent(textwrap.dedent(more).strip("\n"), " " * 8) + "\n"


def problems(text: str, options: RenderOptions | None = None) -> list[tuple[str, str]]:
    """Position and text of all problems of a graph."""
    with pytest.raises(InvalidInputError) as caught:
        render(text, options)
    return [(str(problem.position), problem.what) for problem in caught.value.problems]


def container(manifest: Manifest, name: str) -> dict[str, Any]:
    """A rendered container of the worker's pod, whatever list it is in."""
    spec = pod_of(manifest)
    return next(item for item in [*spec["containers"], *spec.get("initContainers", ())] if item["name"] == name)


def fields(manifest: Manifest) -> list[str]:
    """What is not rendered."""
    return [note.field for note in manifest.not_rendered]


SIDECAR = """
- name: front
  image: {image}
  env: [{{name: DYN_HTTP_PORT, value: "8001"}}]
- {{name: other-sidecar, image: i}}
"""


def sidecar_graph(*, image: str, worker_image: str = IMAGE, component: str = "", main: str = "") -> str:
    """A worker with a frontend sidecar and a plain one."""
    text = worker(main, image=worker_image, component=f"frontendSidecar: front\n{component}")
    return with_pod(text, SIDECAR.format(image=image))


@pytest.mark.parametrize(
    ("worker_image", "override", "image", "strict"),
    [
        ("r/w:1.5.0", "", "r/f:1.6.0", "true"),
        ("r/w:1.6.0", "", "r/f:1.5.0", None),
        ("r/w:custom", "runtimeVersionOverride: 1.6.0", "r/f:custom", None),
    ],
)
def test_a_frontend_sidecar_is_gated_by_its_own_image(
    worker_image: str, override: str, image: str, strict: str | None
) -> None:
    """Worked example 20: the worker's release and override do not count; other sidecars stay as they are."""
    manifest = render(sidecar_graph(image=image, worker_image=worker_image, component=override))
    assert named_env(container(manifest, "front")).get("DYN_NAMESPACE_PREFIX_STRICT") == strict
    assert container(manifest, "other-sidecar") == {"name": "other-sidecar", "image": "i"}


def test_a_frontend_sidecar_is_a_frontend_with_the_workers_mounts() -> None:
    """Ports, probes, command and environment are a frontend's; the user's entries win; main's mounts are shared."""
    main = "volumeMounts: [{name: models, mountPath: /models}]"
    manifest = render(sidecar_graph(image=IMAGE, main=main))
    front = container(manifest, "front")
    assert (front["command"], front["args"]) == (["python3"], ["-m", "dynamo.frontend"])
    assert front["ports"][0]["name"] == "http"
    assert front["readinessProbe"]["httpGet"]["port"] == "http"
    env = named_env(front)
    assert (env["DYN_HTTP_PORT"], env["DYN_COMPONENT"]) == ("8001", "frontend")
    assert "DYN_NAMESPACE_WORKER_SUFFIX" not in env
    assert front["volumeMounts"] == [{"name": "models", "mountPath": "/models"}]
    history = [item for item in manifest.components[0].provenance if item.container == "front"]
    assert "DYN_HTTP_PORT" in {item.name for item in history}


def test_graph_environment_stays_out_of_a_frontend_sidecar() -> None:
    """The graph speaks to its components' main containers; a sidecar that runs Dynamo for one is no exception."""
    text = sidecar_graph(image=IMAGE).replace("spec:\n", "spec:\n  env: [{name: G, value: g}]\n", 1)
    assert "G" not in named_env(container(render(text), "front"))


def test_a_sidecar_that_is_not_there_is_a_problem() -> None:
    """The name leads nowhere, or to the main container."""
    assert problems(worker(component="frontendSidecar: x")) == [
        ("-:8", 'component Worker: the frontend sidecar "x" is none of its sidecars')
    ]
    assert problems(worker(component="frontendSidecar: main"))


RUNTIME = "initContainers:\n- {name: runtime, image: 'r/w:1.6.0', restartPolicy: Always, command: [python3, -m, x]}"


def test_a_runtime_container_makes_main_a_plain_engine() -> None:
    """Dynamo's environment, port and probes are the runtime's; the graph's environment reaches both."""
    text = with_pod(worker(image="vllm/vllm:0.9", graph="env: [{name: G, value: g}]"), RUNTIME)
    manifest = render(text)
    assert str(manifest.components[0].version) == "1.6.0 (runtime-container)"
    main, runtime = main_of(manifest), container(manifest, "runtime")
    assert env_of(manifest) == {"G": "g"}
    assert not {"ports", "livenessProbe", "readinessProbe", "startupProbe"} & set(main)
    env = named_env(runtime)
    assert (env["DYN_SYSTEM_PORT"], env["G"], env["DYN_COMPONENT"]) == ("9090", "g", "worker")
    assert env["DYN_NAMESPACE_WORKER_SUFFIX"] == manifest.generation
    assert runtime["startupProbe"]["periodSeconds"] == 2
    assert runtime["restartPolicy"] == "Always"


def test_a_runtime_container_needs_an_operator_that_knows_it() -> None:
    """Before 1.6.0, for other types, and without the restart policy it is any init container."""
    text = with_pod(worker(), RUNTIME)
    assert "DYN_SYSTEM_PORT" in env_of(render(text, RenderOptions(operator=GROVE.operator.__class__(1, 5, 1))))
    plain = text.replace(", restartPolicy: Always", "")
    assert container(render(plain), "runtime").keys() == {"name", "image", "command"}


def test_a_runtime_container_does_not_go_with_everything() -> None:
    """What the API refuses beside it is refused here."""
    clash = "multinode: {nodeCount: 2}\nexperimental: {checkpoint: {enabled: true}}"
    text = with_pod(worker(component=clash), RUNTIME)
    assert {position for position, _ in problems(text)} == {"-:8", "-:9"}


@pytest.mark.parametrize(
    ("framework", "path", "place"),
    [
        ("vllm", "", "/root/.cache/vllm"),
        ("vllm", ", mountPath: /c", "/c"),
        ("sglang", ", mountPath: /c", "/c"),
    ],
)
def test_a_compilation_cache_is_mounted(framework: str, path: str, place: str) -> None:
    """The claim becomes a volume and a mount; vLLM is told the place."""
    text = worker(component=f"compilationCache: {{pvcName: cache{path}}}").replace(
        "dynamo.sglang", f"dynamo.{framework}"
    )
    manifest = render(text)
    assert main_of(manifest)["volumeMounts"][0] == {"name": "cache", "mountPath": place}
    assert {"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}} in pod_of(manifest)["volumes"]
    assert env_of(manifest).get("VLLM_CACHE_ROOT") == (place if framework == "vllm" else None)


@pytest.mark.parametrize(
    ("main", "pod"),
    [
        ("", ""),
        ("volumeMounts: [{name: other, mountPath: /c/}]", ""),
        ("volumeMounts: [{name: cache, mountPath: /c, readOnly: true}]", ""),
        ("", "volumes: [{name: cache, emptyDir: {}}]"),
        ("", "volumes: [{name: cache, persistentVolumeClaim: {claimName: cache, readOnly: true}}]"),
    ],
)
def test_a_cache_that_cannot_be_written_is_a_problem(main: str, pod: str) -> None:
    """No place, a taken place, or a read-only one."""
    path = ", mountPath: /c" if main or pod else ""
    text = with_pod(worker(main, component=f"compilationCache: {{pvcName: cache{path}}}"), pod)
    assert problems(text) == [("-:8", "component Worker: the compilation cache cannot be mounted")]


def test_a_scaling_adapter_is_seeded_with_the_replicas() -> None:
    """It has the component's name in lower case, and points back at graph and component."""
    manifest = render(worker(component="scalingAdapter: {}\nreplicas: 3"))
    adapter = object_of(manifest, "DynamoGraphDeploymentScalingAdapter")
    assert adapter["metadata"]["name"] == "g-worker"
    assert adapter["spec"] == {"replicas": 3, "dgdRef": {"name": "g", "componentName": "Worker"}}


def test_components_of_one_base_model_share_a_service() -> None:
    """Pods carry the name's hash as a label and the name as an annotation."""
    text = worker(component="modelRef: {name: Qwen/Qwen3-0.6B}")
    second = text.partition("components:\n")[2].replace("Worker", "Other")
    manifest = render(text + second)
    services = [item for item in manifest.objects if item["metadata"]["name"].startswith("dynamo-model-")]
    assert len(services) == 1
    [service] = services
    assert service["spec"]["clusterIP"] == "None"
    for component in manifest.components:
        metadata = component.pods[0].template["metadata"]
        assert service["spec"]["selector"].items() <= metadata["labels"].items()
        assert metadata["annotations"]["nvidia.com/dynamo-base-model"] == "Qwen/Qwen3-0.6B"


def test_a_model_does_not_change_the_generation() -> None:
    """Tying a component to a model adds a label; it does not make new workers."""
    assert render(worker(component="modelRef: {name: m}")).generation == render(worker()).generation


def test_a_restart_changes_the_pods_and_nothing_else() -> None:
    """The id is an annotation of the pod template; names and generation stay."""
    before, after = render(worker()), render(worker(graph="restart: {id: again, strategy: {type: Parallel}}"))
    pod = after.components[0].pods[0].template["metadata"]
    assert pod["annotations"] == {"nvidia.com/restartAt": "again"}
    assert "annotations" not in after.components[0].workload["metadata"]
    assert after.generation == before.generation
    assert not after.not_rendered


POLICY = """
experimental:
  kvTransferPolicy:
    labelKey: topology.kubernetes.io/zone
    domain: zone
    enforcement: preferred
    preferredWeight: 0.5
"""


def test_a_kv_transfer_policy_tells_workers_where_they_are() -> None:
    """The variables win over the user's own; the file that the runtime reads is named after the domain."""
    manifest = render(worker(f"env: [{{name: {KV}, value: mine}}]", graph=POLICY))
    env = env_of(manifest)
    assert (env[KV], env["DYN_KV_TRANSFER_DOMAIN"], env["DYN_KV_TRANSFER_PREFERRED_WEIGHT"]) == (
        "preferred",
        "zone",
        "0.5",
    )
    volume = next(item for item in pod_of(manifest)["volumes"] if item["name"] == "topology-labels")
    assert volume["downwardAPI"]["items"] == [
        {"path": "zone", "fieldRef": {"fieldPath": "metadata.labels['topology.kubernetes.io/zone']"}}
    ]
    mount = next(item for item in main_of(manifest)["volumeMounts"] if item["name"] == "topology-labels")
    assert mount["mountPath"] == env["DYN_TOPOLOGY_MOUNT_PATH"]
    annotations = manifest.components[0].pods[0].template["metadata"]["annotations"]
    assert annotations == {"nvidia.com/topology-label-key": "topology.kubernetes.io/zone"}


def test_a_kv_transfer_policy_reaches_the_container_that_runs_dynamo() -> None:
    """Beside a native engine that is the runtime."""
    manifest = render(with_pod(worker(graph=POLICY), RUNTIME))
    assert KV in named_env(container(manifest, "runtime"))
    assert KV not in env_of(manifest)
    assert "topology-labels" in {item["name"] for item in pod_of(manifest)["volumes"]}


def test_a_policy_of_a_named_topology_is_the_clusters() -> None:
    """Cluster topologies are Grove's: without it nothing is set and it is said."""
    policy = "experimental: {kvTransferPolicy: {clusterTopologyName: dc, domain: zone, enforcement: required}}"
    manifest = render(worker(graph=policy))
    assert KV not in env_of(manifest)
    assert fields(manifest) == ["spec.experimental.kvTransferPolicy.clusterTopologyName"]


def test_a_policy_of_a_named_topology_reads_the_domains_own_label_on_grove() -> None:
    """The pods ask for the topology by annotation, and read the label that is copied to them for its domain."""
    policy = "experimental: {kvTransferPolicy: {clusterTopologyName: dc, domain: zone, enforcement: required}}"
    manifest = render(worker(graph=policy), GROVE)
    template = manifest.components[0].pods[0].template
    assert env_of(manifest)["DYN_KV_TRANSFER_DOMAIN"] == "zone"
    assert template["metadata"]["annotations"]["nvidia.com/topology-cluster-topology-name"] == "dc"
    [volume] = [item for item in template["spec"]["volumes"] if item["name"] == "topology-labels"]
    label = "metadata.labels['nvidia.com/dynamo-topology.zone']"
    assert volume["downwardAPI"]["items"] == [{"path": "zone", "fieldRef": {"fieldPath": label}}]
    assert fields(manifest) == []


EPP = (
    worker(image="reg/epp:1.4.0", component="eppConfig: CONFIG")
    .replace("type: worker", "type: epp")
    .replace("          command: [python3, -m, dynamo.sglang]\n", "")
)


def test_the_older_endpoint_picker_reads_its_configuration() -> None:
    """Inline configuration becomes a ConfigMap; arguments lead to it and to the pool that is made."""
    manifest = render(EPP.replace("CONFIG", "{config: {plugins: [{type: a}]}}"))
    config = object_of(manifest, "ConfigMap", "g-epp-config")
    [(key, text)] = config["data"].items()
    assert yaml.safe_load(text) == {"plugins": [{"type": "a"}]}
    main = main_of(manifest)
    arguments = dict(zip(main["args"][::2], main["args"][1::2], strict=True))
    assert arguments["--config-file"] == f"{main['volumeMounts'][0]['mountPath']}/{key}"
    assert pod_of(manifest)["volumes"][0]["configMap"] == {"name": "g-epp-config"}
    pool = object_of(manifest, "InferencePool")
    assert pool["metadata"]["name"] == arguments["--pool-name"]
    assert pool["spec"]["endpointPickerRef"]["name"] == "g-worker"


def test_a_configuration_of_ones_own_is_referred_to() -> None:
    """Name and key are the user's, and no ConfigMap is made."""
    manifest = render(EPP.replace("CONFIG", "{configMapRef: {name: mine, key: k.yaml}}"))
    assert main_of(manifest)["args"][-1].endswith("/k.yaml")
    assert pod_of(manifest)["volumes"][0]["configMap"] == {"name": "mine"}
    assert "ConfigMap" not in {item["kind"] for item in manifest.objects}


def test_the_pool_selects_the_graphs_workers() -> None:
    """By class and Dynamo namespace, which only workers of a graph with a picker carry."""
    text = EPP.replace("    eppConfig: CONFIG\n", "") + worker(image=IMAGE).partition("components:\n")[2].replace(
        "Worker", "Decode"
    )
    manifest = render(text)
    selector = object_of(manifest, "InferencePool")["spec"]["selector"]["matchLabels"]
    labels = {item.name: item.pods[0].template["metadata"]["labels"] for item in manifest.components}
    assert selector.items() <= labels["Decode"].items()
    assert not selector.items() <= labels["Worker"].items()


@pytest.mark.parametrize(
    ("kind", "options", "account"),
    [
        ("planner", RenderOptions(planner_cluster_role="planner-role"), "planner-serviceaccount"),
        ("epp", RenderOptions(epp_cluster_role="epp-role"), "epp-serviceaccount"),
    ],
)
def test_an_account_is_bound_to_the_installations_role(kind: str, options: RenderOptions, account: str) -> None:
    """With a ClusterRole in the operator's configuration account and reference are made."""
    manifest = render(worker().replace("type: worker", f"type: {kind}"), options)
    binding = object_of(manifest, "RoleBinding", f"{account}-binding")
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": f"{kind}-role",
    }
    assert object_of(manifest, "ServiceAccount", account)
    assert pod_of(manifest)["serviceAccountName"] == account
    assert not manifest.not_rendered


def test_a_planner_on_grove_may_bring_its_own_account() -> None:
    """On the component path it may not."""
    text = with_pod(worker().replace("type: worker", "type: planner"), "serviceAccountName: mine")
    assert pod_of(render(text, GROVE))["serviceAccountName"] == "mine"
    assert pod_of(render(text))["serviceAccountName"] == "planner-serviceaccount"


ALPHA = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: ns}
spec:
  pvcs:
  - {name: made, create: true, size: 10Gi, storageClass: fast, volumeAccessMode: ReadWriteMany}
  - {name: there}
  services:
    Frontend:
      componentType: TYPE
      ingress: INGRESS
      extraPodSpec: {mainContainer: {image: "r/f:1.5.1"}}
"""


def alpha(ingress: str = "{enabled: false}", kind: str = "frontend") -> str:
    """A v1alpha1 graph of one frontend."""
    return ALPHA.replace("INGRESS", ingress).replace("TYPE", kind)


def test_claims_are_made_where_asked_for() -> None:
    """One that has to be there already is not made."""
    claims = [item for item in render(alpha()).objects if item["kind"] == "PersistentVolumeClaim"]
    assert [item["metadata"]["name"] for item in claims] == ["made"]
    assert claims[0]["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "10Gi"}},
        "storageClassName": "fast",
    }


def test_an_ingress_leads_to_the_frontend() -> None:
    """Host, class and TLS are the service's; the suffix has a default."""
    ingress = "{enabled: true, host: chat, hostPrefix: my-, ingressControllerClassName: nginx, tls: {secretName: t}}"
    spec = object_of(render(alpha(ingress)), "Ingress", "g-frontend")["spec"]
    assert spec["ingressClassName"] == "nginx"
    assert spec["tls"] == [{"hosts": ["my-chat.local"], "secretName": "t"}]
    [rule] = spec["rules"]
    assert rule["host"] == "my-chat.local"
    assert rule["http"]["paths"][0]["backend"] == {"service": {"name": "g-frontend", "port": {"number": 8000}}}


def test_a_virtual_service_stands_in_for_an_ingress() -> None:
    """With Istio the gateway routes, and no Ingress is made."""
    ingress = "{enabled: true, host: c, hostSuffix: example.com, useVirtualService: true, virtualServiceGateway: i/gw}"
    manifest = render(alpha(ingress))
    spec = object_of(manifest, "VirtualService", "g-frontend")["spec"]
    assert (spec["hosts"], spec["gateways"]) == (["c.example.com"], ["i/gw"])
    assert "Ingress" not in {item["kind"] for item in manifest.objects}


def test_only_a_frontend_has_a_way_in() -> None:
    """A switched off ingress is nothing; one on another type is named."""
    assert not render(alpha()).not_rendered
    assert fields(render(alpha("{enabled: true, host: h}", "worker"))) == ["spec.components[0].ingress"]


def test_a_type_nobody_knows_is_kept_and_named() -> None:
    """It gets the base defaults, and the string stays a label."""
    manifest = render(alpha(kind="router"))
    assert manifest.components[0].type == "router"
    assert main_of(manifest, "Frontend")["command"] == ["/bin/sh", "-c"]
    assert [(note.field, str(note.position)) for note in manifest.not_rendered] == [("spec.components[0].type", "-:11")]


def test_two_frontends_have_a_service_each() -> None:
    """They share nothing but the Dynamo namespace."""
    text = worker().replace("type: worker", "type: frontend")
    manifest = render(text + text.partition("components:\n")[2].replace("Worker", "Second"))
    assert [item.service["metadata"]["name"] for item in manifest.components if item.service] == [
        "g-worker",
        "g-second",
    ]


def test_a_requested_device_gets_its_limit() -> None:
    """Kubernetes refuses a request without an equal limit; two different amounts are a problem."""
    manifest = render(worker("resources: {requests: {nvidia.com/gpu: 2, rdma/x: '1', cpu: 4}}"))
    assert main_of(manifest)["resources"]["limits"] == {"nvidia.com/gpu": 2, "rdma/x": "1"}
    different = worker("resources: {requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: '4'}}")
    assert problems(different) == [("-:14", "component Worker: requests 2 nvidia.com/gpu and limits it to 4")]
    equal = worker("resources: {requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: '2'}}")
    assert main_of(render(equal))["resources"]["limits"] == {"nvidia.com/gpu": "2"}
