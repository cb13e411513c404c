"""What a graph becomes as a whole: its objects, their order and names, and what it asks for in vain."""

from __future__ import annotations

import pytest
from rendered import env_of, render, worker

from stator.errors import InvalidInputError
from stator.render import RenderOptions


def problems(text: str) -> list[tuple[str, str]]:
    """Position and text of all problems of a graph."""
    with pytest.raises(InvalidInputError) as caught:
        render(text)
    return [(str(problem.position), problem.what) for problem in caught.value.problems]


def kinds(text: str, options: RenderOptions | None = None) -> list[str]:
    """`Kind/name` of a graph's objects in apply order, without the generation."""
    manifest = render(text, options)
    names = [f"{item['kind']}/{item['metadata']['name']}" for item in manifest.objects]
    return [name.replace(f"-{manifest.generation}", "") for name in names]


def test_objects_come_in_apply_order() -> None:
    """What pods need exists before the Deployment that makes them."""
    assert kinds(worker()) == [
        "ServiceAccount/g-k8s-service-discovery",
        "Role/g-k8s-service-discovery-role",
        "RoleBinding/g-k8s-service-discovery-binding",
        "Service/g-worker",
        "Deployment/g-worker",
    ]


def test_other_discovery_needs_no_rights_and_no_worker_service() -> None:
    """With etcd nothing watches Kubernetes, and the variable that would say so is absent."""
    options = RenderOptions(discovery_backend="etcd")
    assert kinds(worker(), options) == ["Deployment/g-worker"]
    assert "DYN_DISCOVERY_BACKEND" not in env_of(render(worker(), options))


def test_one_component_that_discovers_through_kubernetes_is_enough() -> None:
    """A component may differ from its graph; the rights it needs are made."""
    text = worker().replace(
        "podTemplate:", "podTemplate:\n      metadata: {annotations: {nvidia.com/dynamo-discovery-backend: kubernetes}}"
    )
    assert "Role/g-k8s-service-discovery-role" in kinds(text, RenderOptions(discovery_backend="etcd"))


def test_everything_that_is_not_rendered_is_named() -> None:
    """Fields of graph and component that have no effect are listed with their lines."""
    text = worker(
        graph="priorityClassName: high\nrestart: {id: a}",
        component=(
            "minAvailable: 1\n"
            "experimental: {checkpoint: {enabled: true}, gpuMemoryService: {mode: InterPod}, "
            "grove: {forceScalingGroup: true}}"
        ),
    )
    component = "spec.components[0]"
    assert [(note.field, str(note.position)) for note in render(text).not_rendered] == [
        ("spec.priorityClassName", "-:5"),
        ("spec.restart.strategy", "-:6"),
        (f"{component}.minAvailable", "-:10"),
        (f"{component}.experimental.gpuMemoryService", "-:11"),
        (f"{component}.experimental.checkpoint", "-:11"),
        (f"{component}.experimental.grove.forceScalingGroup", "-:11"),
    ]


def test_a_zero_grace_period_keeps_the_default_and_says_so() -> None:
    """Upstream's merge takes zero for "not given"; the difference is named."""
    manifest = render(worker() + "        terminationGracePeriodSeconds: 0\n")
    assert manifest.components[0].workload["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 60
    assert [str(note.position) for note in manifest.not_rendered] == ["-:14"]


def test_accounts_that_the_installation_makes_are_named() -> None:
    """Without a ClusterRole to bind, a planner's and an endpoint picker's account are listed as missing."""
    planner = render(worker().replace("type: worker", "type: planner")).not_rendered
    assert [note.field for note in planner] == ["ServiceAccount/ns/planner-serviceaccount"]
    epp = render(worker().replace("type: worker", "type: epp")).not_rendered
    assert [note.field for note in epp] == ["ServiceAccount/ns/epp-serviceaccount"]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a" * 60, f'component Worker: the workload name "{"a" * 60}-worker-HASH" has 76 characters'),
        ("1st", 'component Worker: "1st-worker-HASH" cannot be a Service name'),
    ],
)
def test_names_the_api_server_would_refuse_are_problems(name: str, what: str) -> None:
    """A name that is too long or starts with a digit is reported at the graph's name."""
    [(position, text), *_] = problems(worker().replace("name: g,", f"name: {name},"))
    assert position == "-:3"
    assert text.startswith(what.partition("HASH")[0])
    assert text.endswith(what.partition("HASH")[2])


def test_a_rolling_update_has_to_move() -> None:
    """No surge and nothing unavailable is refused, as is an amount that is none."""
    annotations = "annotations:\n  nvidia.com/deployment-rolling-update-max-surge: '0'\n"
    still = annotations + "  nvidia.com/deployment-rolling-update-max-unavailable: 0%"
    assert [position for position, _ in problems(worker(graph=still))] == ["-:7"]
    assert [position for position, _ in problems(worker(graph=annotations.replace("'0'", "many")))] == ["-:6"]


def test_a_component_deployment_of_a_graph_uses_the_graphs_account() -> None:
    """Its labels name graph and generation; the graph's objects are expected, not made twice."""
    text = """
    apiVersion: nvidia.com/v1beta1
    kind: DynamoComponentDeployment
    metadata:
      name: chat-worker-0123abcd
      namespace: ns
      labels:
        nvidia.com/dynamo-graph-deployment-name: chat
        nvidia.com/dynamo-worker-hash: 0123abcd
        nvidia.com/dynamo-namespace: preserved
    spec:
      name: Worker
      type: worker
      podTemplate: {spec: {containers: [{name: main, image: "reg/sg:1.5.1"}]}}
    """
    manifest = render(text)
    assert [item["kind"] for item in manifest.objects] == ["Service", "Deployment"]
    assert [note.field for note in manifest.not_rendered] == ["ServiceAccount/ns/chat-k8s-service-discovery"]
    env = env_of(manifest)
    assert (env["DYN_NAMESPACE"], env["DYN_NAMESPACE_WORKER_SUFFIX"]) == ("ns-chat", "0123abcd")
    labels = manifest.components[0].workload["metadata"]["labels"]
    assert labels["nvidia.com/dynamo-namespace"] == "preserved"


def test_what_only_v1alpha1_can_say_is_honoured_or_named() -> None:
    """A service's own labels and annotations stand between graph and pod; its sub-type is a label; ingress is named."""
    manifest = render("""
    apiVersion: nvidia.com/v1alpha1
    kind: DynamoGraphDeployment
    metadata: {name: g, namespace: ns}
    spec:
      labels: {a: graph, b: graph, c: graph}
      services:
        Embed:
          componentType: worker
          subComponentType: embed
          labels: {a: service, b: service}
          annotations: {nvidia.com/deployment-strategy: Recreate}
          ingress: {enabled: true, host: h}
          extraPodMetadata: {labels: {a: pod}}
          extraPodSpec: {mainContainer: {image: "reg/sglang-runtime:1.5.1"}}
    """)
    workload = manifest.components[0].workload
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert [labels[key] for key in "abc"] == ["pod", "service", "graph"]
    assert labels["nvidia.com/dynamo-component-type"] == "worker"
    assert labels["nvidia.com/dynamo-sub-component-type"] == "embed"
    assert workload["spec"]["strategy"] == {"type": "Recreate"}
    assert [note.field for note in manifest.not_rendered] == ["spec.components[0].ingress"]
    assert [str(note.position) for note in manifest.not_rendered] == ["-:13"]


def test_a_free_type_has_to_be_a_label_value() -> None:
    """v1alpha1 takes any string for a type, a label does not."""
    text = """
    apiVersion: nvidia.com/v1alpha1
    kind: DynamoGraphDeployment
    metadata: {name: g, namespace: ns}
    spec:
      services:
        Router:
          componentType: {}
          extraPodSpec: {mainContainer: {image: i}}
    """
    assert problems(text.replace("{}", "my router", 1)) == [
        ("-:8", 'component Router: the type "my router" cannot be a label value')
    ]
    assert render(text.replace("{}", "router", 1)).components[0].type == "router"
